"""Super-networks of cells and what is cut out of them, against formulas by hand and the masked whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from secateur.architecture import Architecture
from secateur.cells import deriving
from secateur.cells.files import CELLS, DRAWING, WEIGHTS, load_network, save_network
from secateur.cells.network import CellNetwork, Sizes
from secateur.cells.operations import Halving, operation
from secateur.cells.supernet import SINGLE, CellSupernet
from secateur.errors import ConfigurationError, ModelError
from secateur.rng import generator
from secateur.spaces.cells import Darts
from secateur.spaces.cells.darts_cells import OPERATIONS
from secateur.spaces.cells.weighted import Edge, edges_of, random_like, weighted

SIZES = Sizes(cells=3, channels=2, colours=1, classes=3)
IMAGES = torch.randn(5, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def masked(seed: int = 0, nodes: int = 2, **given: Any) -> CellSupernet:
    """A super-network whose masks are random: about a third of everything is masked."""
    found = CellSupernet(SIZES, nodes, seed=seed, **given)
    found(IMAGES)  # statistics that are not those of the beginning
    found.add_masks(0.01, 0.005)
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for scores in [*found.operation_scores.values(), *found.edge_scores.values(), *found.masks()]:
            scores.copy_(torch.rand(scores.shape, generator=drawn) * 0.015)
        for parameter in found.architecture_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=drawn))
    return found.eval()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("side", "stride", "left"), [(8, 1, 8), (8, 2, 4), (7, 2, 4), (5, 1, 5)])
def test_every_operation_keeps_channels_and_halves_sizes(name: str, side: int, stride: int, left: int) -> None:
    assert operation(name, 4, stride)(torch.randn(2, 4, side, side)).shape == (2, 4, left, left)


def test_weights_of_operations_are_those_of_darts() -> None:
    counts = {name: sum(p.numel() for p in operation(name, 16, 1).parameters()) for name in OPERATIONS}
    assert counts["sep_conv_3x3"] == 2 * (9 * 16 + 256)
    assert counts["dil_conv_5x5"] == 25 * 16 + 256
    assert counts["max_pool_3x3"] == counts["avg_pool_3x3"] == counts["skip_connect"] == 0
    with pytest.raises(ValueError, match="there is no operation `conv_9x9`"):
        operation("conv_9x9", 4, 1)


def test_a_separable_convolution_by_hand() -> None:
    module: Any = operation("dil_conv_3x3", 4, 2).eval()
    states = torch.randn(2, 4, 8, 8)
    by_hand = F.conv2d(F.relu(states), module[1].weight, stride=2, padding=2, dilation=2, groups=4)
    by_hand = F.conv2d(by_hand, module[2].weight) / (1 + 1e-5) ** 0.5
    assert torch.allclose(module(states), by_hand, atol=1e-6)


def test_halving_sees_both_halves_of_the_pixels() -> None:
    module = Halving(1, 2).eval()
    states = torch.rand(1, 1, 4, 4)
    found = module(states) * (1 + 1e-5) ** 0.5
    assert torch.allclose(found[0, 0], states[0, 0, ::2, ::2] * module.even.weight.item(), atol=1e-6)
    assert torch.allclose(found[0, 1], states[0, 0, 1::2, 1::2] * module.odd.weight.item(), atol=1e-6)


def test_mixing_is_two_softmaxes() -> None:
    supernet = CellSupernet(SIZES, nodes=2)
    with torch.no_grad():
        supernet.alphas["normal"].copy_(torch.arange(35.0).reshape(5, 7).sin())
        supernet.betas["normal"].copy_(torch.tensor([1.0, 2.0, 0.0, -1.0, 3.0]))
    found = supernet.mixing()["normal"]
    alphas, betas = supernet.alphas["normal"].exp(), torch.tensor([1.0, 2.0, 0.0, -1.0, 3.0]).exp()
    assert torch.allclose(found[1], betas[1] / betas[:2].sum() * alphas[1] / alphas[1].sum())
    assert torch.allclose(found[4], betas[4] / betas[2:].sum() * alphas[4] / alphas[4].sum())
    single = CellSupernet(SIZES, nodes=2, encoding=SINGLE)
    assert not single.betas
    assert torch.allclose(single.mixing()["normal"].sum(dim=1), torch.ones(5))


def test_the_same_seed_makes_the_same_network() -> None:
    one, other, third = (CellSupernet(SIZES, nodes=1, seed=seed).eval()(IMAGES) for seed in (1, 1, 2))
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


@pytest.mark.parametrize(("nodes", "seed"), [(1, 0), (1, 1), (1, 4), (3, 0), (3, 1), (3, 2), (3, 3)])
def test_what_is_cut_out_computes_the_same(nodes: int, seed: int) -> None:
    supernet = masked(seed, nodes)
    network = deriving.extract(supernet, deriving.by_masks(supernet)).eval()
    with torch.no_grad():
        assert torch.allclose(network(IMAGES), supernet(IMAGES), atol=1e-5)
    assert network.count()[0] < network.count()[1] < supernet.stack.count()[1]
    by_hand = sum(int((p != 0).sum()) for name, p in network.named_parameters() if "stem.1.bias" not in name)  # still zero
    assert network.count()[0] == by_hand + 6
    # While it is trained, too: with the statistics of the batch.
    assert torch.allclose(network.train()(IMAGES), supernet.train()(IMAGES), atol=1e-5)


def test_a_node_without_an_input_is_gone() -> None:
    supernet = masked(nodes=3, seed=1)
    with torch.no_grad():
        for role in ("normal", "reduction"):
            supernet.edge_scores[role].fill_(0.01)
            supernet.operation_scores[role].fill_(0.01)
            supernet.operation_scores[role][2:5] = 0  # all into the second node
    architecture = deriving.by_masks(supernet)
    for edges in edges_of(architecture).values():
        assert {edge.target for edge in edges} == {2, 4}
        assert 3 not in {edge.source for edge in edges}
    network = deriving.extract(supernet, architecture).eval()
    assert network.stack.cells[0].outputs == 2 * SIZES.channels
    with torch.no_grad():
        assert torch.allclose(network(IMAGES), supernet(IMAGES), atol=1e-5)


def test_the_whole_as_an_architecture() -> None:
    supernet = CellSupernet(SIZES, nodes=2, seed=3).eval()
    network = deriving.extract(supernet, deriving.whole(supernet)).eval()
    with torch.no_grad():
        assert torch.allclose(network(IMAGES), supernet(IMAGES), atol=1e-5)
    assert network.count() == supernet.stack.count()


def test_masks_pass_gradients_straight_through() -> None:
    supernet = masked()
    edges, operations = supernet.shares("normal")
    found = supernet.mixing()["normal"]
    by = torch.arange(found.numel(), dtype=torch.float32).reshape(found.shape)
    on_edges, on_operations = supernet.on("normal")
    (gradient,) = torch.autograd.grad((found * by).sum(), [supernet.operation_scores["normal"]])
    assert torch.allclose(gradient, by * (edges * on_edges)[:, None] * operations)
    (gradient,) = torch.autograd.grad((supernet.mixing()["normal"] * by).sum(), [supernet.edge_scores["normal"]])
    carried = torch.tensor([1.0 if (source < 2 or on_edges[:2].any()) else 0.0 for source, _ in supernet.places])
    assert torch.allclose(gradient, (by * operations * on_operations).sum(dim=1) * edges * carried)


def test_masks_that_begin_below_their_threshold() -> None:
    with pytest.raises(ConfigurationError, match=r"masks begin at 0.01: `threshold` must be below that, got 0.02"):
        CellSupernet(SIZES, nodes=1).add_masks(0.01, 0.02)


def test_masks_that_leave_nothing() -> None:
    supernet = masked(nodes=1)
    with torch.no_grad():
        supernet.edge_scores["reduction"].zero_()
    with pytest.raises(ConfigurationError, match=r"the masks took too much: the reduction cell .* Give a lower `mask_rate`"):
        deriving.by_masks(supernet)


def test_the_top_two_by_hand() -> None:
    supernet = CellSupernet(SIZES, nodes=2)
    with torch.no_grad():
        for role in ("normal", "reduction"):
            supernet.alphas[role].zero_()
            supernet.betas[role].copy_(torch.tensor([0.0, 0.0, 2.0, 0.0, 1.0]))
            for place, which in enumerate((0, 1, 2, 3, 4)):
                supernet.alphas[role][place, which] = 1.0
    architecture = deriving.by_top_two(supernet)
    expected = (("max_pool_3x3", 0), ("avg_pool_3x3", 1), ("skip_connect", 0), ("sep_conv_5x5", 2))
    assert architecture["normal"] == architecture["reduction"] == expected
    assert Darts(nodes=2).contains(architecture)
    network = deriving.extract(supernet, architecture)
    source: Any = supernet.stack.cells[1].operations["2-3"]["sep_conv_5x5"][1]
    target: Any = network.stack.cells[1].operations["2-3"]["sep_conv_5x5"][1]
    assert torch.equal(source.weight, target.weight)
    assert network(IMAGES).shape == (5, 3)


def test_a_network_of_darts_counts_as_by_hand() -> None:
    cell = (("sep_conv_3x3", 0), ("skip_connect", 1))
    network = CellNetwork(Darts(nodes=1).make({"normal": cell, "reduction": cell}), SIZES)
    separable = [2 * (9 * c + c * c) for c in (2, 4, 8)]
    before = [6 * 2 + 6 * 2, 6 * 4 + 2 * 4, 2 * 8 + 4 * 8]
    halving = [0, 4 * 4, 8 * 8]  # skip connections of reductions
    assert network.count() == ((sum(separable) + sum(before) + sum(halving) + 6 * 9 + 12 + 8 * 3 + 3,) * 2)


@pytest.mark.parametrize("rule", ["masks", "top-2"])
def test_a_saved_network_reloads_bit_by_bit(rule: str, tmp_path: Path) -> None:
    supernet = masked(nodes=2)
    architecture = deriving.by_masks(supernet) if rule == "masks" else deriving.by_top_two(supernet)
    network = deriving.extract(supernet, architecture).eval()
    save_network(network, tmp_path / "net", metric=0.5)
    again = load_network(tmp_path / "net")
    assert torch.equal(again(IMAGES), network(IMAGES))
    assert again.count() == network.count()
    assert again.architecture == network.architecture
    assert json.loads((tmp_path / "net" / CELLS).read_text())["metric"] == 0.5
    assert (tmp_path / "net" / DRAWING).read_text().startswith("<svg")


def test_damaged_folders(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no network of cells"):
        load_network(tmp_path)
    (tmp_path / CELLS).write_text("[]")
    with pytest.raises(ModelError, match="it is no object"):
        load_network(tmp_path)
    (tmp_path / CELLS).write_text("{}")
    with pytest.raises(ModelError, match="is damaged"):
        load_network(tmp_path)
    supernet = masked()
    save_network(deriving.extract(supernet, deriving.by_masks(supernet)), tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"no weights")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_network(tmp_path)


def test_random_cells_have_as_many_operations() -> None:
    found = deriving.by_masks(masked(nodes=3, seed=2))
    other = random_like(found, generator(0))
    assert other.key != found.key
    for mine, theirs in zip(edges_of(found).values(), edges_of(other).values(), strict=True):
        assert sum(len(e.operations) for e in mine) == sum(len(e.operations) for e in theirs)
        assert {e.target for e in theirs} == {2, 3, 4}
    assert CellNetwork(other, SIZES)(IMAGES).shape == (5, 3)


def test_architectures_come_back_from_json() -> None:
    found = deriving.by_masks(masked(nodes=2))
    again = Architecture.from_json(found.to_json())
    assert again == found
    assert weighted(edges_of(again)).key == found.key


GOOD = [Edge(0, 2, 1.0, (("skip_connect", 1.0),))]


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([], "no edge with an operation is left"),
        ([*GOOD, *GOOD], "an edge is there twice"),
        ([Edge(0, 9, 1.0, (("skip_connect", 1.0),))], "got 0 to 9"),
        ([Edge(0, 2, 1.0, (("conv", 1.0),))], "unknown operation `conv`"),
        ([Edge(0, 2, 1.0, (("skip_connect", 1.0), ("skip_connect", 1.0)))], "an operation is twice on the edge from 0 to 2"),
        ([Edge(0, 2, float("nan"), (("skip_connect", 1.0),))], "weights must be finite numbers"),
    ],
)
def test_cells_that_cannot_be(edges: list[Edge], said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the normal cell cannot be built: .*{said}"):
        weighted({"normal": edges, "reduction": GOOD})


def test_architectures_of_other_spaces() -> None:
    with pytest.raises(ConfigurationError, match="`decoder` has no cells of DARTS"):
        edges_of(Architecture("decoder", (), "x"))
