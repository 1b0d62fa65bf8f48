"""Predictors on tables: who learns from what, how it is judged, and what is not done again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import secateur
from secateur.catalogue import CATALOGUE, Entry
from secateur.cli import app
from secateur.encodings import Adjacency, Encoding, UnitCube
from secateur.errors import ConfigurationError, DataError
from secateur.predictors import Forest, Predictor
from secateur.rng import generator
from secateur.runs.bench import predicting
from secateur.runs.bench.predicting import figures, standardised
from secateur.spaces.cells import NasBench201
from secateur.spaces.pruning import Shape
from secateur.tables import Table
from secateur.tables.searchable import write_searchable
from secateur.testing.toys import Toy, toy

SHAPE = {"layers": 3, "heads": 3, "units": 6}


def problem() -> Toy:
    return toy("small", shape=Shape(**SHAPE))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """All of a toy's `small`."""
    rows = [{"architecture": a, **problem().evaluate(a)} for a in problem().space.every()]
    said = {"space": "small", "shape": SHAPE, "objectives": ["error", "parameters"], "about": "a toy"}
    write_searchable(tmp_path / "toy.parquet", rows, said)
    return tmp_path / "toy.parquet"


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """Sixty cells with an accuracy at two budgets; some lack the later one."""
    space = NasBench201()
    some = list({a.key: a for a in space.sample_many(60, generator(0))}.values())
    bits = Adjacency(space).encode(some)
    early = bits @ np.random.default_rng(1).random(bits.shape[1])
    curves = np.column_stack([early, early + 0.1 * np.random.default_rng(2).standard_normal(len(some))])
    curves[:5, 1] = np.nan
    table = Table(some, {"flops": bits.sum(axis=1)}, {"validation": curves}, np.array([12.0, 200.0]))
    said = {"space": "nasbench201", "objectives": ["validation"], "maximise": ["validation"], "budget": 12, "about": "cells"}
    write_searchable(tmp_path / "cells.parquet", table, said)
    return tmp_path / "cells.parquet"


def bench(table: Path, **changes: Any) -> Any:
    given = {"predictor": ["forest"], "train": "8,12", "seeds": 2, "to": table.parent / "out", "workers": 1, "progress": False}
    return secateur.bench_predictors(table=[str(table)], **{**given, **changes})


def test_a_fit_by_hand(table: Path) -> None:
    """The same networks, drawn once more, and the same forest."""
    row = bench(table, test=20).frame.iloc[3]
    assert (row["train"], row["seed"], row["test"]) == (12, 1, 20)
    networks = list(problem().space.every())
    values = np.array([-problem().evaluate(a)["error"] for a in networks])
    order = generator(1, "split").permutation(len(networks))
    tested, learnt = order[:20], order[20:32]
    vectors = UnitCube(problem().space).encode(networks)
    centre, scale = values[learnt].mean(), values[learnt].std()
    targets = (values[learnt, None] - centre) / scale
    fitted = Forest().fit(vectors[learnt], targets, waiting=vectors[:0], seed=1)
    means, deviations = (found[:, 0] * scale for found in fitted.predict(vectors[tested]))
    expected = figures(values[tested], means + centre, deviations)
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_figures_by_hand() -> None:
    truth, means, deviations = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 1.0, 3.0, 7.0]), np.array([1.0, 0.6, 1.0, 1.0])
    found = figures(truth, means, deviations)
    assert found["spearman"] == pytest.approx(0.8)  # ranks 2 1 3 4: 1 − 6 · 2 / (4 · 15)
    assert found["kendall"] == pytest.approx(4 / 6)  # one pair of six is the wrong way round
    assert found["pearson"] == pytest.approx(np.corrcoef(truth, means)[0, 1])
    assert found["rmse"] == pytest.approx(np.sqrt((0.25 + 1 + 0 + 9) / 4))
    errors = np.array([0.5, 1 / 0.6, 0, 3])
    assert found["nll"] == pytest.approx(np.mean(0.5 * errors**2 + np.log(deviations) + 0.5 * np.log(2 * np.pi)))
    assert (found["within_1"], found["within_2"]) == (0.5, 0.75)
    assert figures(truth, np.ones(4), deviations)["kendall"] is None


