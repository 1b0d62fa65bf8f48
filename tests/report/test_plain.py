from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secateur.report.plain import as_csv, as_json, flat, plain
from secateur.trial import Status


@dataclass
class Rows:
    found: list[dict[str, Any]]

    def rows(self) -> list[dict[str, Any]]:
        return self.found


@dataclass
class Facts:
    found: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return self.found


def test_only_plain_json_is_left() -> None:
    odd = {"nan": math.nan, "inf": -math.inf, "number": np.float64(0.5), "none": np.float32("nan"), "count": np.int64(3)}
    odd |= {"array": np.array([1.0, math.inf]), "path": Path("a/b"), "status": Status.COMPLETE, "pair": (1, 2), "yes": True}
    found = json.loads(as_json(Facts(odd)))
    assert found == {
        "nan": None, "inf": None, "number": 0.5, "none": None, "count": 3,
        "array": [1.0, None], "path": "a/b", "status": "complete", "pair": [1, 2], "yes": True,
    }  # fmt: skip
    assert type(plain(odd)["status"]) is str


def test_rows_are_a_list_and_facts_an_object() -> None:
    assert json.loads(as_json(Rows([{"a": 1}, {"b": "ü"}]))) == [{"a": 1}, {"b": "ü"}]
    assert "ü" in as_json(Rows([{"b": "ü"}]))
    assert json.loads(as_json(Rows([]))) == []


def test_csv_has_every_column_once_and_numbers_in_full() -> None:
    text = as_csv(Rows([{"key": "a,b", "value": 1 / 3, "ok": True}, {"key": "c", "value": math.nan, "more": [1, 2]}]))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows == [
        {"key": "a,b", "value": repr(1 / 3), "ok": "true", "more": ""},
        {"key": "c", "value": "", "ok": "", "more": "[1, 2]"},
    ]
    assert as_csv(Rows([])) == ""


def test_an_object_is_one_row_of_csv() -> None:
    nested = {"model": "m", "memory": {"peak": 2, "of": {"weights": 1}}}
    assert flat(nested) == {"model": "m", "memory_peak": 2, "memory_of_weights": 1}
    assert as_csv(Facts(nested)) == "model,memory_peak,memory_of_weights\nm,2,1\n"
