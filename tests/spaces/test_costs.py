"""What spaces say their architectures cost."""

from __future__ import annotations

import numpy as np

from secateur.rng import generator
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Medium, Shape


def test_cells_of_benchmarks_cost_their_parameters() -> None:
    for space in (NasBench101(), NasBench201()):
        cells = space.sample_many(20, generator(0))
        found = space.costs(cells)
        assert found is not None
        assert found[:, 0].tolist() == [space.parameters(cell) for cell in cells]
        assert np.array_equal(Pool(space, cells).costs(cells), found)  # type: ignore[arg-type]


def test_cells_of_darts_cost_their_multiply_adds() -> None:
    """By hand: sep_conv_3x3 is twice 9 · 16 + 16², dil_conv_5x5 once 25 · 16 + 16²; skips and pools are free."""
    normal = [["sep_conv_3x3", 0], ["skip_connect", 1], ["dil_conv_5x5", 0], ["max_pool_3x3", 2]]
    free = [["skip_connect", 0], ["avg_pool_3x3", 1]] * 2
    space = Darts(nodes=2)
    cell = space.make({"normal": normal, "reduction": free})
    assert space.costs([cell]).tolist() == [[2 * (9 * 16 + 256) + 25 * 16 + 256, 0]]
    shared = Darts(shared=True, nodes=2)
    assert shared.costs([shared.make({"normal": normal, "reduction": normal})]).tolist() == [[1456]]


def test_sub_networks_cost_their_share() -> None:
    space = Medium(Shape(2, 4, 10))
    made = [space.make({"heads": h, "units": u}) for h, u in (([4, 4], [10, 10]), ([0, 0], [0, 0]), ([2, 0], [5, 10]))]
    assert np.allclose(space.costs(made)[:, 0], [1, 0, (0.5 + 2 * 1.5) / 6])


def test_decoders_cost_their_parameters() -> None:
    space = Decoder()
    drawn = space.sample_many(5, generator(0))
    assert space.costs(drawn)[:, 0].tolist() == [decoder_parameters(a) for a in drawn]