def test_features_are_standardised_and_help(cells: Path) -> None:
    columns = np.array([[1.0, 5.0], [3.0, 5.0], [100.0, 6.0]])
    assert standardised(columns, np.array([0, 1])) == pytest.approx(np.array([[-1, 0], [1, 0], [98, 1]]))
    options = {"metric": "validation", "budget": 200, "encoding": ["path"], "seeds": 4}
    plain = bench(cells, **options).rows()[-1]
    shown = bench(cells, **options, feature=["validation@12", "flops"])
    assert shown.rows()[-1]["spearman"] > plain["spearman"] + 0.1
    assert any("shown validation@12, flops" in note for note in shown.said())
    assert any("5 networks without known values" in note for note in shown.said())


def test_rows_are_means_over_seeds(table: Path) -> None:
    study = bench(table, seeds=3, predictor=["forest", "dngo"])
    row = study.rows()[1]
    assert (row["predictor"], row["encoding"], row["train"], row["seeds"]) == ("forest", "vector", 12, 3)
    frame = study.frame[(study.frame["predictor"] == "forest") & (study.frame["train"] == 12)]
    assert row["kendall"] == pytest.approx(frame["kendall"].mean())
    assert row["kendall_error"] == pytest.approx(frame["kendall"].std(ddof=1) / np.sqrt(3))
    assert row["seconds"] == pytest.approx(frame["seconds"].median())


