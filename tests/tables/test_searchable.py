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
from secateur.tables.opening import open_table, shipped
from secateur.tables.parquet import METADATA, write_parquet
from secateur.tables.searchable import write_searchable
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


@pytest.mark.parametrize("name", [name for name in shipped() if name.startswith("prune-")])
def test_pruning_tables_that_come_with_the_package(name: str) -> None:
    """Each is small, holds all of its space or 2,000 networks, and its counts are those of Transformer layers by hand."""
    assert shipped()[name].stat().st_size < 500_000
    found = open_table(name)
    medium = "medium" in name
    assert (found.space.name, len(found.table) == 2000) == ("medium" if medium else "small", medium)
    assert found.about
    width, head = 384, 32

    def layer(heads: int, units: int) -> int:
        attention = heads and 3 * heads * head * (width + 1) + heads * head * width + width + 2 * width
        return attention + (units and units * (width + 1) + units * width + width + 2 * width)

    for architecture, body in zip(found.table.architectures, found.table.column("body_parameters"), strict=True):
        chosen: Any = dict(architecture.choices)
        layers = zip(chosen["heads"], chosen["units"], strict=True) if medium else [(chosen["heads"], chosen["units"])]
        assert body == sum(layer(*one) for one in layers) * (1 if medium else chosen["layers"])
    outside = found.table.column("parameters") - found.table.column("body_parameters")
    embeddings = (30522 + 512 + 2) * width + 2 * width
    labels = 1 if "stsb" in name else 2
    assert set(outside) == {embeddings + width * (width + 1) + labels * (width + 1)}
    assert np.isfinite(found.table.column("error")).all()
    assert (found.table.column("latency") > 0).all()


def test_the_decoders_that_come_with_the_package_are_those_of_the_recipe() -> None:
    from secateur.tables import read_trained

    found = open_table("design-wikitext2")
    trained = read_trained(Path(__file__).resolve().parents[2] / "recipes/design/benchmark.parquet").only("random").averaged()
    assert (found.space.name, found.space.size(), found.table.keys) == ("decoder", 150, trained.keys)
    for name in ("perplexity", "parameters", "latency", "memory"):
        assert found.table.column(name) == pytest.approx(trained.column(name))
    proxies = {"synflow", "snip", "grad_norm", "jacob_cov", "naswot"} & set(found.table.names)
    assert {"synflow", "snip"} <= proxies
    assert all(len(set(found.table.column(name))) > 140 for name in proxies)


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


