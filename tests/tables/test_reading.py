"""Tables from files: the three formats, and what is wrong with a bad one."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pandas
import pytest

from secateur.architecture import Architecture
from secateur.errors import DataError
from secateur.tables import read_table, read_trained


def architecture(width: int = 8) -> Architecture:
    return Architecture.of("toy", {"width": width, "heads": [2, 2]}, f"key{width}")


def record(width: int = 8, perplexity: float = 20.0, **more):
    row = {
        "architecture": architecture(width).to_json(),
        "source": "random",
        "seed": 0,
        "perplexity": perplexity,
        "parameters": 100 * width,
        "latency": 0.01 * width,
        "steps": [10, 20, 40],
        "curve": [4.0, 3.5, 3.0],
        "train_seconds": 2.0,
        "note": "kept",
    }
    return {**row, **more}


def write(path, records):
    if path.suffix == ".parquet":
        pandas.DataFrame(records).to_parquet(path)
    elif path.suffix == ".csv":
        frame = pandas.DataFrame(records)
        for name in ("steps", "curve"):
            if name in frame:
                frame[name] = [json.dumps(v) if isinstance(v, list) else v for v in frame[name]]
        frame.to_csv(path, index=False)
    else:
        path.write_text("\n".join(json.dumps(r) for r in records) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture(params=["table.parquet", "table.csv", "table.jsonl"])
def path(request, tmp_path):
    return tmp_path / request.param


def test_the_three_formats_read_alike(path):
    table = read_trained(write(path, [record(8), record(16, 18.0, source="search", latency=None)]))
    assert table.architectures == (architecture(8), architecture(16))
    assert (table.source.tolist(), table.seed.tolist(), table.where) == (["random", "search"], [0, 0], str(path))
    assert table.column("perplexity").tolist() == [20.0, 18.0]
    assert table.column("latency").tolist() == [0.08, pytest.approx(math.nan, nan_ok=True)]
    assert table.budgets.tolist() == [10, 20, 40]
    assert table.curves["curve"].tolist() == [[4.0, 3.5, 3.0]] * 2
    assert table.values("key8") == {"perplexity": 20, "parameters": 800, "latency": 0.08, "curve": 3}
    assert table.values("key8", 20) == {"parameters": 800, "latency": 0.08, "curve": 3.5}
    assert (table.seconds_to("key8"), table.seconds_to("key8", 20)) == (2, 1)
    assert {name: values.tolist() for name, values in table.extra.items()} == {"note": ["kept", "kept"]}


def test_gzipped_lines_and_what_may_be_left_out(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"architecture": architecture().as_dict(), "perplexity": 3}) + "\n")
    table = read_trained(path)
    assert (table.sources, table.seed.tolist(), table.seconds, table.curves, table.extra) == (["unstated"], [0], None, {}, {})
    assert np.isnan(table.at_share("curve", 0.5)).all()


def test_rows_with_other_steps_and_seeds_are_kept_apart(tmp_path):
    records = [record(), record(seed=1, steps=[5], curve=[2.0]), record(16, steps=[], curve=[], cutoffs=[1, 2])]
    table = read_trained(write(tmp_path / "t.jsonl", records))
    assert table.column("curve").tolist() == [3, 2, pytest.approx(math.nan, nan_ok=True)]
    assert table.values("key8", 5, seed=1)["curve"] == 2
    assert table.extra["cutoffs"].tolist() == [None, None, [1, 2]]


def test_any_metrics_budgets_and_curves(path):
    """Further numbers are told at the end only: nobody said that they hold before."""
    rows = [
        {"architecture": architecture(w).to_json(), "error": -w, "steps": [1, 2], "curve": [w, 2 * w], "s": 4, "more": w}
        for w in (8, 16)
    ]
    table = read_table(write(path, rows), metrics=["error"], curves=["curve"], budgets="steps", seconds="s")
    assert table.values("key16") == {"error": -16, "more": 16, "curve": 32}
    assert table.values("key16", 1) == {"curve": 16}
    assert table.seconds_to("key8", 1) == 2
    with pytest.raises(DataError, match="`error` must be a finite number, got `nan`"):
        read_table(write(path, [*rows, {**rows[0], "error": math.nan}]), metrics=["error"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"perplexity": math.nan}, "row 2: `perplexity` must be a finite number above 0, got `nan`"),
        ({"perplexity": math.inf}, "got `inf`"),
        ({"perplexity": -1.0}, "above 0"),
        ({"perplexity": "bad"}, "`perplexity` must be a number, got `bad`"),
        ({"architecture": "{}"}, "row 2: `architecture` must be the JSON of an Architecture"),
        ({"architecture": "no json"}, "got `no json`"),
        ({"steps": [1, 2]}, "`steps` and `curve` must have the same length, got 2 and 3"),
        ({"steps": [1, 3, 3]}, "`steps` must be ascending"),
        ({"curve": "[1, 2"}, "`curve` must be a list of numbers"),
        ({"curve": ["a", "b", "c"]}, "`curve` must be a list of numbers"),
        ({"steps": 3.0}, "`steps` must be a list of numbers"),
        ({"latency": "slow"}, "`latency` must be a number, got `slow`"),
    ],
)
def test_bad_rows_are_named(tmp_path, change, message):
    with pytest.raises(DataError, match=message.replace("(", r"\(")) as caught:
        read_trained(write(tmp_path / "t.jsonl", [record(), record(16, **change)]))
    assert "\n" not in str(caught.value)


def test_missing_columns_are_named_with_those_there_are(path):
    row = {k: v for k, v in record().items() if k not in ("architecture", "steps", "curve")}
    with pytest.raises(DataError, match=r"has no column `architecture`\. Its columns: source, seed, perplexity"):
        read_trained(write(path, [row]))
    with pytest.raises(DataError, match="no column `architecture` and `perplexity`"):
        read_trained(write(path, [{"a": 1}]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "does not exist"),
        ("t.txt", b"x", "must end in .parquet, .csv, .jsonl or .json, got `.txt`"),
        ("t.parquet", b"not parquet", "is not a valid Parquet file"),
        ("t.jsonl", b'{"a": 1\n', "is not valid JSON Lines: line 1"),
        ("t.jsonl", b"[1]\n", "is not a list of objects"),
        ("t.jsonl", b"", "has no rows"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"architecture,perplexity\n", "has no rows"),
        ("t.csv", b"\xff\xfe\x00a\x80", "is neither UTF-8 nor UTF-16"),
        ("t.json.gz", b"plain", "is not a valid .gz"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_trained(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": "wide"}, "whole numbers all but the first"),
        ({"heads": 4}, "whole numbers all but the first"),
        ({"factor": 1.5}, "whole numbers all but the first"),
        ({"backbone": 7}, "whole numbers all but the first"),
        ({"heads": []}, "got 0 and 2"),
        ({"heads": [2]}, "got 1 and 2"),
        ({"width": 10**12}, "its widths must lie in"),
        ({"heads": [3, 3]}, "its heads divide the width"),
        ({"embedding": -1}, "its embedding and factor must lie"),
    ],
)
def test_an_architecture_that_no_network_has(tmp_path, changes, message):
    sound = {"backbone": "gpt2", "width": 16, "heads": [2, 4], "inner": [32, 32], "embedding": 8, "factor": 1}
    rows = [
        {"architecture": {"space": "decoder", "choices": choices, "key": "0"}, "perplexity": 9.0}
        for choices in (sound, {**sound, **changes})
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=f"row 2: `architecture` is not a decoder language model: .*{message}"):
        read_trained(path)
