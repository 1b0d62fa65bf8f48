"""Tables of trained architectures: the three formats, repeated trainings, and what is wrong with a bad one."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pandas
import pytest

from secateur.architecture import Architecture
from secateur.errors import DataError
from secateur.tables import read_trained


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
    first, second = read_trained(write(path, [record(8), record(16, 18.0, source="search", latency=None)]))
    assert first.architecture == architecture(8)
    assert (first.perplexity, first.source, first.seed, first.latency) == (20.0, "random", 0, 0.08)
    assert (first.steps, first.curve) == ((10, 20, 40), (4.0, 3.5, 3.0))
    assert (first.parameters, first.train_seconds, first.memory, first.decoder_parameters) == (800, 2.0, None, None)
    assert first.extra == {"note": "kept"}
    assert second.latency is None
    assert second.key == "key16"


def test_gzipped_lines_and_what_may_be_left_out(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"architecture": architecture().as_dict(), "perplexity": 3}) + "\n")
    (row,) = read_trained(path)
    assert (row.source, row.seed, row.steps, row.extra) == ("unstated", 0, (), {})
    assert row.loss_at(0.5) is None


def test_the_curve_between_its_steps(tmp_path):
    (row,) = read_trained(write(tmp_path / "t.jsonl", [record()]))
    assert row.loss_at(1.0) == 3.0
    assert row.loss_at(0.5) == 3.5
    assert row.loss_at(0.75) == pytest.approx(3.25)
    assert row.loss_at(0.25) == 4.0
    assert row.loss_at(0.2) is None  # before the first recorded step


def test_a_curve_that_diverged_has_no_value_there(tmp_path):
    (row,) = read_trained(write(tmp_path / "t.jsonl", [record(curve=[4.0, math.nan, 3.0])]))
    assert row.loss_at(0.5) is None
    assert row.loss_at(1.0) == 3.0


def test_only_a_source(tmp_path):
    table = read_trained(write(tmp_path / "t.jsonl", [record(8), record(16, source="search"), record(24, source="topology")]))
    assert [r.key for r in table.only("search")] == ["key16"]
    assert [r.key for r in table.only(["random", "topology"])] == ["key8", "key24"]
    assert len(table.only("random")) == 1
    with pytest.raises(DataError, match=r"no rows of source `serch`; it has: random, search, topology\."):
        table.only("serch")


def test_repeated_trainings(tmp_path):
    records = [
        record(8, 10.0),
        record(16, 30.0),
        record(8, 40.0, seed=1, latency=0.1, curve=[5.0, 4.5, 4.0]),
        record(16, 31.0, seed=1, steps=[10], curve=[4.0]),
        record(24, 12.0),
    ]
    table = read_trained(write(tmp_path / "t.jsonl", records))
    eight, sixteen, last = table.averaged()
    assert eight.perplexity == pytest.approx(20.0)  # the geometric mean: losses are averaged
    assert eight.latency == pytest.approx(0.09)
    assert eight.curve == (4.5, 4.0, 3.5)
    assert sixteen.curve == (4.0, 3.5, 3.0)  # other steps: the first training's
    assert last.perplexity == 12.0
    assert [(a.seed, b.seed) for a, b in table.repeats()] == [(0, 1), (0, 1)]
    assert table.ceiling().pairs == 2
    assert table.ceiling().spearman is None


def test_the_ceiling_is_the_agreement_between_seeds(tmp_path):
    records = [
        record(8 * i, float(p), seed=s) for s, ps in enumerate([(1, 2, 3, 4), (1, 3, 2, 4)]) for i, p in enumerate(ps, 1)
    ]
    ceiling = read_trained(write(tmp_path / "t.jsonl", records)).ceiling()
    assert ceiling.pairs == 4
    assert ceiling.spearman == pytest.approx(0.8)
    assert ceiling.kendall == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"perplexity": math.nan}, "row 2: `perplexity` must be a finite number above 0, got `nan`"),
        ({"perplexity": math.inf}, "got `inf`"),
        ({"perplexity": -1.0}, "above 0"),
        ({"perplexity": "bad"}, "`perplexity` must be a number, got `bad`"),
        ({"architecture": "{}"}, "row 2: `architecture` must be the JSON of an Architecture"),
        ({"architecture": "no json"}, "got `no json`"),
        ({"steps": [1, 2]}, "`steps` and `curve` must be as long as each other, got 2 and 3"),
        ({"steps": [1, 3, 3]}, "`steps` must rise"),
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
        ("t.parquet", b"not parquet", "cannot be read"),
        ("t.jsonl", b'{"a": 1\n', "cannot be read"),
        ("t.jsonl", b"[1]\n", "line 1 is no JSON object"),
        ("t.jsonl", b"", "is empty"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"architecture,perplexity\n", "is empty"),
        ("t.csv", b"\xff\xfe\x00a\x80", "cannot be read"),
        ("t.json.gz", b"plain", "cannot be read"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_trained(path)
    assert "\n" not in str(caught.value)


def test_parquet_arrays_are_lists(tmp_path):
    path = tmp_path / "t.parquet"
    pandas.DataFrame([record(steps=np.array([1, 2]), curve=np.array([2.0, 1.0]))]).to_parquet(path)
    assert read_trained(path).rows[0].steps == (1, 2)
