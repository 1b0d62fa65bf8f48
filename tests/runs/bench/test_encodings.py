"""Encodings on tables: in which part of a search, what is compared, and what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from typer.testing import CliRunner

import secateur
from secateur.catalogue import find_searcher, names
from secateur.cli import app
from secateur.encodings import Adjacency
from secateur.errors import ConfigurationError, StudyError
from secateur.runs.bench import searching
from secateur.runs.bench.contenders import Contender
from secateur.runs.bench.encodings import EncodingSettings
from secateur.spaces.cells import NasBench201
from secateur.tables import Table
from secateur.tables.searchable import write_searchable
from secateur.testing.toys import toy

SPACE = NasBench201(operations=["none", "nor_conv_3x3"])
MOVES = ["sample", "perturb"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """All 64 cells of two operations, with two measures."""
    every = list(SPACE.every())
    value = Adjacency(SPACE).encode(every) @ np.random.default_rng(1).random(Adjacency(SPACE).dimensions)
    curves = {"validation": value[:, None], "test": value[:, None] ** 2}
    made = Table(every, {}, curves, np.array([12.0]))
    said = {"space": "nasbench201", "operations": list(SPACE.operations), "objectives": ["validation"], "about": "cells"}
    said |= {"maximise": ["validation", "test"], "budget": 12, "reported": [{"metric": "test", "budget": 12}]}
    write_searchable(tmp_path / "cells.parquet", made, said)
    return tmp_path / "cells.parquet"


def bench(table: Path, **changes: Any) -> Any:
    given = {"seeds": 3, "queries": 8, "subroutine": MOVES, "workers": 1, "to": table.parent / "out", "progress": False}
    return secateur.bench_encodings(table=[str(table)], **{**given, **changes})


def test_searches_are_those_of_bench_search(table: Path) -> None:
    study = bench(table, encoding=["adjacency", "path"])
    names = ["random:adjacency", "local:adjacency", "mo-rea:adjacency", "random:path", "local:path", "mo-rea:path"]
    assert study.searches.searchers == names
    other = secateur.bench_search(
        table=[str(table)],
        searcher=["local:path"],
        seeds=3,
        queries=8,
        depths=False,
        workers=1,
        to=table.parent / "other",
        progress=False,
    )
    mine = study.searches.frame.query("searcher == 'local:path'")
    assert mine["key"].tolist() == other.frame["key"].tolist()
    by_hand = find_searcher("local:path")(SPACE, study.searches.problems[0].objectives, seed=0)
    assert mine["key"].iloc[0] == by_hand.ask()[0].key


def test_figures_by_hand(table: Path) -> None:
    study = bench(table, encoding=["adjacency", "path"])
    frame = study.searches.frame
    column = dict(
        zip([a.key for a in study.searches.problems[0].architectures], study.searches.problems[0].points[:, 0], strict=True)
    )
    best = min(column.values())

    def last(searcher: str) -> np.ndarray:
        rows = frame[frame["searcher"] == searcher]
        return np.array([min(column[key] for key in rows[rows["seed"] == seed]["key"]) - best for seed in range(3)])

    ranks = {}
    for searcher in ("random", "local", "mo-rea"):
        regrets = np.stack([last(f"{searcher}:{encoding}") for encoding in ("adjacency", "path")])
        ranks[searcher] = rankdata(regrets, axis=0).mean(axis=1)
        mine = [row for row in study.rows() if row["searcher"] == searcher]
        assert [row["encoding"] for row in mine] == ["adjacency", "path"]
        assert [row["regret"] for row in mine] == pytest.approx(regrets.mean(axis=1))
        assert [row["rank"] for row in mine] == pytest.approx(ranks[searcher])
    assert list(study.ranks["cells"]["sample"].values()) == pytest.approx(ranks["random"])
    assert list(study.ranks["cells"]["perturb"].values()) == pytest.approx((ranks["local"] + ranks["mo-rea"]) / 2)
    shown = study.shown()
    assert [column.title for column in shown.columns] == [
        "", "encoding", "random", "local", "mo-rea", "sample rank", "perturb rank",
    ]  # fmt: skip
    assert [(row["measure"], row["encoding"]) for row in shown.rows] == [
        ("test@12", "adjacency"), ("test@12", "path"), ("regret", "adjacency"), ("regret", "path"),
    ]  # fmt: skip
    assert shown.rows[0]["sample rank"] is None
    assert shown.rows[2]["sample rank"] == study.ranks["cells"]["sample"]["adjacency"]


def test_what_was_searched_is_not_searched_again(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bench(table, encoding=["path"])
    monkeypatch.setattr(searching.Search, "run", lambda _: pytest.fail("it was searched again"))
    assert bench(table, encoding=["path"]).rows() == before.rows()
    some = bench(table, encoding=["path"], subroutine=["sample"]).rows()
    assert [row["regret"] for row in some] == [row["regret"] for row in before.rows() if row["subroutine"] == "sample"]


def test_all_parts(table: Path) -> None:
    study = bench(table, seeds=2, queries=11, subroutine=None, gp=True, encoding=["path", "vector"])
    assert list(study.subroutines) == ["sample", "perturb", "predict"]
    assert study.searchers == ["random", "local", "mo-rea", "dngo", "bananas", "bo-gp"]
    assert study.encodings == ["path", "vector"]
    assert study.said()[1].startswith("Values are those of the network with the best objective so far")
    page = (table.parent / "out" / "encodings.html").read_text(encoding="utf-8")
    for head in ("sample: regret", "perturb: found", "predict: regret"):
        assert head in page


def test_by_default_all_encodings_that_have_a_name(table: Path) -> None:
    study = bench(table, seeds=1, queries=3, subroutine=["sample"])
    assert {"adjacency", "path", "vector", "graph"} <= set(study.encodings) <= set(names("encoding"))


def test_what_was_left_out_is_listed(tmp_path: Path) -> None:
    problem = toy("medium")
    shape = {"layers": 2, "heads": 2, "units": 3}
    rows = [{"architecture": a, **problem.evaluate(a)} for a in problem.space.every()]
    write_searchable(
        tmp_path / "toy.parquet", rows, {"space": "medium", "shape": shape, "objectives": ["error"], "about": "a toy"}
    )
    study = bench(tmp_path / "toy.parquet", subroutine=["sample"])
    assert "vector" in study.encodings
    left_out = [note for note in study.said() if "was left out" in note]
    assert any(
        note.startswith("path was left out: `random:path` cannot search `medium`: the encoding `path` is of cells")
        for note in left_out
    )
    assert len(left_out) == len(names("encoding")) - len(study.encodings)
    assert str(study).count("was left out") == len(left_out)
    with pytest.raises(ConfigurationError, match="the encoding `path` is of cells, and the space `medium` has none"):
        bench(tmp_path / "toy.parquet", subroutine=["sample"], encoding=["vector", "path"])


def test_a_searcher_that_takes_no_such_encoding(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(self: Contender, *given: Any) -> Any:
        if self.name == "local:path":
            raise ConfigurationError("`local:path` does not like it.")
        return plain(self, *given)

    plain = Contender.build
    monkeypatch.setattr(Contender, "build", build)
    study = bench(table, encoding=["path"])
    assert "local:path was left out: `local:path` does not like it." in study.said()
    assert [row["searcher"] for row in study.rows()] == ["random", "mo-rea"]
    assert study.shown().rows[0]["local"] is None
    monkeypatch.setattr("secateur.runs.bench.encodings.SUBROUTINES", {"perturb": ("local",)})
    with pytest.raises(ConfigurationError, match="`local:path` does not like it"):
        bench(table, encoding=["path"], subroutine=["perturb"])


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"encoding": ["paths"]}, ConfigurationError, "unknown encoding `paths`"),
        ({"encoding": ["./nothing"]}, StudyError, "`./nothing` holds no trained encoding"),
        ({"subroutine": ["smple"]}, ConfigurationError, "`subroutine`|unknown subroutine `smple`"),
        (
            {"subroutine": ["sample"], "gp": True},
            ConfigurationError,
            "`gp` is a part of `predict`, which `subroutine` does not",
        ),
        ({"report": ["test@x"]}, ConfigurationError, "must be a column, or one at a budget"),
        ({"objective": ["los"]}, ConfigurationError, "unknown column `los`"),
        ({"seeds": 0}, ConfigurationError, "`seeds` must be"),
    ],
    ids=str,
)
def test_refusals(table: Path, given: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        bench(table, **given)
    assert not (table.parent / "out").exists()


def test_nothing_serves(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EncodingSettings, "encodings", ["path"])
    monkeypatch.setattr(Contender, "build", lambda *_: (_ for _ in ()).throw(ConfigurationError("no.")))
    with pytest.raises(ConfigurationError, match="path was left out: no"):
        bench(table)


def test_the_command(table: Path) -> None:
    given = ["bench", "encodings", "--table", str(table), "--encoding", "path", "--subroutine", "sample", "--seeds", "2"]
    given += ["--queries", "5", "--to", str(table.parent / "out"), "--workers", "1", "--quiet"]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "sample rank" in result.output
    told = json.loads(CliRunner().invoke(app, [*given, "--json"], catch_exceptions=False).stdout)
    assert [(row["searcher"], row["encoding"]) for row in told["encodings"]] == [("random", "path")]
    assert told["average_ranks"] == {"cells": {"sample": {"path": 1.0}}}
