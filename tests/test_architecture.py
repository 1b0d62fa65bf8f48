from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.architecture import Architecture, digest

VALUES = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)


@settings(deadline=None)
@given(st.text(), st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.text())
def test_json_round_trip(space: str, choices: dict, key: str) -> None:
    a = Architecture.of(space, choices, key)
    b = Architecture.from_json(a.to_json())
    assert a == b
    assert hash(a) == hash(b)
    assert Architecture.from_dict(json.loads(json.dumps(a.as_dict()))) == a


def test_choices_by_name() -> None:
    a = Architecture.of("small", {"heads": 4, "widths": [1, [2, 3]]}, "k")
    assert a["heads"] == 4
    assert a["widths"] == (1, (2, 3))
    with pytest.raises(KeyError, match="units"):
        a["units"]


@pytest.mark.parametrize("value", [None, True, {"a": 1}, [1, None], object()])
def test_a_choice_is_a_number_a_string_or_a_list(value: object) -> None:
    with pytest.raises(TypeError, match="a choice is a number"):
        Architecture.of("small", {"heads": value}, "k")


def test_is_frozen() -> None:
    a = Architecture.of("small", {"heads": 4}, "k")
    with pytest.raises(AttributeError):
        a.key = "other"  # type: ignore[misc]


def test_text_is_short() -> None:
    a = Architecture.of("medium", {"heads": [1, 2], "bits": "x" * 500}, "k")
    assert str(a) == "medium(heads=1·2, bits=" + "x" * 37 + "…)"


def test_digest_is_short_stable_and_minds_where_parts_end() -> None:
    assert digest("a", b"b") == digest(b"a", "b") == "cf6ab613e3942391"
    assert len({digest(), digest(""), digest("ab"), digest("a", "b"), digest("", "ab")}) == 5