def test_a_table_with_budgets(tmp_path: Path) -> None:
    """Curves over budgets, times, seeds: written from rows, read, and written again from the table, it tells the same."""
    from secateur.spaces.cells import NasBench201

    space = NasBench201(merged=False)
    curves = [
        {"budgets": [1.0, 3.0, 9.0], "accuracy": [10.0 + i, 20.0, 30.0], "seconds": [1.0, 4.0, 9.0 + i]} for i in range(4)
    ]
    drawn = space.sample_many(2, generator(0))
    made = [{"architecture": drawn[i // 2], "seed": i % 2, "size": 7, "last": 5, **c} for i, c in enumerate(curves)]
    said = {"space": "nasbench201", "options": {"merged": False}, "objectives": ["accuracy"], "maximise": ["accuracy"]}
    said |= {"budget": 3, "final": ["last"], "reported": [{"metric": "accuracy", "budget": 9}, {"metric": "size"}]}
    write_searchable(tmp_path / "one.parquet", made, said)
    first = open_table(str(tmp_path / "one.parquet"))
    write_searchable(tmp_path / "two.parquet", first.table, said)
    again = open_table(str(tmp_path / "two.parquet"))
    assert first.table.fingerprint == again.table.fingerprint
    for found in (first, again):
        assert (found.budget, list(map(str, found.reported))) == (3, ["accuracy@9", "size"])
        keys = [a.key for a in drawn]
        np.testing.assert_array_equal(found.table.query(keys, "accuracy", 1), [10.5, 12.5])  # means over two seeds
        np.testing.assert_array_equal(found.table.query(keys, "accuracy", 1, seed=1), [11, 13])
        np.testing.assert_array_equal(found.table.query([keys[0], "none"], "accuracy", 1, seed=2), [np.nan, np.nan])
        np.testing.assert_array_equal(found.table.query(keys, "size", 1), [7, 7])
        np.testing.assert_array_equal(found.table.query(keys, "last", 1), [np.nan, np.nan])
        np.testing.assert_array_equal(found.table.query(keys, "last", 9), [5, 5])
        assert [found.table.seconds_to(key, 9) for key in keys] == [9.5, 11.5]
    with pytest.raises(DataError, match=r"has no column `loss`\. Its columns: size, last, accuracy\."):
        first.table.query([], "loss")
    with pytest.raises(DataError, match=r"has no budget 5\. Its budgets: 1, 3, 9\."):
        first.table.query([], "accuracy", 5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": 5}, "has no budget 5"),
        ({"reported": [{"metric": "error", "budget": 5}]}, "has no budget 5"),
        ({"reported": [{"metric": "loss"}]}, "no column `loss`"),
        ({"maximise": ["loss"]}, "no column `loss`"),
        ({"reported": ["error"]}, "does not describe a space"),
        ({"budget": "many"}, "does not describe a space"),
        ({"options": {"size": 3}}, "does not describe a space"),
    ],
)
def test_metadata_that_the_table_does_not_fit(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    write_searchable(tmp_path / "wrong.parquet", rows(), {**SAID, **changes})
    with pytest.raises(DataError, match=said):
        open_table(str(tmp_path / "wrong.parquet"))


@pytest.mark.parametrize("checked", [False, True])
def test_a_key_that_contradicts_its_architecture(tmp_path: Path, checked: bool) -> None:
    """Also where the file says that its architectures were checked: that was before one changed."""
    import pyarrow
    from pyarrow import parquet

    made = rows()
    write_parquet(tmp_path / "good.parquet", made, SAID, checked=checked)
    assert len(open_table(str(tmp_path / "good.parquet")).table) == len(made)
    table = parquet.read_table(tmp_path / "good.parquet")
    key = made[2]["architecture"].key
    texts = [text.replace(key, "0" * 16) for text in table["architecture"].to_pylist()]
    parquet.write_table(table.set_column(0, "architecture", pyarrow.array(texts)), tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=f"row 3: its key is `{'0' * 16}`, but the hash of its architecture is `{key}`"):
        open_table(str(tmp_path / "bad.parquet"))


def test_a_row_for_every_architecture_needs_none_spelt(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    made, said = rows(), {**SAID, "every": True, "budget": None}
    names = [name for name in made[0] if name != "architecture"]
    columns: dict[str, Any] = {name: [row[name] for row in made] for name in names}
    columns |= {"budgets": [[1.0, 2.0]] * len(made), "loss": [[3.0, float(i)] for i in range(len(made))]}
    metadata = {METADATA: json.dumps(said)}
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(metadata), tmp_path / "every.parquet")
    found = open_table(str(tmp_path / "every.parquet"))
    assert isinstance(found.space, Small)
    assert list(found.table.architectures) == [row["architecture"] for row in made]
    last = made[-1]["architecture"].key
    assert found.table.values(last, 2) == {**{n: made[-1][n] for n in names}, "loss": len(made) - 1}
    write_searchable(tmp_path / "again.parquet", found.table, said)
    assert "architecture" not in parquet.read_schema(tmp_path / "again.parquet").names
    assert open_table(str(tmp_path / "again.parquet")).table.fingerprint == found.table.fingerprint
    for wrong in ({n: v[1:] for n, v in columns.items()}, {**columns, "error": ["?"] * len(made)}):
        parquet.write_table(pyarrow.table(wrong).replace_schema_metadata(metadata), tmp_path / "wrong.parquet")
        with pytest.raises(DataError, match=r"wrong\.parquet`.* must have"):
            open_table(str(tmp_path / "wrong.parquet"))
    (tmp_path / "none.parquet").write_bytes(b"PAR0")
    with pytest.raises(DataError, match="is not a Parquet file"):
        open_table(str(tmp_path / "none.parquet"))
