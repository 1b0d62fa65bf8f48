"""The settings of runs: resolved, checked at once, kept as config.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from secateur.errors import ConfigurationError, StudyError, UnknownNameError
from secateur.runs.settings import FILE, Faults, SearchRunSettings, verb_of
from secateur.settings import option


@dataclass(frozen=True, kw_only=True)
class Toy(SearchRunSettings):
    verb: ClassVar[str] = "toy"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}, "large": {"size": 9}}

    size: int = option(3, "How large.", least=1)
    names: list[str] = option(["é"], "What for.")


def test_given_then_the_preset_then_the_default() -> None:
    assert Toy.resolve({}).size == 3
    assert Toy.resolve({"preset": "large"}).size == 9
    assert Toy.resolve({"preset": "large", "size": 4, "names": None}) == Toy(preset="large", size=4)
    with pytest.raises(UnknownNameError, match="Did you mean `large`"):
        Toy.resolve({"preset": "larg"})


def test_all_faults_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Toy.resolve({"size": 0, "seed": -1, "workers": 0, "device": "tpu", "store": "here"})
    assert len(caught.value.faults) == 5
    text = str(caught.value)
    for said in (
        "`size` must be at least 1, got 0",
        "`seed` must be at least 0",
        "`workers`",
        "`tpu`",
        "`store` must be the URL",
    ):
        assert said in text


def test_a_config_file_comes_back(tmp_path: Path) -> None:
    settings = Toy.resolve({"names": ["ä", "b"], "store": "postgresql://server/x"})
    settings.write(tmp_path)
    assert Toy.read(tmp_path) == settings
    assert verb_of(tmp_path) == "toy"
    assert next(iter(yaml.safe_load((tmp_path / FILE).read_text(encoding="utf-8")))) == "verb"
    assert "ä" in (tmp_path / FILE).read_text(encoding="utf-8")


def test_a_setting_that_an_older_run_lacks_has_its_default(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("verb: toy\nsize: 5\n")
    assert Toy.read(tmp_path) == Toy(size=5)
    (tmp_path / FILE).write_text("size: 5\n")  # from before there were several verbs
    assert verb_of(tmp_path) == "prune"


def test_a_setting_that_is_not_known_is_said(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("verb: toy\nweight: 5\ncolour: red\n")
    with pytest.raises(StudyError, match=r"settings that this version does not know: colour, weight\. Use the version"):
        Toy.read(tmp_path)


def test_what_is_no_config_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"is not a run: it has no config\.yaml"):
        Toy.read(tmp_path)
    for text in ("[1, 2]", "\x00", "a: [", ""):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(StudyError, match=r"config\.yaml` cannot be read"):
            Toy.read(tmp_path)


def test_faults_are_collected_once() -> None:
    def wrong(*faults: str) -> None:
        raise ConfigurationError(list(faults))

    found = Faults(["a"])
    assert found.tried(wrong, "a", "b") is None
    assert found.tried(len, "abc") == 3
    found.tried(lambda: (_ for _ in ()).throw(StudyError("c")).__next__())
    assert found == ["a", "b", "c"]
