"""Every row of the published tables, where they lie beside the checkout; and the whole of NAS-Bench-101."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest

from secateur.spaces.cells import CateOutside, NasBench101, NasBench201
from secateur.spaces.cells.nasbench101 import OPERATIONS
from secateur.spaces.cells.nasbench201 import same_network
from secateur.spaces.cells.structures import Cell

TABLES = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "nasbench"


def table(name: str) -> pd.DataFrame:
    if not (TABLES / name).is_file():
        pytest.skip(f"there is no {name} beside the checkout")
    return pd.read_csv(TABLES / name, dtype={"adj": str})


@pytest.mark.slow
def test_keys_and_parameters_of_nasbench101() -> None:
    space, wrong = NasBench101(), []
    for row in table("nb101_20k_multifidelity.csv.gz").itertuples():
        labels = [int(label) for label in str(row.ops).split(",")]
        size = len(labels)
        matrix = [[int(there) for there in str(row.adj)[x * size : x * size + size]] for x in range(size)]
        one = space.make({"matrix": matrix, "ops": ["input", *(OPERATIONS[label] for label in labels[1:-1]), "output"]})
        if (one.key, space.parameters(one), one["matrix"]) != (row.key, row.trainable_parameters, tuple(map(tuple, matrix))):
            wrong.append(row.key)
    assert wrong == []


def test_networks_and_parameters_of_nasbench201() -> None:
    """The table's parameters are means over seeds. 204 of them are what they would be if one or two of the seeds had been
    another string of the same network; all others are equal."""
    space, rows = NasBench201(), table("nb201_15625.csv.gz")
    made = [space.make({"cell": text}) for text in rows["arch"]]
    networks = [same_network(space.graphs(a)["cell"].operations[1:-1]) for a in made]
    assert networks == rows["unique_string"].tolist()
    assert len({a.key for a in made}) == rows["unique_string"].nunique() == 6_466
    counts: dict[str, set[int]] = {}
    for a in made:
        counts.setdefault(a.key, set()).add(space.parameters(a))
    mixed = 0
    for a, published in zip(made, rows["params_M"] * 1e6, strict=True):
        own = space.parameters(a)
        if abs(published - own) > 0.5:
            mixed += 1
            means = [own + share * (other - own) for other in counts[a.key] for share in (1 / 3, 1 / 2, 2 / 3)]
            assert min(abs(published - mean) for mean in means) < 0.5
    assert mixed == 204


@pytest.mark.slow
def test_all_cells_of_nasbench101(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    start = time.process_time()
    keys = [a.key for a in NasBench101().every()]
    assert time.process_time() - start < 120
    assert len(keys) == len(set(keys)) == 423_624
    again = time.process_time()
    assert [a.key for a in NasBench101().every()] == keys
    assert time.process_time() - again < 0.5 * (again - start)


@pytest.mark.slow
def test_steps_lead_everywhere_outside() -> None:
    """From one cell of 6 nodes and 7 to 9 edges to all others, by structure: labels alone can change freely."""
    space = CateOutside()
    plain = set(space._structures)
    start = next(iter(plain))
    found, waiting = {start}, [start]
    while waiting:
        nodes, bits = waiting.pop()
        for other in space.neighbours(space.of_cell(Cell(nodes, bits, (0,) * (nodes - 2)))):
            cell = space.cell(other)
            if (cell.nodes, cell.bits) not in found:
                found.add((cell.nodes, cell.bits))
                waiting.append((cell.nodes, cell.bits))
    assert found == plain