def test_what_is_there_is_not_done_again(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bench(table, test=10)
    run, again = predicting.Fit.run, []
    monkeypatch.setattr(predicting.Fit, "run", lambda fit: again.append((fit.predictor, fit.train)) or run(fit))
    assert bench(table, test=10).rows() == before.rows()
    assert again == []
    bench(table, test=10, train=[12, 14])
    assert again == [("forest", 14)] * 2
    bench(table, test=10, feature=["macs"], seeds=1)
    assert again[2:] == [("forest", 8), ("forest", 12)]


def test_a_fit_that_fails_is_in_no_mean(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = Forest.fit
    monkeypatch.setattr(Forest, "fit", lambda *a, seed, **more: None if seed == 1 else fit(*a, seed=seed, **more))
    study = bench(table, seeds=3)
    alone = study.frame[(study.frame["train"] == 8) & (study.frame["seed"] != 1)]
    assert study.rows()[0]["kendall"] == pytest.approx(alone["kendall"].mean())
    assert "2 of 6 fits failed, and are in no mean." in study.said()


def test_several_processes_find_the_same(table: Path) -> None:
    alone, beside = (bench(table, workers=n, to=table.parent / str(n)).frame.drop(columns="seconds") for n in (1, 2))
    assert alone.reset_index(drop=True).equals(beside.reset_index(drop=True))


class OnlyVectors(Forest):
    """Learns from nothing but plain vectors."""

    name = "only-vectors"

    @classmethod
    def refuses(cls, encoding: Encoding) -> str | None:
        return None if encoding.name in ("vector", "graph") else f"`only-vectors` knows nothing of `{encoding.name}`."


class Shaped(OnlyVectors):
    """Wants to know of the encoding."""

    name = "shaped"

    def for_encoding(self, encoding: Encoding) -> Predictor:
        return self


def test_pairs_that_do_not_fit(cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (OnlyVectors, Shaped):
        monkeypatch.setitem(CATALOGUE["predictor"], kind.name, Entry(f"{__name__}:{kind.__name__}", "for a test"))
    monkeypatch.setattr("secateur.runs.bench.predicting.find", _found)
    names = ["forest", "only-vectors"]
    monkeypatch.setattr("secateur.settings.Option.fault", lambda *_: None)  # the names were read with the settings

    def pairs(study: Any) -> set[tuple[str, str]]:
        return set(zip(study.frame["predictor"], study.frame["encoding"], strict=True))

    usual = bench(cells, predictor=names, train="8", seeds=1)
    assert pairs(usual) == {("forest", "adjacency"), ("forest", "path"), ("only-vectors", "graph")}
    asked = bench(cells, predictor=names, encoding=["vector", "path"], train="8", seeds=1)
    assert pairs(asked) == {("forest", "vector"), ("forest", "path"), ("only-vectors", "vector")}
    assert any("only-vectors with path was left out: `only-vectors` knows nothing of `path`" in note for note in asked.said())
    with pytest.raises(ConfigurationError, match="knows nothing of `path`"):
        bench(cells, predictor=names, encoding=["path"])
    with pytest.raises(ConfigurationError, match="only-vectors with path was left out"):
        bench(cells, predictor=["only-vectors"], encoding=["vector", "path"])
    with pytest.raises(ConfigurationError, match="`shaped` reads graphs, and no `feature`"):
        bench(cells, predictor=["shaped"], encoding=["graph"], feature=["flops"])
    with pytest.raises(ConfigurationError, match="`shaped` reads graphs, and no `feature`"):
        bench(cells, predictor=["shaped"], feature=["flops"])


def test_tables_of_one_name(table: Path) -> None:
    (table.parent / "same").mkdir()
    other = shutil.copy(table, table.parent / "same")
    with pytest.raises(ConfigurationError, match=f"two of the tables are called `{table.stem}`"):
        secateur.bench_predictors(table=[str(table), str(other)], train="8", progress=False)


def _found(kind: str, name: str) -> Any:
    from secateur.catalogue import find

    return {"only-vectors": OnlyVectors, "shaped": Shaped}.get(name) or find(kind, name)


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"predictor": ["gpp"]}, ConfigurationError, "unknown predictor `gpp`"),
        ({"encoding": ["paths"]}, ConfigurationError, "unknown encoding `paths`"),
        ({"encoding": ["path"]}, ConfigurationError, "the encoding `path` is of cells, and the space `small` has none"),
        ({"metric": "los"}, ConfigurationError, "unknown column `los`"),
        ({"feature": ["los"]}, ConfigurationError, "unknown column `los`"),
        ({"feature": ["macs@x"]}, ConfigurationError, "must be a column, or one at a budget"),
        ({"budget": 12}, DataError, "has no budget 12. Its budgets: none"),
        ({"train": "50,x"}, ConfigurationError, "`train` must be whole numbers such as 50,100, got '50,x'"),
        ({"train": "1"}, ConfigurationError, "`train` must be at least 2 networks"),
        ({"train": "8,500"}, ConfigurationError, "500 networks to learn from and 10 to test on are more than the"),
        ({"train": "8", "test": 500}, ConfigurationError, "8 networks to learn from and 500 to test on are more"),
        ({"table": ["prune-sst"]}, ConfigurationError, "unknown table `prune-sst`"),
    ],
    ids=lambda part: str(part)[:20] if isinstance(part, dict) else "",
)
def test_refusals(table: Path, given: dict[str, Any], kind: type[Exception], said: str) -> None:
    named = given.pop("table", None)
    with pytest.raises(kind, match=said):
        bench(table, **given) if named is None else secateur.bench_predictors(table=named, to=table.parent / "out")
    assert not (table.parent / "out").exists()


def test_the_command(table: Path) -> None:
    given = ["bench", "predictors", "--table", str(table), "--predictor", "forest", "--train", "8,12", "--seeds", "2"]
    given += ["--to", str(table.parent / "out"), "--workers", "1", "--quiet"]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert [line.split()[:3] for line in result.output.splitlines() if " forest " in line] == [
        ["8", "forest", "vector"], ["12", "forest", "vector"],
    ]  # fmt: skip
    page = (table.parent / "out" / "predictors.html").read_text(encoding="utf-8")
    assert "Spearman over networks learnt from" in page
    assert "vector of toy" in page
    told = json.loads(CliRunner().invoke(app, [*given, "--json"], catch_exceptions=False).stdout)
    assert [row["train"] for row in told["predictions"]] == [8, 12]
    wrong = CliRunner().invoke(app, [*given, "--metric", "los"])
    assert wrong.exit_code == 2
    assert wrong.stderr.count("\n") == 1
