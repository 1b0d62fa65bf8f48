"""Files of others that are not as they should be: each is said in one line, with what to do, and none is taken silently."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from secateur.errors import ConfigurationError, DataError, SecateurError
from secateur.tasks import check_data, load_task
from secateur.tasks.files import read_table
from secateur.tasks.text import load_text

CSV = "text,label\n" + "".join(f"a {word} film,{word}\n" for word in ["good", "bad"] * 10)
RECORDS = [{"text": f"a {word} film", "label": word} for word in ["good", "bad"] * 10]


def lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def changed(row: int, **values: Any) -> str:
    """JSON Lines in which one row has other values."""
    return lines([{**record, **(values if place == row else {})} for place, record in enumerate(RECORDS, start=1)])


BAD = {
    "a column twice": (
        "a.csv",
        CSV.replace("text,label", "text,label,text", 1).replace("\n", ",x\n"),
        "more than one column|3 fields",
    ),
    "a column twice, whole": ("a.csv", "text,label,text\n" + "a,b,c\n" * 10, "more than one column `text`"),
    "a name twice in an object": ("a.jsonl", '{"text": "a", "text": "b"}\n', "line 1: an object has the key `text` twice"),
    "a quote that is never closed": ("a.csv", CSV + '"a long film,good\n' + CSV, r"opened in line 22 is never closed"),
    "a quote that is closed by another": (
        "a.csv",
        CSV + '"a long film,good\n"a film",bad\n',
        "opened in line 22 and closed in line 23",
    ),
    "a quote that takes in a row": (
        "a.csv",
        CSV + '"a long film,good\na short film",bad\n',
        "row 21 takes in the row after it",
    ),
    "a quote that takes in rows, label first": (
        "a.csv",
        "label,text\n" + "good,x\nbad,y\n" * 9 + 'good,"a long film\nbad,a\ngood,b"\n',
        "row 19 takes in the 2 rows after it",
    ),
    "a quote in a column nobody reads": (
        "a.csv",
        "text,label,note\n" + "a,good,x\nb,bad,y\n" * 9 + 'a,good,"z\nb,bad,x"\n',
        "row 19 takes in the row after it: a quote in its column `note`",
    ),
    "a quote in the label": ("a.csv", CSV + 'a film,"good\na film,bad"\n', "several lines in row 21 of the label column"),
    "a quote within quotes": ("a.csv", CSV + '"a "long" film",good\n', "opened in line 22 does not end its field"),
    "a short row": ("a.csv", CSV + "film\n", "line 22 has 1 field, and the header names 2"),
    "a long row": ("a.tsv", "text\tlabel\na\tb\tc\n", "line 2 has 3 fields"),
    "a separator nobody can tell": ("a.csv", "text;label|x\na;b|c\n", r"no column `label`.*`text;label\|x`"),
    "zero bytes": ("a.csv", CSV.replace("film", "fi\0lm"), "zero bytes"),
    "zero bytes in JSON": ("a.jsonl", "\0" * 50, "zero bytes"),
    "three rows": ("a.csv", "text,label\na,x\nb,y\nc,x\n", "has 3 rows: too few to split into train, validation and test"),
    "one label": ("a.csv", CSV.replace(",bad", ",good"), "the same label in every row of the column `label`: `good`"),
    "one value": ("a.csv", "text,label\n" + "a,0.5\n" * 20, "the same label in every row"),
    "no label in a row": ("a.csv", CSV + "a film,\n", "has no value in the label column `label` in 1 of 21 rows"),
    "NaN for a label": ("a.jsonl", changed(3, label=float("nan")), "has no value in the label column `label`.*row 3"),
    "no text in a row": ("a.csv", CSV + ",good\n", "has no value in the text column `text` in 1 of 21 rows"),
    "words and numbers for labels": ("a.csv", CSV + "a film,3\n", "different types: a word in row 1, a number in row 21"),
    "true among words": ("a.jsonl", changed(4, label=True), "different types: a word in row 1, true or false in row 4"),
    "decimal commas": ("a.csv", "text;label\n" + "a;0,5\nb;1\n" * 9, "decimal comma"),
    "a list for a label": ("a.jsonl", changed(2, label=["good"]), "a list in row 2 of the label column"),
    "a list for a text": ("a.jsonl", changed(2, text=["a", "film"]), "a list instead of text in row 2 of the column `text`"),
    "an object for a text": ("a.jsonl", changed(5, text={"en": "a film"}), "an object instead of text in row 5"),
    "half a character": ("a.jsonl", changed(6, text="a \ud800 film"), "line 6 has half a character"),
    "half a character in a label": ("a.jsonl", changed(6, label="\ud800"), "line 6 has half a character"),
    "half a character in a name": ("a.jsonl", changed(6, **{"\udc00": 1}), "line 6 has half a character"),
    "a line that is broken": (
        "a.jsonl",
        lines(RECORDS[:4]) + '{"text": "a\n',
        "line 5: Invalid control character|line 5: Unterminated",
    ),
    "a line that is no object": ("a.jsonl", lines([*RECORDS[:4], "words"]), "line 5 is not an object"),
    "lists in lists in lists": ("a.jsonl", "{" * 3 + "[" * 100_000, "is not valid JSON Lines"),
    "an array of lists": ("a.json", "[" * 100_000, "is not valid JSON"),
    "a number of thousands of digits": ("a.jsonl", f'{{"text": "a", "label": {"9" * 9999}}}\n', "line 1: Exceeds the limit"),
    "no Parquet": ("a.parquet", CSV, "is not a valid Parquet file"),
    "Parquet cut off": ("a.parquet", "PAR1\x15\x04PAR1", "is not a valid Parquet file"),
    "nothing": ("a.csv", "", "is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_malformed_data(case: str, tmp_path: Path, tokenizer: Any) -> None:
    name, content, message = BAD[case]
    path = tmp_path / name
    path.write_bytes(content.encode())
    with pytest.raises(DataError, match=message) as caught:
        load_task(path, tokenizer)
    assert "\n" not in str(caught.value)
    assert "a." in str(caught.value)


def test_bytes_and_lists_in_parquet(tmp_path: Path, tokenizer: Any) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    for text, said in ((b"a film", "bytes instead of text"), (["a", "film"], "a list instead of text")):
        pd.DataFrame([{**record, "text": text} for record in RECORDS]).to_parquet(path)
        with pytest.raises(DataError, match=f"{said} in row 1"):
            load_task(path, tokenizer, text="text")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.csv.gz", "a.jsonl.gz"])
def test_what_spreadsheets_write_is_read(tmp_path: Path, name: str, encoding: str) -> None:
    content = {
        "csv": CSV,
        "tsv": CSV.replace(",", "\t"),
        "jsonl": lines(RECORDS),
        "json": json.dumps(RECORDS),
    }[name.split(".")[1]]
    data = content.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert read_table(tmp_path / name).to_dict("records") == RECORDS


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_in_two_bytes_a_letter(tmp_path: Path, encoding: str) -> None:
    said = "Привет, ein Satz — und noch einer.\r\n" * 40
    (tmp_path / "a.txt").write_bytes(said.encode(encoding))
    found = load_text(tmp_path / "a.txt")
    assert found.train + found.validation + (found.test or "") == said


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_csv_with_another_separator(tmp_path: Path, separator: str) -> None:
    for first in ("", f"sep={separator}\r\n"):
        (tmp_path / "a.csv").write_text(
            f'{first}text{separator}label\n"a, b";1\n'.replace(";", separator) + f"c, d{separator}0\n"
        )
        assert read_table(tmp_path / "a.csv").to_dict("records") == [
            {"text": "a, b", "label": "1"},
            {"text": "c, d", "label": "0"},
        ]


def test_a_separator_in_the_text_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,label\nwell; it was good,1\n"one, two; three",0\n')
    assert [row["text"] for row in read_table(tmp_path / "a.csv").to_dict("records")] == [
        "well; it was good",
        "one, two; three",
    ]


def test_long_fields_and_texts_of_several_lines_are_read(tmp_path: Path, tokenizer: Any) -> None:
    long = "word " * 100_000
    (tmp_path / "a.csv").write_text(CSV + f'"{long}",good\n"one\ntwo, three\nfour",bad\n')
    assert read_table(tmp_path / "a.csv")["text"][20] == long
    assert len(load_task(tmp_path / "a.csv", tokenizer).train) == 13


@pytest.mark.parametrize(
    ("text", "label", "error", "message"),
    [
        (["text", "text"], None, ConfigurationError, "names the column `text` twice"),
        (["label"], "label", DataError, "`label` cannot be both text and label"),
    ],
)
def test_a_column_named_twice(
    tmp_path: Path, tokenizer: Any, text: list[str], label: str | None, error: type[SecateurError], message: str
) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    assert message in str(check_data(tmp_path / "a.csv", text, label))
    with pytest.raises(error, match=message):
        load_task(tmp_path / "a.csv", tokenizer, text=text, label=label)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json.gz", "a.parquet", "folder"])
def test_a_table_is_no_text_to_train_on(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / "train.csv").write_text(CSV)
    else:
        path.write_text(CSV)
    with pytest.raises(DataError, match=r"is a table, but plain text is needed.*\.txt"):
        load_text(path)


@pytest.mark.parametrize(
    "name", ["x" * 300 + ".csv", "a\ncsv", "a\x1b[31m.csv", "caf\udce9.csv", "~nobody-of-this-name/a.csv", " "]
)
@pytest.mark.parametrize("read", [check_data, load_text])
def test_names_that_no_file_should_have(read: Any, name: str) -> None:
    try:
        said = read(name)
    except DataError as error:
        said = [str(error)]
    assert len(said) == 1
    assert said[0].isprintable()
    assert said[0].encode()


def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text(CSV)

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    monkeypatch.setattr(Path, "iterdir", refused)
    assert check_data(tmp_path / "a.csv") == [f"`{tmp_path / 'a.csv'}` cannot be read: permission denied."]
    assert check_data(tmp_path) == [f"`{tmp_path}` cannot be read: permission denied."]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "a.csv")
    assert "is not a file" in str(check_data(tmp_path / "a.csv"))
    with pytest.raises(DataError, match="is not a file"):
        load_text(Path("/dev/zero"))
