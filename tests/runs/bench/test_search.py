"""Searchers on tables: what a search sees, what is compared, and what is not run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.errors import ConfigurationError, DataError, StudyError, UnknownNameError
from secateur.pareto import hypervolume
from secateur.runs.bench import searching
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.prune.settings import PruneSettings
from secateur.search import Aim
from secateur.search.random import Random
from secateur.spaces.pruning import Shape
from secateur.spaces.pruning.sizes import aimed
from secateur.study import RunLock
from secateur.tables.searchable import write_searchable
from secateur.testing.toys import Toy, toy

SHAPE = Shape(layers=3, heads=3, units=6)
SAID: dict[str, Any] = {"shape": {"layers": 3, "heads": 3, "units": 6}, "objectives": ["error", "parameters"], "about": "a toy"}


def problem(space: str = "small") -> Toy:
    return toy(space, shape=SHAPE)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """All of a toy's `small`."""
    every = [{"architecture": a, **problem().evaluate(a)} for a in problem().space.every()]
    write_searchable(tmp_path / "toy.parquet", every, {**SAID, "space": "small"})
    return tmp_path / "toy.parquet"


def bench(table: Path, **changes: Any) -> Any:
    given = {
        "searcher": ["random", "local"],
        "seeds": 3,
        "queries": 10,
        "workers": 1,
        "to": table.parent / "out",
        "progress": False,
    }
    return secateur.bench_search(table=[str(table)], **{**given, **changes})


def test_a_search_sees_what_its_searcher_would(table: Path) -> None:
    """Asked and told by hand, without depths: the same networks in the same order."""
    frame = bench(table, depths=False).frame
    searcher = Random(problem().space, problem().objectives, seed=1)
    asked = problem().run(searcher, 10)
    seen = frame[(frame["searcher"] == "random") & (frame["seed"] == 1)]
    assert list(seen["key"]) == [a.key for a in asked]
    assert list(seen["error"]) == [problem().evaluate(a)["error"] for a in asked]
    assert list(seen["query"]) == list(range(1, 11))


def test_a_trial_brings_the_shallower_networks(table: Path) -> None:
    frame = bench(table).frame
    one = frame[(frame["searcher"] == "local") & (frame["seed"] == 0)]
    first = one[one["query"] == 1]  # the whole network, then its depths
    space = problem().space
    depths = [space.make({"heads": 3, "units": 6, "layers": n}).key for n in (3, 0, 1, 2)]
    assert list(first["key"]) == depths
    assert one["key"].is_unique
    assert (np.diff(one["seconds"]) >= 0).all()


def test_regret_by_hand(table: Path) -> None:
    """The best possible is the hypervolume of all networks of the table, each at its quantile among those that were seen."""
    from scipy.stats import rankdata

    study = bench(table, depths=False)
    seen = study.frame[["error", "parameters"]].to_numpy()

    def placed(points: np.ndarray) -> np.ndarray:
        """By scipy: the rank of each value among the seen and itself, as a share."""
        out = np.empty_like(points)
        for column in range(2):
            among = seen[:, column]
            for row, value in enumerate(points[:, column]):
                own = rankdata([*among, value])[-1] - 1  # ties with itself shift it by half
                out[row, column] = np.clip((own - 0.5 * (value in among)) / (len(among) - 1), 0, 1)
        return out

    every = np.array([[v["error"], v["parameters"]] for v in map(problem().evaluate, problem().space.every())])
    best = hypervolume(placed(every), np.array([2.0, 2.0]))
    rows = study.frame[(study.frame["searcher"] == "local") & (study.frame["seed"] == 2)]
    volumes = [hypervolume(placed(rows[["error", "parameters"]].to_numpy()[:n]), np.array([2.0, 2.0])) for n in range(1, 11)]
    regrets = study.regrets["toy"]
    assert regrets.told["hypervolume"]["local"][2] == pytest.approx(volumes)
    assert regrets.possible["local"][2] == pytest.approx(best - np.array(volumes))
    together = hypervolume(placed(seen), np.array([2.0, 2.0]))
    assert regrets.seen["local"][2, -1] == pytest.approx(together - volumes[-1])
    early, *_, row = [row for row in study.rows() if row["searcher"] == "local"]
    finals = regrets.told["hypervolume"]["local"][:, -1]
    assert row["hypervolume"] == pytest.approx(finals.mean())
    assert row["hypervolume_error"] == pytest.approx(finals.std(ddof=1) / np.sqrt(3))
    assert early["queries"] == 2
    assert early["regret"] == pytest.approx(regrets.possible["local"][:, 1].mean())
    assert row["cumulative_regret"] == pytest.approx(regrets.possible["local"].sum(axis=1).mean())
    assert 1 <= row["rank"] <= 2


