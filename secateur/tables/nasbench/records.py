"""TFRecord files and protocol buffers, read without TensorFlow: what NAS-Bench-101 is published in.

A record is its length (8 bytes), that length's checksum (4), the bytes, and their checksum (4), all little-endian. A
checksum is the CRC-32C, turned right by 15 bits, plus a constant.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from secateur.errors import DataError

#: Records whose checksums are computed at once.
BATCH = 4096
#: No record of the benchmark has so many bytes: a length beyond is damage.
LONGEST = 2**24
_TURN, _PLUS = np.uint32(15), np.uint32(0xA282EAD8)
_POLYNOMIAL = 0x82F63B78


def records(path: Path) -> Iterator[bytes]:
    """The records of a file. Raises DataError with the number of one that is damaged."""
    done = 0
    with path.open("rb") as file:
        while True:
            heads: list[bytes] = []
            bodies: list[bytes] = []
            sums: list[tuple[bytes, bytes]] = []
            while len(bodies) < BATCH and (head := file.read(12)):
                length = int.from_bytes(head[:8], "little")
                body = file.read(length + 4) if len(head) == 12 and length <= LONGEST else b""
                if len(body) != length + 4:
                    raise DataError(f"`{path}`, record {done + len(bodies) + 1}: the file is damaged or cut short.")
                heads.append(head[:8])
                bodies.append(body[:-4])
                sums.append((head[8:], body[-4:]))
            if not bodies:
                return
            for texts, which in ((heads, 0), (bodies, 1)):
                said = np.frombuffer(b"".join(pair[which] for pair in sums), dtype="<u4")
                bad = np.flatnonzero(said != masked_checksums(texts))
                if len(bad):
                    raise DataError(f"`{path}`, record {done + bad[0] + 1}: its checksum is wrong, the file is damaged.")
            yield from bodies
            done += len(bodies)


def masked_checksums(texts: Sequence[bytes]) -> np.ndarray:
    """The checksum (n,) of each text as TFRecord has it."""
    found = checksums(texts)
    return ((found >> _TURN) | (found << (np.uint32(32) - _TURN))) + _PLUS


def checksums(texts: Sequence[bytes]) -> np.ndarray:
    """The CRC-32C (n,) of each text: all texts at once, byte by byte."""
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(-lengths, kind="stable")  # the longest first: those still going stand together
    sizes = lengths[order]
    matrix = np.zeros((int(sizes[0]), len(texts)), dtype=np.uint8)
    for place, row in enumerate(order.tolist()):
        matrix[: sizes[place], place] = np.frombuffer(texts[row], dtype=np.uint8)
    state = np.full(len(texts), 0xFFFFFFFF, dtype=np.uint32)
    going = np.searchsorted(-sizes, -np.arange(len(matrix)), side="left")
    for column, count in zip(matrix, going.tolist(), strict=True):
        part = state[:count]
        state[:count] = _TABLE[(part ^ column[:count]) & np.uint32(0xFF)] ^ (part >> np.uint32(8))
    found = np.empty_like(state)
    found[order] = ~state
    return found


def _table() -> np.ndarray:
    found = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        found = np.where(found & 1, (found >> np.uint32(1)) ^ np.uint32(_POLYNOMIAL), found >> np.uint32(1))
    return found.astype(np.uint32)


_TABLE = _table()


def fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of a protocol buffer by number: varints as whole numbers, 64 bits as a double, 32 bits as a float, the rest as
    bytes. Raises ValueError where it is none."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        value: int | float | bytes
        if kind == 0:
            value, place = _varint(message, place)
        elif kind in (1, 5):
            size, form = (8, "<d") if kind == 1 else (4, "<f")
            (value,), place = struct.unpack(form, _taken(message, place, size)), place + size
        elif kind == 2:
            size, place = _varint(message, place)
            value, place = _taken(message, place, size), place + size
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        yield tag >> 3, value


def _taken(message: bytes, place: int, size: int) -> bytes:
    found = message[place : place + size]
    if len(found) < size:
        raise ValueError("a field that ends too early")
    return found


def _varint(message: bytes, place: int) -> tuple[int, int]:
    found = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        found |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return found, place
        shift += 7
    raise ValueError("a number that does not end")
