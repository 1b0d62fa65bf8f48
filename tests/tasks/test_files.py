from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from secateur.errors import DataError, MissingExtraError
from secateur.tasks.files import find_splits, read_table, read_tables, read_text

ROWS = [{"text": 'a "quoted, word', "label": "1"}, {"text": "null", "label": "0"}]


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


CONTENT = {
    "csv": 'text,label\n"a ""quoted, word",1\nnull,0\n',
    "tsv": 'text\tlabel\na "quoted, word\t1\nnull\t0\n',
    "jsonl": "\n".join(json.dumps(row) for row in ROWS) + "\n\n",
    "json": json.dumps(ROWS, indent=1),
}


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("kind", CONTENT)
def test_every_text_format_gives_the_same_table(tmp_path: Path, kind: str, end: str):
    path = write(tmp_path / f"data.{kind}{end}", CONTENT[kind])
    assert read_table(path).to_dict("records") == ROWS
    assert read_table(path, rows=1).to_dict("records") == ROWS[:1]


def test_parquet(tmp_path: Path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    pd.DataFrame(ROWS).to_parquet(path)
    assert read_table(path).to_dict("records") == ROWS
    assert read_table(path, rows=1).to_dict("records") == ROWS[:1]
    with pytest.raises(DataError, match="is not a valid Parquet file"):
        read_table(write(tmp_path / "bad.parquet", "text,label"))


def test_parquet_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"secateur\[parquet\]"):
        read_table(write(tmp_path / "data.parquet", "PAR1"))


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path):
    assert list(read_table(write(tmp_path / "a.csv", "\ufefftext,label\na,1\n")).columns) == ["text", "label"]


def test_only_empty_fields_are_missing(tmp_path: Path):
    table = read_table(write(tmp_path / "a.tsv", "text\tlabel\nNA\t1\n\t0\nnan\t\n"))
    assert table["text"].isna().tolist() == [False, True, False]
    assert table["label"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "\n\n", "is empty"),
        ("a.csv", "text,label\n", "has no rows"),
        ("a.jsonl", "\n", "has no rows"),
        ("a.csv", 'text,label\n"never closed,1\n', "is not valid CSV"),
        ("a.tsv", "text\tlabel\na\t1\na\tb\t1\n", "is not valid TSV"),
        ("a.tsv", "text\tlabel\na\tb\t1\n", "is not valid TSV"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "is not valid JSON Lines: line 2"),
        ("a.jsonl", "3\n", "line 1 is not an object"),
        ("a.json", "[\n{]", "is not valid JSON: line 2"),
        ("a.json", "[1, 2]", "is not a list of objects"),
        ("a.txt", "some words", "is plain text"),
        ("a.xlsx", "x", "an unknown extension"),
        ("a.parquet.gz", "x", "an unknown extension"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, message: str):
    with pytest.raises(DataError, match=message) as caught:
        read_table(write(tmp_path / name, text))
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("read", [read_table, read_text])
def test_bad_bytes(tmp_path: Path, read):
    end = "csv" if read is read_table else "txt"
    (tmp_path / f"a.{end}").write_bytes("text,label\ncaf\u00e9,1\n".encode("latin1"))
    with pytest.raises(DataError, match="neither UTF-8 nor UTF-16"):
        read(tmp_path / f"a.{end}")
    (tmp_path / f"b.{end}.gz").write_bytes(b"not compressed")
    with pytest.raises(DataError, match=r"is not a valid \.gz"):
        read(tmp_path / f"b.{end}.gz")
    whole = gzip.compress(b"text,label\n" + b"some words,1\n" * 99)
    (tmp_path / f"c.{end}.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"is not a valid \.gz"):
        read(tmp_path / f"c.{end}.gz")


def test_missing_file_and_empty_text(tmp_path: Path):
    with pytest.raises(DataError, match="is not a file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is empty"):
        read_text(write(tmp_path / "a.txt", " \n"))


@pytest.mark.parametrize("dev", ["dev", "validation", "valid", "val", "eval", "dev_matched", "Dev"])
def test_splits_of_a_folder(tmp_path: Path, dev: str):
    for name in ("train", dev, "test", "dev_mismatched", "notes"):
        write(tmp_path / f"{name}.tsv.gz", "x\n1\n")
    (tmp_path / "readme.md").write_text("read me")
    assert {split: [p.name for p in paths] for split, paths in find_splits(tmp_path).items()} == {
        "train": ["train.tsv.gz"],
        "validation": [f"{dev}.tsv.gz"],
        "test": ["test.tsv.gz"],
    }


def test_shards_are_one_split(tmp_path: Path):
    for i in range(2):
        write(tmp_path / f"train-0000{i}-of-00002.jsonl", json.dumps(ROWS[i]))
    assert read_tables(find_splits(tmp_path)["train"]).to_dict("records") == ROWS


@pytest.mark.parametrize(
    "names", [("train.csv", "train.tsv"), ("train.tsv", "train.tsv.gz"), ("train.csv", "train-00000-of-00001.csv")]
)
def test_two_files_for_one_split(tmp_path: Path, names: tuple[str, str]):
    for name in names:
        write(tmp_path / name, "x\n1\n")
    with pytest.raises(DataError, match=f"more than one file for train.*{names[0]}"):
        find_splits(tmp_path)


def test_a_folder_without_training_data(tmp_path: Path):
    with pytest.raises(DataError, match=r"no training file.*no file of a known format"):
        find_splits(tmp_path)
    write(tmp_path / "dev.tsv", "x\n1\n")
    with pytest.raises(DataError, match=r"no training file.*`dev\.tsv`"):
        find_splits(tmp_path)
