"""NAS-Bench-201 and NATS-Bench in their official layouts, made here, and pickles that would do more than hold values."""

from __future__ import annotations

import bz2
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secateur.errors import DataError
from secateur.spaces.cells import NasBench201
from secateur.tables.opening import open_table
from secateur.tables.searchable import SearchTable

CELLS = ["|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|skip_connect~2|", "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"]
PARTS = {
    "cifar10-valid": ("x-valid", "ori-test"),
    "cifar10": ("ori-test",),
    "cifar100": ("x-valid", "x-test", "ori-test"),
    "ImageNet16-120": ("x-valid", "x-test", "ori-test"),
}


def trained(data: str, seed: int, epochs: int, base: float) -> dict[str, Any]:
    """A training's state: accuracies rise by 1 with each epoch, from `base`, + 10 for each further part, training + 100."""
    parts = {part: base + 10 * place for place, part in enumerate(PARTS[data])}
    at = [(part, epoch) for part in parts for epoch in range(epochs)]
    return {
        "name": "infer.tiny",
        "net_state_dict": None,
        "train_acc1es": OrderedDict((e, 100 + base + e) for e in range(epochs)),
        "train_acc5es": None,
        "train_losses": OrderedDict((e, 1.0) for e in range(epochs)),
        "train_times": OrderedDict((e, 2.0) for e in range(epochs)),
        "arch_config": {"channel": 16, "num_cells": 5, "class_num": 10},
        "params": 0.073306,
        "flop": np.float64(7.78),
        "seed": seed,
        "epochs": epochs,
        "latency": [0.01, 0.03] if epochs == 200 else None,
        "eval_names": list(parts),
        "eval_acc1es": {f"{part}@{e}": parts[part] + e for part, e in at},
        "eval_times": {f"{part}@{e}": 0.5 for part, e in at},
        "eval_losses": {f"{part}@{e}": 1.0 for part, e in at},
    }


def results(number: int, epochs: int, seeds: tuple[int, ...]) -> dict[str, Any]:
    every = {(d, s): trained(d, s, epochs, number + 0.01 * s) for d in PARTS for s in seeds}
    seen = {data: list(seeds) for data in PARTS}
    said = {"arch_index": number, "arch_str": CELLS[number], "dataset_seed": seen, "clear_net_done": True}
    return {**said, "all_results": every}


def whole(short: str, long: str) -> dict[str, Any]:
    infos = {n: {short: results(n, 12, (777,)), long: results(n, 200, (777, 888))} for n in range(len(CELLS))}
    return {"meta_archs": CELLS, "total_archs": 2, "arch2infos": infos, "evaluated_indexes": {0, 1}}


def compressed(path: Path, value: Any) -> Path:
    with bz2.open(path, "wb") as file:
        pickle.dump(value, file, protocol=4)
    return path


def check(found: SearchTable) -> None:
    keys = [NasBench201(merged=False).make({"cell": cell}).key for cell in CELLS]
    base = np.array([0, 1])
    assert (found.name, found.budget) == ("nb201", 12)
    table = found.table
    np.testing.assert_allclose(table.query(keys, "cifar10_validation", 12), base + 7.77 + 11)
    both = base + 0.01 * (777 + 888) / 2 + 199  # the mean over the seeds, after the last epoch
    np.testing.assert_allclose(table.query(keys, "cifar10_validation", 200), both)
    np.testing.assert_allclose(table.query(keys, "cifar10_half_test"), both + 10)
    np.testing.assert_allclose(table.query(keys, "cifar10_test"), both)
    np.testing.assert_allclose(table.query(keys, "cifar10_train"), both + 100)
    np.testing.assert_allclose(table.query(keys, "imagenet16_test"), both + 10)
    np.testing.assert_allclose(table.query(keys, "parameters", 12), [73306] * 2)
    np.testing.assert_allclose(table.query(keys, "flops"), [7.78e6] * 2)
    np.testing.assert_allclose(table.query(keys, "latency"), [0.02] * 2)
    assert table.seconds_to(keys[0], 12) == 12 * 2 + 0.5


def test_the_file_of_201(tmp_path: Path) -> None:
    torch.save(whole("less", "full"), tmp_path / "NAS-Bench-201-v1_1-096897.pth")
    check(open_table(str(tmp_path / "NAS-Bench-201-v1_1-096897.pth")))


def test_the_file_and_the_folder_of_nats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(open_table(str(compressed(tmp_path / "NATS-tss-v1_0-3ffb9.pickle.pbz2", whole("12", "200")))))
    folder = tmp_path / "tables" / "NATS-tss-v1_0-3ffb9-simple"
    folder.mkdir(parents=True)
    compressed(folder / "meta.pickle.pbz2", {"meta_archs": [*CELLS, "not evaluated"], "total_archs": 3})
    for number, part in whole("12", "200")["arch2infos"].items():
        compressed(folder / f"{number:06d}.pickle.pbz2", part)
    check(open_table(str(folder)))
    monkeypatch.setenv("SECATEUR_TABLES", str(folder.parent))
    check(open_table("nb201"))


class Evil:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.file}",)


@pytest.mark.parametrize("name", ["evil.pth", "evil.pickle.pbz2"])
def test_nothing_is_run(tmp_path: Path, name: str) -> None:
    value = {**whole("12", "200"), "more": Evil(tmp_path / "made")}
    if name.endswith(".pth"):
        torch.save(value, tmp_path / name)
    else:
        compressed(tmp_path / name, value)
    with pytest.raises(DataError, match=rf"{name}` cannot be read: .*(system|more than plain values)"):
        open_table(str(tmp_path / name))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"meta_archs": CELLS}, "cell 0: it is not laid out as NAS-Bench-201: 'arch2infos'"),
        ([1, 2], "cell 0: it is not laid out"),
        ({"meta_archs": CELLS, "arch2infos": {}}, "has no results"),
        ({"meta_archs": CELLS, "arch2infos": {0: {"12": {"all_results": {("cifar10-valid", 7): {}}}}}}, "cell 1: .*'epochs'"),
        (
            {"meta_archs": ["|x|"], "arch2infos": {0: {"12": results(0, 2, (7,))}}},
            "cell 1: the cell is not one of `nasbench201`",
        ),
        ({"meta_archs": np.array(["a"])}, r"cannot be read: it asks for numpy\S*_reconstruct, and only plain values are read"),
        ({"meta_archs": np.str_("a")}, "cannot be read: it holds a NumPy value of the type 'U1', not a number"),
    ],
)
def test_files_laid_out_otherwise(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        open_table(str(compressed(tmp_path / "other.pickle.pbz2", value)))


@pytest.mark.parametrize("data", [b"not this", b"junk", b"0.", b"\x8e" + b"\xff" * 8, b"B\xff\xff\xff\xff", b""])
def test_torn_files(tmp_path: Path, data: bytes) -> None:
    """A pickle that is damaged raises nearly anything."""
    (tmp_path / "torn.pth").write_bytes(data)
    (tmp_path / "torn.pickle.pbz2").write_bytes(data)
    (tmp_path / "inside.pickle.pbz2").write_bytes(bz2.compress(data))
    for name in ("torn.pth", "torn.pickle.pbz2", "inside.pickle.pbz2"):
        with pytest.raises(DataError, match=r"cannot be read: .*\w"):
            open_table(str(tmp_path / name))
