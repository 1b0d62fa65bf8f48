"""The surrogate of NAS-Bench-101: features by brute force, predictions better than guessing, a table of all cells."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import secateur
from secateur.architecture import Architecture
from secateur.errors import DataError
from secateur.rng import generator
from secateur.spaces.cells import NasBench101
from secateur.spaces.cells.every_cell import EveryCell
from secateur.tables.nasbench import csv_files
from secateur.tables.opening import open_table
from secateur.tables.surrogate.features import OWN, PATHS, STARTS, featured
from secateur.tables.surrogate.table import surrogate
from secateur.tables.table import Table

SMALL = NasBench101(nodes="2..5")


def by_hand(space: NasBench101, architecture: Architecture) -> dict[str, object]:
    """Features in words, from the graph that the space draws."""
    graph = space.graphs(architecture)["cell"]
    last = len(graph.operations) - 1
    inner = range(1, last)
    found = []
    for length in range(last):
        for chosen in itertools.combinations(inner, length):
            route = [0, *chosen, last]
            if all(step in graph.edges for step in itertools.pairwise(route)):
                found.append(tuple(space.operations.index(graph.operations[i]) for i in chosen))
    lengths = [len(path) for path in found]
    into = [a for a, b in graph.edges if b == last]
    counts = [last + 1, len(graph.edges), len(into), max(lengths), min(lengths), int(0 in into)]
    each = range(len(space.operations))
    labels = {i: space.operations.index(graph.operations[i]) for i in inner}
    counts += [sum(label == o for label in labels.values()) for o in each]
    counts += [sum(labels[b] == o for a, b in graph.edges if a == 0 and b != last) for o in each]
    counts += [sum(labels[a] == o for a in into if a) for o in each]
    counts += [max(path.count(o) for path in found) for o in each]
    return {"paths": sorted(found), "counts": counts}


def test_features_by_hand() -> None:
    space = NasBench101()
    drawn = [space.smallest(), space.largest(), *space.sample_many(60, generator(0))]
    rows = featured([space.cell(a) for a in drawn])
    for architecture, row in zip(drawn, rows, strict=True):
        paths = []
        for code in np.flatnonzero(row[:PATHS]).tolist():
            length = max(n for n, start in enumerate(STARTS[:-1]) if start <= code)
            digits = tuple((code - STARTS[length]) // 3**place % 3 for place in range(length))
            paths += [digits] * int(row[code])
        assert {"paths": sorted(paths), "counts": row[PATHS:OWN].tolist()} == by_hand(space, architecture)
        np.testing.assert_allclose(row[OWN:] / 3, space.encode(architecture))


def made_up(space: NasBench101, architectures: list[Architecture]) -> Table:
    """The more 3×3 convolutions, the better, and the longer it takes."""
    convolutions = np.array([space.cell(a).labels.count(0) + 1 for a in architectures], dtype=float)
    curve = 90 - 20 / convolutions[:, None] / np.array([1, 2])
    parameters = np.array([space.parameters(a) for a in architectures], dtype=float)
    return Table(
        architectures, {"parameters": parameters}, {"validation": curve}, np.array([4, 12]), seconds=100 * convolutions
    )


def test_it_answers_for_every_cell() -> None:
    every = list(SMALL.every())
    drawn = [every[i] for i in generator(1).permutation(len(every))[:400].tolist()]
    found, said, trees = surrogate(made_up(SMALL, drawn), SMALL)
    true = made_up(SMALL, every)
    assert found.keys == true.keys
    assert list(found.architectures) == every
    unseen = [a.key for a in every if a not in set(drawn)]
    for budget in (4, 12):
        gap = found.query(unseen, "validation", budget) - true.query(unseen, "validation", budget)
        assert np.abs(gap).mean() < 0.1 * true.query(unseen, "validation", budget).std()
    np.testing.assert_array_equal(found.column("parameters"), true.column("parameters"))
    assert found.seconds_to(every[-1].key) == pytest.approx(true.seconds_to(every[-1].key), rel=0.05)
    assert set(said["quality"]) == set(trees) == {"validation@4", "validation@12", "seconds"}
    assert all(0.8 < one["kendall"] <= 1 for one in said["quality"].values())
    assert "surrogate" in said["about"]


def test_held_out_quality_is_that_of_cells_not_seen() -> None:
    """Values that no cell can tell: on the cells that trees were fitted on they agree, held out they do not."""
    drawn = list(SMALL.every())[:300]
    curve = 80 + generator(2).standard_normal((300, 1))
    _, said, trees = surrogate(Table(drawn, {}, {"validation": curve}, np.array([4])), SMALL)
    assert abs(said["quality"]["validation@4"]["kendall"]) < 0.2
    inside = trees["validation@4"].predict(featured([SMALL.cell(a) for a in drawn]))
    assert np.corrcoef(inside, curve[:, 0])[0, 1] > 0.4


def test_what_cannot_be_fitted() -> None:
    drawn = list(SMALL.every())[:60]
    with pytest.raises(DataError, match="at least 50 cells, got 20"):
        surrogate(Table(drawn[:20], {}, {"validation": np.ones((20, 1))}, np.array([4])), SMALL)
    gap = np.ones((60, 1))
    gap[3] = np.nan
    with pytest.raises(DataError, match="needs `validation@4` of all cells"):
        surrogate(Table(drawn, {}, {"validation": gap}, np.array([4])), SMALL)


def test_every_cell_is_a_sequence() -> None:
    cells, every = EveryCell(SMALL), list(SMALL.every())
    assert len(cells) == len(every)
    assert (cells[0], cells[-1], cells[3:5]) == (every[0], every[-1], every[3:5])
    with pytest.raises(IndexError):
        cells[len(every)]


def test_import_and_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import csv

    monkeypatch.setenv("SECATEUR_TABLES", str(tmp_path / "tables"))
    monkeypatch.setitem(csv_files.SAID_101, "options", {"nodes": "2..5"})
    every = list(SMALL.every())[:300]
    with (tmp_path / "nb101.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted(csv_files.COLUMNS_101))
        writer.writeheader()
        for row, architecture in enumerate(every):
            cell = SMALL.cell(architecture)
            graph = SMALL.graphs(architecture)["cell"]
            n = len(graph.operations)
            adjacency = "".join(str(int((x, y) in graph.edges)) for x in range(n) for y in range(n))
            said = {"key": architecture.key, "adj": adjacency, "ops": ",".join(map(str, (-1, *cell.labels, -2)))}
            said |= dict.fromkeys(csv_files.ACCURACIES_101, 0.5 + 0.4 * row / 300)
            writer.writerow({**said, "trainable_parameters": 1, "final_training_time": 100 + row})
    imported = secateur.bench_import(tmp_path / "nb101.csv", surrogate=True)
    assert "surrogate" in str(imported)
    assert (tmp_path / "tables/nb101-surrogate-validation@108.txt").read_text().startswith("tree\n")
    found = open_table("nb101-surrogate")
    assert found.table.fingerprint == imported.table.table.fingerprint
    assert isinstance(found.space, NasBench101)
    assert (found.space.size(), len(found.table)) == (SMALL.size(), SMALL.size())
    assert list(map(str, found.reported)) == ["validation@108"]
    assert "surrogate" in found.about
    study = secateur.bench_search(
        table=["nb101-surrogate"], searcher=["random"], seeds=2, queries=5, to=tmp_path / "bench", progress=False
    )
    assert "nb101-surrogate" in str(study)