def test_what_was_searched_is_not_searched_again(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bench(table)
    monkeypatch.setattr(searching.Search, "run", lambda _: pytest.fail("it was searched again"))
    after = bench(table)
    assert after.rows() == before.rows()
    with pytest.raises(pytest.fail.Exception):
        bench(table, queries=11)


def test_a_search_that_is_stopped_keeps_what_it_had(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bench(table, to=table.parent / "whole")
    run, done = searching.Search.run, []

    def stopping(search: Any) -> Any:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(search.cell)
        return run(search)

    monkeypatch.setattr(searching.Search, "run", stopping)
    with pytest.raises(KeyboardInterrupt):
        bench(table)
    again: list[str] = []
    monkeypatch.setattr(searching.Search, "run", lambda search: again.append(search.cell) or run(search))
    resumed = bench(table)
    assert len(again) == 2
    assert not set(again) & set(done)
    assert resumed.frame["key"].tolist() == whole.frame["key"].tolist()


def test_who_is_killed_leaves_what_it_had(tmp_path: Path) -> None:
    """Nothing was written at the end, and the last line only in part."""
    path = tmp_path / "rows.parquet"
    killed = SafeRowsFile(path)
    killed.add("a", [{"x": 1}])
    killed.add("b", [{"x": 2}, {"x": 3}])
    killed.lines.write_text(killed.lines.read_text()[:-5])
    left = SafeRowsFile(path)
    assert ["a" in left, "b" in left] == [True, False]
    left.add("b", [{"x": 4}, {"x": 5}])
    again = SafeRowsFile(path)
    assert again.of(["b", "a"])["x"].tolist() == [4, 5, 1]
    assert not again.lines.exists()
    assert SafeRowsFile(path).of(["a", "b"])["x"].tolist() == [1, 4, 5]


def test_several_tables_have_ranks_together(table: Path) -> None:
    pool = table.parent / "pool.parquet"
    some = problem("medium").space.sample_many(60, np.random.default_rng(0))
    distinct = {a.key: a for a in some}.values()
    write_searchable(pool, _evaluated(distinct), {**SAID, "space": "medium"})
    study = secateur.bench_search(
        table=[str(table), str(pool)],
        searcher=["random", "mo-rea:4"],
        seeds=2,
        queries=5,
        at="5",
        workers=1,
        to=table.parent / "two",
        progress=False,
    )
    assert [(row["table"], row["searcher"]) for row in study.rows()] == [
        ("toy", "random"), ("toy", "mo-rea:4"), ("pool", "random"), ("pool", "mo-rea:4"),
    ]  # fmt: skip
    assert sum(rank[-1] for rank in study.ranks.values()) == pytest.approx(3)
    assert "all" in str(study)


def _evaluated(architectures: Any) -> list[dict[str, Any]]:
    return [{"architecture": a, **problem("medium").evaluate(a)} for a in architectures]


@pytest.mark.parametrize(("share", "shares"), [(0.5, (0.1, 0.2, 0.3, 0.5, 0.7)), (0.8, (0.4,))])
def test_a_share_of_the_trials_can_be_aimed_at_sizes(
    table: Path, monkeypatch: pytest.MonkeyPatch, share: float, shares: tuple[float, ...]
) -> None:
    """Those that a searcher is given by hand, at the sizes that `secateur prune` has by default; also if it had others."""
    if share != PruneSettings.aimed:
        monkeypatch.setattr(PruneSettings, "aimed", share)
        monkeypatch.setattr(PruneSettings, "usual", classmethod(lambda cls, name: [f"{100 * s:g}%" for s in shares]))
    every = [{"architecture": a, **problem().evaluate(a)} for a in problem().space.every()]
    sizes = {row["architecture"].key: row["parameters"] for row in every}
    write_searchable(table, [{**row, "body_parameters": row["parameters"]} for row in every], {**SAID, "space": "small"})
    frame = bench(table, searcher=["random+aimed"], seeds=1, depths=False).frame
    limits = [share * max(sizes.values()) for share in shares]
    aim = Aim(aimed(problem().space, lambda plan: sizes[plan.key], limits), share)
    by_hand = problem().run(Random(problem().space, problem().objectives, aim=aim), 10)
    assert frame["key"].tolist() == [a.key for a in by_hand]
    assert by_hand != problem().run(Random(problem().space, problem().objectives), 10)


def test_another_objective(table: Path) -> None:
    assert {"error", "macs", "latency"} <= set(bench(table, objective=["error", "macs", "latency"]).frame)


def test_refusals(table: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown searcher `locl`"):
        bench(table, searcher=["locl"])
    for wrong in ("mo-rea:0", "mo-rea:4/", "mo-rea:4/0", "mo-rea:", "mo-rea:4:", "mo-rea:path:4", "local+"):
        with pytest.raises(
            ConfigurationError, match="or one with more: mo-rea:20, mo-rea:20/5, bananas:path, mo-rea:20/5:path"
        ):
            bench(table, searcher=[wrong])
    with pytest.raises(ConfigurationError, match=r"unknown extrapolator `aim`.*aimed, as in local\+aimed"):
        bench(table, searcher=["local+aim"])
    with pytest.raises(ConfigurationError, match=r"`svr:2` must be an extrapolator, with shares or without: svr, svr:0\.2"):
        bench(table, searcher=["local+svr:2"])
    with pytest.raises(ConfigurationError, match="`mo-asha` stops trainings early by itself"):
        bench(table, searcher=["mo-asha+svr"])
    with pytest.raises(ConfigurationError, match="needs several budgets up to the one that drives, it has: none"):
        bench(table, searcher=["local+svr"])
    with pytest.raises(ConfigurationError, match="needs a table with `body_parameters`"):
        bench(table, searcher=["local+aimed"])
    with pytest.raises(ConfigurationError, match="`random` has none"):
        bench(table, searcher=["random:3"])
    with pytest.raises(UnknownNameError, match="unknown column `los`"):
        bench(table, objective=["error", "los"])
    with pytest.raises(ConfigurationError, match="unknown searcher `exact`"):
        bench(table, searcher=["exact"])
    (table.parent / "same").mkdir()
    write_searchable(
        table.parent / "same" / "toy.parquet",
        _evaluated(problem("medium").space.sample_many(3, np.random.default_rng(0))),
        {**SAID, "space": "medium"},
    )
    with pytest.raises(ConfigurationError, match="two of the tables are called `toy`"):
        secateur.bench_search(table=[str(table), str(table.parent / "same" / "toy.parquet")], progress=False)
    with pytest.raises(ConfigurationError, match="is a file"):
        bench(table, to=table)
    (table.parent / "out").mkdir(exist_ok=True)
    with RunLock(table.parent / "out"), pytest.raises(StudyError, match="is in use by process"):
        bench(table)
    (table.parent / "out" / "searches.parquet").write_bytes(table.read_bytes())
    with pytest.raises(DataError, match="no column `cell`"):
        bench(table)


def test_who_cannot_serve_is_left_out_where_nobody_asked(table: Path) -> None:
    """NSGA-II needs whole numbers, which a pool does not have."""
    pool = table.parent / "pool.parquet"
    distinct = {a.key: a for a in problem("medium").space.sample_many(40, np.random.default_rng(0))}.values()
    write_searchable(pool, _evaluated(distinct), {**SAID, "space": "medium"})
    study = bench(pool, searcher=None, seeds=1, queries=3)
    assert study.searchers == ["random", "local", "mo-rea"]
    assert any("nsga2 was left out: `nsga2` needs a space of whole numbers" in note for note in study.said())
    size = problem("medium").space.size()
    assert any(f"pool holds {len(distinct)} of the {size:,} networks of its space" in note for note in study.said())
    assert study.rows()[0]["regret_error"] is None  # one search tells of no error
    assert "±" not in str(study).partition("Means over")[0]


def test_the_command(table: Path) -> None:
    given = ["bench", "search", "--table", str(table), "--searcher", "random", "--seeds", "2", "--queries", "4"]
    result = CliRunner().invoke(app, [*given, "--to", str(table.parent / "out"), "--quiet"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.output.splitlines() if " random " in line] == ["1", "2", "3", "4"]
    page = (table.parent / "out" / "search.html").read_text(encoding="utf-8")
    assert "Average ranks" in page
    assert "http" not in page.partition('id="figures">')[2].partition("</script>")[0]
    told = CliRunner().invoke(app, [*given, "--to", str(table.parent / "out"), "--quiet", "--json"], catch_exceptions=False)
    older = [word.replace("--queries", "--trials") for word in given]
    again = CliRunner().invoke(app, [*older, "--to", str(table.parent / "out"), "--quiet", "--json"], catch_exceptions=False)
    assert again.stdout == told.stdout
    assert json.loads(told.stdout)["searches"][0]["seeds"] == 2
    both = CliRunner().invoke(app, ["bench", "search", "--table", str(table), "--queries", "5", "--seconds", "5", "--quiet"])
    assert "`--queries` and `--seconds` both say when a search ends" in both.stderr
    wrong = CliRunner().invoke(app, ["bench", "search", "--table", "prune-sst", "--quiet"])
    assert wrong.exit_code == 2
    assert wrong.stderr.count("\n") == 1
