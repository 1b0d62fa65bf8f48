"""Tables to search on: written, read, refused; and those that come with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.errors import DataError, UnknownNameError
from secateur.rng import generator
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Small
from secateur.tables.searchable import METADATA, open_table, shipped, write_searchable
from secateur.testing.toys import SHAPE, toy

SHAPED = {"layers": SHAPE.layers, "heads": SHAPE.heads, "units": SHAPE.units}
SAID: dict[str, Any] = {"space": "small", "shape": SHAPED, "objectives": ["error", "parameters"], "about": "a toy"}


def rows(space: str = "small", count: int | None = None) -> list[dict[str, Any]]:
    problem = toy(space)
    every = list(problem.space.every()) if count is None else problem.space.sample_many(count, generator(0))
    return [{"architecture": a, **problem.evaluate(a)} for a in every]


def test_a_table_with_all_of_its_space(tmp_path: Path) -> None:
    write_searchable(tmp_path / "all.parquet", rows(), SAID)
    found = open_table(str(tmp_path / "all.parquet"))
    assert (found.name, found.about, found.objectives) == ("all", "a toy", ("error", "parameters"))
    assert isinstance(found.space, Small)
    for row in rows():
        assert found.table.values(row["architecture"].key) == {n: v for n, v in row.items() if n != "architecture"}


def test_some_of_a_space_are_a_pool(tmp_path: Path) -> None:
    some = rows("medium", 20)
    write_searchable(tmp_path / "some.parquet", some, {**SAID, "space": "medium"})
    found = open_table(str(tmp_path / "some.parquet"))
    assert isinstance(found.space, Pool)
    assert set(found.space.every()) == {row["architecture"] for row in some}


def test_a_space_too_large_to_be_listed_is_a_pool_at_once(tmp_path: Path) -> None:
    """12 layers of 12 heads and 1,536 units: nobody counts those."""
    from secateur.spaces.pruning import Medium, Shape

    space = Medium(Shape(12, 12, 1536))
    some = [{"architecture": a, "error": 0.5, "parameters": 1.0} for a in space.sample_many(3, generator(0))]
    said = {**SAID, "space": "medium", "shape": {"layers": 12, "heads": 12, "units": 1536}}
    write_searchable(tmp_path / "some.parquet", some, said)
    assert open_table(str(tmp_path / "some.parquet")).space.size() == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"space": "smal"}, "unknown space `smal`"),
        ({"shape": {"layers": 2}}, "does not describe a space"),
        ({"shape": None}, "does not describe a space"),
        ({"objectives": ["loss"]}, "no column `loss`"),
        ({"space": "medium"}, "is not in the space"),
        ({"shape": {**SHAPED, "layers": 1}}, "is not in the space"),
    ],
)
def test_a_file_that_does_not_say_what_it_holds(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    write_searchable(tmp_path / "wrong.parquet", rows(), {**SAID, **changes})
    with pytest.raises(DataError, match=said):
        open_table(str(tmp_path / "wrong.parquet"))


@pytest.mark.parametrize("metadata", [None, "{", "[1]"])
def test_a_file_of_somebody_else(tmp_path: Path, metadata: str | None) -> None:
    import pyarrow
    from pyarrow import parquet

    plain = [{"architecture": row["architecture"].to_json(), "error": 0.5} for row in rows()]
    table = pyarrow.Table.from_pylist(plain).replace_schema_metadata({METADATA: metadata} if metadata else None)
    parquet.write_table(table, tmp_path / "other.parquet")
    with pytest.raises(DataError, match="does not describe a space: `space` is missing"):
        open_table(str(tmp_path / "other.parquet"))


def test_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean `prune-sst2`"):
        open_table("prune-sst")
    with pytest.raises(DataError, match="does not exist"):
        open_table(str(tmp_path / "none.parquet"))


@pytest.mark.parametrize("name", shipped())
def test_tables_that_come_with_the_package(name: str) -> None:
    """Each is small, holds all of its space, and its counts are those of a Transformer layer by hand."""
    assert shipped()[name].stat().st_size < 500_000
    found = open_table(name)
    assert isinstance(found.space, Small)
    assert found.about
    width, head = 384, 32
    for architecture, body in zip(found.table.architectures, found.table.column("body_parameters"), strict=True):
        heads, units, layers = (int(architecture[n]) for n in ("heads", "units", "layers"))  # type: ignore[call-overload]
        attention = heads and 3 * heads * head * (width + 1) + heads * head * width + width + 2 * width
        feed_forward = units and units * (width + 1) + units * width + width + 2 * width
        assert body == layers * (attention + feed_forward)
    outside = found.table.column("parameters") - found.table.column("body_parameters")
    embeddings = (30522 + 512 + 2) * width + 2 * width
    labels = 1 if "stsb" in name else 2
    assert set(outside) == {embeddings + width * (width + 1) + labels * (width + 1)}
    assert np.isfinite(found.table.column("error")).all()


def test_the_errors_are_those_of_the_recipe() -> None:
    import csv

    root = Path(__file__).resolve().parents[2]
    with (root / "recipes/prune-minilm/errors.csv").open(newline="") as file:
        recorded = [row for row in csv.DictReader(file) if row["network"] == "MiniLM, SST-2"]
    found = open_table("prune-sst2")
    whole = found.table.values(found.space.largest().key)["body_parameters"]
    for row in recorded:
        architecture = found.space.make({name: int(row[name]) for name in ("heads", "units", "layers")})
        values = found.table.values(architecture.key)
        assert values["error"] == float(row["error"])
        assert values["body_parameters"] / whole == pytest.approx(float(row["share"]), abs=6e-6)
    assert len(found.table) == len(recorded)


def test_the_metadata_is_plain_json() -> None:
    from pyarrow import parquet

    said = json.loads(parquet.read_schema(shipped()["prune-mrpc"]).metadata[METADATA.encode()])
    assert said["shape"] == {"layers": 6, "heads": 12, "units": 1536}
    assert said["limits"] == {"units": ":128"}
