"""A table's own counts beside those of its architectures."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from secateur.runs.bench.results import ProxyStudy
from secateur.spaces.decoder import architecture
from secateur.verbs.proxies import proxies

#: A GPT-2 layer of width 8 and inner width 16: attention 4·8² + 4·8, feed-forward 2·8·16 + 16 + 8, norms 4·8; last norm 2·8.
DECODER = 4 * 64 + 32 + 2 * 128 + 24 + 32 + 16
#: A plain embedding of 40 tokens and 1,024 positions, 8 wide.
WHOLE = DECODER + 8 * (40 + 1024)


def judged(folder: Path, *changes: dict[str, Any], proxy: str = "parameters", **settings: Any) -> ProxyStudy:
    """The study of a table with a row per change, all of them the same network."""
    network = architecture("gpt2", 8, [2], [16]).to_json()
    row = {"architecture": network, "perplexity": 9.0, "vocabulary": 40, "parameters": WHOLE, "decoder_parameters": DECODER}
    rows = [{**row, "seed": seed, **change} for seed, change in enumerate(changes)]
    table = folder / "table.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return proxies(table, to=folder / "out", proxy=[proxy], progress=False, **settings)


def score(folder: Path) -> float:
    """The one that was written last."""
    with (folder / "out" / "scores.csv").open(newline="", encoding="utf-8") as file:
        return float(list(csv.DictReader(file))[-1]["score"])


def told(study: ProxyStudy) -> list[str]:
    return [note for note in study.notes if note.startswith(("`parameters`", "`decoder_parameters`"))]


def test_counts_that_agree_are_not_mentioned(tmp_path: Path) -> None:
    assert told(judged(tmp_path, {}, {"parameters": None, "decoder_parameters": None})) == []
    assert score(tmp_path) == WHOLE


def test_the_architectures_counts_are_used_and_the_first_row_that_differs_is_named(tmp_path: Path) -> None:
    study = judged(tmp_path, {}, {"parameters": 12.5}, {"parameters": 7, "decoder_parameters": DECODER + 1000})
    assert told(study) == [
        "`parameters` differs from the architecture's in 2 of 3 rows, first in row 2: 12.5 in the table, 9,128 counted "
        "(vocabulary 40, 1,024 positions). The counted ones are used.",
        "`decoder_parameters` differs from the architecture's in 1 of 3 rows, first in row 3: 1,616 in the table, 616 counted. "
        "The counted ones are used.",
    ]
    assert told(study)[0] in str(study)
    assert score(tmp_path) == WHOLE
    assert told(judged(tmp_path, {"positions": 24, "parameters": WHOLE - 8 * 1000})) == []
    assert score(tmp_path) == WHOLE - 8000


def test_rows_of_other_sources_are_not_checked_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    changes = [{"source": "a", "parameters": 1}, {"source": "b"}, {"source": "b", "parameters": 2}]
    (note,) = told(judged(tmp_path, *changes, source=["b"]))
    assert "in 1 of 2 rows, first in row 3: 2 in the table" in note


def test_without_a_vocabulary_the_tables_own_are_used_and_that_is_said(tmp_path: Path) -> None:
    unknown = {"vocabulary": None, "parameters": 5000}
    assert told(judged(tmp_path, unknown)) == [
        "`parameters` are the table's own, unchecked: they cannot be counted without --vocabulary."
    ]
    assert score(tmp_path) == 5000
    assert told(judged(tmp_path, unknown, proxy="decoder_parameters")) == []
    (note,) = told(judged(tmp_path, unknown, vocabulary=40))  # in the same folder: the old score is not taken for the new
    assert "5,000 in the table, 9,128 counted" in note
    assert score(tmp_path) == WHOLE
