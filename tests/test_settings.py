"""Settings: what each may be, said in a sentence, and how classes share them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest

from secateur.errors import ConfigurationError
from secateur.settings import Option, Settings, option, shared


@pytest.mark.parametrize(
    ("rules", "hint", "value", "fault"),
    [
        ({}, int, 3, None),
        ({}, int, 3.0, "`x` must be a whole number, got 3.0."),
        ({}, int, "3", "`x` must be a whole number, got '3'."),
        ({}, int, True, "`x` must be a whole number, got True."),
        ({}, int, None, "`x` must be a whole number, got None."),
        ({}, int | None, None, None),
        ({}, int | None, 3, None),
        ({}, int | None, 1.5, "`x` must be a whole number, got 1.5."),
        ({}, float, 3, None),
        ({}, float, 0.5, None),
        ({}, float, float("nan"), "`x` must be a finite number, got nan."),
        ({}, float, float("inf"), "`x` must be a finite number, got inf."),
        ({}, float, [1], "`x` must be a finite number, got [1]."),
        ({}, float | None, None, None),
        ({"least": 1}, int, 1, None),
        ({"least": 1}, int, 0, "`x` must be at least 1, got 0."),
        ({"least": 1000}, int, 1, "`x` must be at least 1,000, got 1."),
        ({"most": 5}, int, 5, None),
        ({"most": 5}, int, 6, "`x` must be at most 5, got 6."),
        ({"above": 0}, float, 1e-9, None),
        ({"above": 0}, float, 0, "`x` must be above 0, got 0."),
        ({"below": 1}, float, 0.999, None),
        ({"below": 1}, float, 1.0, "`x` must be below 1, got 1.0."),
        ({"least": 0, "below": 1}, float, -0.5, "`x` must be at least 0 and below 1, got -0.5."),
        ({"above": 0, "most": 1}, float, 2, "`x` must be above 0 and at most 1, got 2."),
        ({"least": 1}, int | None, None, None),
        ({"least": 1}, int | str, "auto", None),
        ({"least": 1}, int | str, 0, "`x` must be at least 1, got 0."),
        ({}, bool, True, None),
        ({}, bool, 1, "`x` must be true or false, got 1."),
        ({}, bool, "yes", "`x` must be true or false, got 'yes'."),
        ({}, bool | None, None, None),
        ({}, str, "text", None),
        ({}, str, 3, "`x` must be text, got 3."),
        ({}, str, None, "`x` must be text, got None."),
        ({}, str | None, None, None),
        ({}, str | list[str], ["a"], None),
        ({}, list[str], ["a"], None),
        ({"known": ("small", "large")}, str, "small", None),
        ({"known": ("small", "large")}, str, "smal", "unknown x `smal`. Did you mean `small`? Known: large, small."),
        ({"known": ("small", "large")}, str | None, None, None),
        ({"known": ("small", "large")}, str, 3, "unknown x `3`. Known: large, small."),
    ],
)
def test_what_a_setting_may_be(rules: dict[str, Any], hint: Any, value: Any, fault: str | None) -> None:
    assert Option(**rules).fault("x", hint, value) == fault


@dataclass(frozen=True, kw_only=True)
class Sizes(Settings):
    model: str = option(about="Which.", positional=True)
    layers: int = option(2, "How many.", least=1, flag="--depth", panel="size")
    rate: float = option(0.5, above=0, most=1)
    names: list[str] = option(["a"], "What for.")
    facts: dict[str, int] = option({"x": 1})
    plain: int = 7


@dataclass(frozen=True, kw_only=True)
class Others(Settings):
    layers: int = shared(Sizes, "layers")
    rate: float = shared(Sizes, "rate", 0.25, most=0.5)
    names: list[str] = shared(Sizes, "names")
    facts: dict[str, int] = shared(Sizes, "facts", {"y": 2})
    model: str = shared(Sizes, "model", about="Which one.")


def test_defaults_and_what_fields_are_for() -> None:
    made = Sizes(model="bert")
    assert made.as_dict() == {"model": "bert", "layers": 2, "rate": 0.5, "names": ["a"], "facts": {"x": 1}, "plain": 7}
    assert list(Sizes.options()) == list(made.as_dict())
    options = Sizes.options()
    assert options["model"] == Option("Which.", positional=True)
    assert (options["layers"].flag, options["layers"].panel) == ("--depth", "size")
    assert options["plain"] == Option()
    assert [Sizes.usual(name) for name in options] == [None, 2, 0.5, ["a"], {"x": 1}, 7]
    assert Sizes.hints() == {
        "model": str,
        "layers": int,
        "rate": float,
        "names": list[str],
        "facts": dict[str, int],
        "plain": int,
    }
    assert Sizes.unknown({"layers": 1, "heads": 2, "depth": 3}) == ["depth", "heads"]
    with pytest.raises(TypeError, match="model"):
        Sizes()
    with pytest.raises(FrozenInstanceError):
        made.layers = 3  # type: ignore[misc]


def test_lists_are_not_shared_between_settings() -> None:
    one, other = Sizes(model="a"), Sizes(model="b")
    one.names.append("z")
    one.facts["z"] = 0
    assert (other.names, other.facts) == (["a"], {"x": 1})
    assert Sizes.usual("names") == ["a"]


def test_all_faults_at_once() -> None:
    wrong = Sizes(model=3, layers=0, rate=2.0)  # type: ignore[arg-type]
    faults = [
        "`model` must be text, got 3.",
        "`layers` must be at least 1, got 0.",
        "`rate` must be above 0 and at most 1, got 2.0.",
    ]
    assert wrong.faults() == faults
    assert wrong.faults("training.")[1] == "`training.layers` must be at least 1, got 0."
    with pytest.raises(ConfigurationError) as caught:
        wrong.check()
    assert caught.value.faults == faults
    good = Sizes(model="bert")
    assert good.check() is good


def test_a_shared_field_has_the_rules_and_the_default() -> None:
    made = Others(model="bert")
    assert made.as_dict() == {"layers": 2, "rate": 0.25, "names": ["a"], "facts": {"y": 2}, "model": "bert"}
    assert Others.options()["layers"] == Sizes.options()["layers"]
    assert Others.options()["model"] == Option("Which one.", positional=True)
    assert Others(model="bert", layers=0, rate=0.75).faults() == [
        "`layers` must be at least 1, got 0.",
        "`rate` must be above 0 and at most 0.5, got 0.75.",
    ]
    assert Sizes.options()["rate"].most == 1
    made.names.append("z")
    assert Others(model="bert").names == Sizes(model="bert").names == ["a"]
    with pytest.raises(TypeError, match="model"):
        Others()


def test_a_part_of_settings_is_those_of_another_class() -> None:
    @dataclass(frozen=True)
    class Few:
        layers: int
        rate: float = 0.125
        further: str = "f"

    whole = Sizes(model="bert", layers=5)
    assert whole.part(Few) == Few(5, 0.5)
    assert whole.part(Few, rate=0.75, further="g") == Few(5, 0.75, "g")
    assert whole.part(Others) == Others(model="bert", layers=5, rate=0.5, facts={"x": 1})
