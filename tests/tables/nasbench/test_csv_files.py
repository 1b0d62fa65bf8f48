"""NAS-Bench-101 and 201 as CSV: told by their header, read, refused, imported."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secateur
from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.pool import Pool
from secateur.tables.nasbench.csv_files import COLUMNS_101, CURVES_201
from secateur.tables.opening import open_table
from secateur.tables.searchable import Reported

REAL = Path(__file__).resolve().parents[4] / "shared/data/nasbench"
CELLS = ["|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|skip_connect~2|", "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"]
#: Cells by hand: input, a 1×1 convolution, output; and input, output. The hashes are the benchmark's.
ONE: dict[str, Any] = {"adj": "010001000", "ops": "-1,1,-2", "key": "d1269d9156ddc027c40473008192958a"}


def row_201(number: int, cell: str) -> dict[str, Any]:
    accuracies = {column: 10 * number + place for place, column in enumerate(CURVES_201)}
    return {"index": number, "arch": cell, "unique_string": "", "params_M": 0.073306 + number, **accuracies}


def row_101(**changes: Any) -> dict[str, Any]:
    accuracies = {f"{epochs}_final_validation_accuracy": epochs / 200 for epochs in (4, 12, 36, 108)}
    return {**accuracies, "final_training_time": 1080.0, "trainable_parameters": 2_000_000, **ONE, **changes}


def written(path: Path, *rows: Mapping[str, Any]) -> str:
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SECATEUR_TABLES", str(tmp_path / "tables"))
    return tmp_path / "tables"


def test_nasbench201(tmp_path: Path) -> None:
    found = open_table(written(tmp_path / "any.csv.gz", *(row_201(i, cell) for i, cell in enumerate(CELLS))))
    assert (found.name, found.objectives, found.budget) == ("nb201", ("cifar10_validation",), 12)
    assert list(map(str, found.reported)) == ["cifar10_validation@200", "cifar10_test@200"]
    assert found.objective("cifar10_test").direction == "max"
    assert found.objective("parameters").direction == "min"
    space = NasBench201(merged=False)
    first, second = (space.make({"cell": cell}).key for cell in CELLS)
    at = {column: 10 + place for place, column in enumerate(CURVES_201)}
    keys = [second, first, "no such key"]
    np.testing.assert_array_equal(found.table.query(keys, "cifar10_validation", 12), [at["c10_val_12"], 0, np.nan])
    np.testing.assert_array_equal(found.table.query([second], "cifar10_test"), [at["c10_test_200"]])
    np.testing.assert_array_equal(found.table.query([second], "cifar10_half_test"), [at["c10valid_test_200"]])
    assert np.isnan(found.table.query([second], "cifar100_validation", 200)).all()
    np.testing.assert_array_equal(found.table.query([first, second], "parameters", 12), [73306, 1073306])


def test_nasbench101(tmp_path: Path) -> None:
    found = open_table(written(tmp_path / "any.csv", row_101()))
    assert isinstance(found.space, Pool)
    assert found.space.size() == 1
    assert (found.name, found.budget, found.reported) == ("nb101", None, (Reported("validation", 108),))
    assert found.table.keys == (ONE["key"],)
    budgets, values = found.table.curve(ONE["key"], "validation")
    np.testing.assert_allclose(values, budgets / 2)  # percent
    assert found.table.seconds_to(ONE["key"], 12) == pytest.approx(120)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": "f" * 32}, f"row 2: its key is `{'f' * 32}`, but the hash of its cell is `{ONE['key']}`"),
        ({"ops": "-1,7,-2"}, "row 2: the cell is not one of `nasbench101`: node 1 has the unknown operation `7`"),
        ({"adj": "000001000"}, "row 2: .*no path leads from its input to its output"),
        ({"adj": "01000100"}, "row 2: .*must have 3 rows and columns"),
        ({"adj": "01000200x"}, "row 2: .*nothing but 0 and 1"),
        ({"36_final_validation_accuracy": "good"}, "row 2: `36_final_validation_accuracy` must be a number, got `good`"),
    ],
)
def test_a_row_that_cannot_be(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        open_table(written(tmp_path / "nb.csv", row_101(), row_101(**changes)))


def test_a_cell_of_201_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1: the cell is not one of `nasbench201`: unknown operation `dense`"):
        open_table(written(tmp_path / "nb.csv", row_201(0, CELLS[0].replace("skip_connect", "dense"))))


def test_other_files(tmp_path: Path) -> None:
    for name, content in (("other.csv", b"a,b\n1,2\n"), ("none.csv", b""), ("what.bin", b"\0\1")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"`.*{name}` is not in a known format. Known: Parquet; "):
            open_table(str(tmp_path / name))
    with pytest.raises(DataError, match="does not exist"):
        open_table(str(tmp_path / "missing.csv"))
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(b"key,adj,ops" * 9)[:-9])
    with pytest.raises(DataError, match=r"torn\.csv\.gz` cannot be read"):
        open_table(str(tmp_path / "torn.csv.gz"))
    with (tmp_path / "empty.csv").open("w") as file:
        file.write(",".join(COLUMNS_101) + "\n")
    with pytest.raises(DataError, match="has no rows"):
        open_table(str(tmp_path / "empty.csv"))


def test_import_and_open_by_name(tmp_path: Path, folder: Path) -> None:
    file = written(tmp_path / "any.csv", *(row_201(i, cell) for i, cell in enumerate(CELLS)))
    with pytest.raises(UnknownNameError, match="secateur bench import FILE"):
        open_table("nb201")
    for name in (None, "mine"):
        imported = secateur.bench_import(file, name=name)
        assert "in the place of the one imported before" not in str(imported)
        assert str(secateur.bench_import(file, name=name)).endswith("in the place of the one imported before")
        assert imported.file == folder / f"{name or 'nb201'}.parquet"
        assert f"--table {name or 'nb201'}" in str(imported)
        assert imported.as_dict()["rows"] == 2
        direct, again = open_table(file), open_table(name or "nb201")
        assert again.table.fingerprint == direct.table.fingerprint
        told = [(t.objectives, t.maximise, t.budget, t.reported, t.about) for t in (direct, again)]
        assert told[0] == told[1]
        assert again.table.query([direct.table.keys[0]], "parameters", 12) == [73306]  # they hold at every budget
    with pytest.raises(DataError, match=r"mine\.parquet` needs no import: a Parquet file is searched as it is, with --table"):
        secateur.bench_import(folder / "mine.parquet")
    for wrong in ("prune-sst2", "a/b", "a.b", ""):
        with pytest.raises(ConfigurationError, match="`name` must be new"):
            secateur.bench_import(file, name=wrong)


def test_a_file_in_the_folder_is_found_by_name(folder: Path) -> None:
    folder.mkdir()
    written(folder / "whatever.csv", row_101())
    assert open_table("nb101").table.keys == (ONE["key"],)


def test_a_folder_that_takes_no_files(tmp_path: Path, folder: Path) -> None:
    folder.write_text("a file in its place")
    with pytest.raises(DataError, match="cannot be written"):
        secateur.bench_import(written(tmp_path / "nb.csv", row_101()))


@pytest.mark.skipif(not REAL.is_dir(), reason="the published tables are not here")
def test_the_published_file_of_201() -> None:
    """Counts and bests that the benchmark's authors give: 15,625 cells, the best test accuracy on CIFAR-10 is 94.37."""
    found = open_table(str(REAL / "nb201_15625.csv.gz"))
    assert isinstance(found.space, NasBench201)
    assert len(found.table) == 15_625
    assert found.table.column("cifar10_test").max() == pytest.approx(94.37, abs=0.005)
    space = found.space
    counted = [space.parameters(a) for a in found.table.architectures[:200]]
    np.testing.assert_array_equal(found.table.column("parameters")[:200], counted)


def test_the_hash_of_the_cell_by_hand() -> None:
    """As the benchmark's own library writes it, node by node: degrees and label, then so many rounds over the neighbours."""
    from hashlib import md5

    def hashed(text: str) -> str:
        return md5(text.encode()).hexdigest()

    nodes = [hashed(str(t)) for t in ((1, 0, -1), (1, 1, 1), (0, 1, -2))]
    for _ in range(3):
        first, middle, last = nodes
        nodes = [hashed(f"|{middle}|{first}"), hashed(f"{first}|{last}|{middle}"), hashed(f"{middle}||{last}")]
    assert hashed(str(sorted(nodes))) == ONE["key"]
    made = NasBench101().make({"matrix": [[0, 1, 0], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv1x1-bn-relu", "output"]})
    assert made.key == ONE["key"]
