"""Every encoding of every kind of space."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from secateur import catalogue
from secateur.encodings import Encoding, UnitCube
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.cells import CateOutside, Darts, NasBench101, NasBench201
from secateur.spaces.decoder import Decoder
from secateur.spaces.pool import Pool
from secateur.testing.toys import SPACES, toy

MIDDLE = Decoder(layers="1..4", width="32..96:32", inner="64..256:64", heads=(2, 4), embedding=(0, 32, 64), factor=(1, 2))
PLAIN = {**{name: toy(name).space for name in SPACES}, "decoder": MIDDLE}
CELLS: dict[str, Space] = {
    "nasbench101": NasBench101(),
    "nasbench101-small": NasBench101(nodes="2..4", edges="1..4"),
    "nasbench201": NasBench201(),
    "nasbench201-small": NasBench201(merged=False, operations=["none", "nor_conv_3x3"]),
    "darts": Darts(),
    "darts-shared": Darts(shared=True, nodes=3),
    "darts-small": Darts(nodes=1),
    "cate-outside": CateOutside(),
}
ALL = {**PLAIN, **CELLS}
NAMES = catalogue.names("encoding")
SERVED = [
    pytest.param(space, catalogue.find("encoding", name), id=f"{kind}/{name}")
    for kind, space in ALL.items()
    for name in NAMES
    if catalogue.find("encoding", name).refuses(space) is None
]


@pytest.fixture(params=ALL.values(), ids=ALL)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


def test_all_serve_cells_and_one_serves_everything() -> None:
    for space in ALL.values():
        assert UnitCube.refuses(space) is None
    refused = {(kind, name) for kind in CELLS for name in NAMES if catalogue.find("encoding", name).refuses(CELLS[kind])}
    assert refused == {("darts", "path"), ("darts", "path-continuous")}


@pytest.mark.parametrize(("space", "kind"), SERVED)
def test_a_row_each_in_order(space: Space, kind: type[Encoding]) -> None:
    encoding = kind(space)
    some = space.sample_many(20, generator(0))
    found = encoding.encode(some)
    assert found.shape == (20, encoding.dimensions)
    assert found.dtype == np.float64
    assert np.array_equal(found[::-1], encoding.encode(some[::-1]))
    assert np.array_equal(found, np.concatenate([encoding.encode([a]) for a in some]))
    assert encoding.encode([]).shape == (0, encoding.dimensions)


@pytest.mark.parametrize(("space", "kind"), SERVED)
def test_values_lie_in_the_unit_cube_and_pools_are_seen_through(space: Space, kind: type[Encoding]) -> None:
    some = space.sample_many(20, generator(2))
    found = kind(space).encode(some)
    assert found.min() >= 0
    assert found.max() <= 1
    assert np.array_equal(kind(Pool(Pool(space, some), some)).encode(some), found)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "vector"])
@pytest.mark.parametrize("space", PLAIN.values(), ids=PLAIN)
def test_spaces_without_cells_are_refused(space: Space, name: str) -> None:
    kind = catalogue.find("encoding", name)
    told = f"the encoding `{name}` is of cells, and the space `{space.name}` has none. Use `vector`"
    more = ", with a predictor that learns from it (`dngo`, `mlp`; the searchers `bo-dngo`, `bananas`)" * (name == "graph")
    for refused in (space, Pool(space, [space.smallest()])):
        assert kind.refuses(refused) == f"{told}{more}."
        with pytest.raises(ConfigurationError, match="is of cells"):
            kind(refused)


def test_the_unit_cube_is_the_spaces_own(space: Space) -> None:
    encoding = UnitCube(space)
    some = space.sample_many(20, generator(1))
    assert np.array_equal(encoding.encode(some), space.encode_many(some))
    assert encoding.dimensions == space.dimensions


def test_the_page_tells_names_and_sizes() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "encoding.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| (\d+) \| (\d+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert sorted(name for name, *_ in rows) == sorted(NAMES)
    for name, *told in rows:
        kind = catalogue.find("encoding", name)
        for space, size in zip((CELLS[n] for n in ("nasbench101", "nasbench201", "darts")), told, strict=True):
            if size.startswith("refused"):
                assert f" {size.split()[1]} dimensions" in kind.refuses(space)
            else:
                assert kind(space).dimensions == int(size)


@pytest.mark.parametrize("name", NAMES)
def test_all_cells_of_nasbench201_take_a_moment(name: str) -> None:
    space = NasBench201(merged=False)
    cells = list(space.every())
    encoding = catalogue.find("encoding", name)(space)
    began = time.thread_time()
    assert encoding.encode(cells).shape == (15_625, encoding.dimensions)
    assert time.thread_time() - began < 1.5
