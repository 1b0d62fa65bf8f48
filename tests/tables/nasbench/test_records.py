"""TFRecord and protocol buffers against a checksum bit by bit, and NAS-Bench-101 in its official layout."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from secateur.errors import DataError
from secateur.rng import generator
from secateur.spaces.cells import NasBench101
from secateur.tables.nasbench.records import checksums, fields, records
from secateur.tables.opening import open_table

SPACE = NasBench101()


def bitwise(text: bytes) -> int:
    """CRC-32C by its definition."""
    state = 0xFFFFFFFF
    for byte in text:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def framed(text: bytes) -> bytes:
    def masked(part: bytes) -> bytes:
        found = bitwise(part)
        return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(text))
    return length + masked(length) + text + masked(text)


def varint(number: int) -> bytes:
    found = b""
    while number >= 0x80:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])


def field(number: int, value: Any) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def training(architecture: Any, epochs: int, last: float, changes: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    """A record; its final accuracies are `last`, + 0.1 and + 0.2 for training, validation and test."""
    evaluations = []
    for share, value in ((0.0, 0.1), (0.5, 0.2), (1.0, last)):
        numbers = (epochs * share, 10.0 * epochs * share, value, value + 0.1, value + 0.2)
        evaluations.append(b"".join(field(i, v) for i, v in enumerate(numbers, 1)) + field(6, b"somewhere"))
    message = b"".join(field(1, e) for e in evaluations) + field(2, 1_234_567) + field(3, 99.0)
    graph = SPACE.graphs(architecture)["cell"]
    n = len(graph.operations)
    matrix = "".join(str(int((x, y) in graph.edges)) for x in range(n) for y in range(n))
    said: dict[str, Any] = {"key": architecture.key, "epochs": epochs, "matrix": matrix, "ops": ",".join(graph.operations)}
    said["metrics"] = base64.b64encode(message).decode()
    return json.dumps(list({**said, **changes}.values())).encode()


def test_checksums() -> None:
    assert checksums([b"123456789"]).tolist() == [0xE3069283]  # the value that the algorithm's catalogues give
    rng = generator(0)
    texts = [rng.bytes(int(n)) for n in (5, 0, 300, 17, 17, 1)]
    assert checksums(texts).tolist() == [bitwise(text) for text in texts]


def test_fields() -> None:
    message = field(1, b"\x08\x96\x01") + field(2, 1.5) + field(30, 2**40) + varint(4 << 3 | 5) + struct.pack("<f", 0.25)
    assert list(fields(message)) == [(1, b"\x08\x96\x01"), (2, 1.5), (30, 2**40), (4, 0.25)]
    assert list(fields(b"\x08\x96\x01")) == [(1, 150)]
    for wrong in (message[:-1], field(1, b"abc")[:-1], b"\x08\xff", b"\x0b"):
        with pytest.raises(ValueError, match=r"field|number"):
            list(fields(wrong))


def test_the_full_benchmark(tmp_path: Path) -> None:
    """Two cells with three trainings of each length."""
    cells = SPACE.sample_many(2, generator(0))
    lengths, seeds = (4, 12, 36, 108), range(3)
    found = [training(cells[c], e, 0.01 * e / 108 + 0.1 * c + 0.01 * s) for c in (0, 1) for e in lengths for s in seeds]
    (tmp_path / "nasbench_full.tfrecord").write_bytes(b"".join(map(framed, found)))
    table = open_table(str(tmp_path / "nasbench_full.tfrecord"))
    assert (table.name, len(table.table), table.table.budgets.tolist()) == ("nb101", 6, [4, 12, 36, 108])
    assert list(map(str, table.reported)) == ["validation@108", "test@108"]
    keys = [a.key for a in cells]
    expected = 100 * (0.01 * 36 / 108 + np.array([0.0, 0.1]))
    np.testing.assert_allclose(table.table.query(keys, "train", 36, seed=0), expected)
    np.testing.assert_allclose(table.table.query(keys, "validation", 36, seed=2), expected + 12)
    np.testing.assert_allclose(table.table.query(keys, "test", 36), expected + 21)  # the mean over the seeds
    np.testing.assert_array_equal(table.table.query(keys, "parameters", 4), [1_234_567] * 2)
    assert table.table.seconds_to(keys[0], 12) == 120


def test_only_108_epochs_and_a_missing_training(tmp_path: Path) -> None:
    cell = SPACE.largest()
    (tmp_path / "one.tfrecord").write_bytes(framed(training(cell, 108, 0.5)))
    assert open_table(str(tmp_path / "one.tfrecord")).table.budgets.tolist() == [108]
    more = [training(cell, 4, 0.3), training(cell, 108, 0.5), training(cell, 108, 0.6)]
    (tmp_path / "gap.tfrecord").write_bytes(b"".join(map(framed, more)))
    table = open_table(str(tmp_path / "gap.tfrecord")).table
    assert np.isnan(table.query([cell.key], "train", 4, seed=1)).all()
    np.testing.assert_allclose(table.query([cell.key], "train", 108), [55])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": "0" * 32}, f"cell 1: its key is `{'0' * 32}`, but the hash of its cell is `"),
        ({"metrics": base64.b64encode(field(2, 5)).decode()}, "record 1: .*0 evaluations, not 3"),
        ({"metrics": "AAA"}, "record 1: .*not base64"),
        ({"metrics": "/////w=="}, "record 1: .*a number that does not end"),
        ({"matrix": "01"}, "cell 1: .*rows and columns"),
        ({"ops": "input,pool,output"}, "cell 1: the cell is not one of `nasbench101`"),
        ({"epochs": "4"}, "record 1: .*epochs a whole number"),
        ({"more": 1}, "record 1: it is not a training of NAS-Bench-101"),
    ],
)
def test_a_record_of_something_else(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    (tmp_path / "bad.tfrecord").write_bytes(framed(training(SPACE.largest(), 4, 0.5, changes)))
    with pytest.raises(DataError, match=said):
        open_table(str(tmp_path / "bad.tfrecord"))


def test_damage_is_found(tmp_path: Path) -> None:
    whole = framed(b"first") + framed(b"second")
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(whole)
    assert list(records(path)) == [b"first", b"second"]
    for place in range(len(whole)):  # any byte
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataError, match=r"record [12]: "):
            list(records(path))
    path.write_bytes(whole[:-3])
    with pytest.raises(DataError, match="record 2: the file is damaged or cut short"):
        list(records(path))
    path.write_bytes(b"")
    with pytest.raises(DataError, match="has no records"):
        open_table(str(path))
