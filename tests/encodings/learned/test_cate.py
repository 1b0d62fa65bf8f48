"""CATE: what it sees and does not see, what it learns of a toy space, and that an interruption changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.cate import MASKED, Cate, Graphs, inner
from secateur.encodings.learned.cate_settings import CateSettings
from secateur.encodings.learned.cells import Cells
from secateur.encodings.sequence import SequenceEncoding
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.cells.structures import orders_of
from secateur.spaces.decoder import Decoder

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
GRAPHS = GraphEncoding(SPACE)
EVERY = list(SPACE.every())
COSTS = SPACE.costs(EVERY)
assert COSTS is not None
CELLS = Cells(GRAPHS.encode(EVERY), COSTS[:, 0])
SMALL = CateSettings(width=16, heads=2, inner=16, layers=2, cross_layers=2, batch=32, epochs=3, learning_rate=5e-3)
KINDS = [SMALL, replace(SMALL, bidirectional=True), replace(SMALL, dependencies="direct")]
NAMES = ["one way", "both ways", "direct"]


def graphs_of(model: Cate, vectors: np.ndarray) -> Graphs:
    edges, operations = model.shape.matrices(vectors)
    read = model._read(torch.from_numpy(edges), torch.from_numpy(operations))
    return Graphs(read.tokens.long(), read.seen)


def test_like_costs_tell_of_operations(tmp_path: Path) -> None:
    """Of two that cost the same, what is seen of one tells what is missing in the other."""
    settings = replace(SMALL, epochs=40, delta=1.0, pairs=8, batch=64, learning_rate=3e-3, corruption=0.1)
    model = Cate(GRAPHS.shape, settings)
    losses = model.train(CELLS, tmp_path / "state", "")
    assert losses[-1] < 0.8 * losses[0]
    figures = model.figures(CELLS, CELLS, SPACE)
    assert figures["commonest"] < 0.6
    assert figures["named"] > figures["commonest"] + 0.08
    found = model.embed(CELLS.vectors)
    assert found.shape == (64, 16)
    assert found.min() >= -1e-6
    assert found.max() <= 1 + 1e-6
    assert len(np.unique(found.round(6), axis=0)) > 60  # some are isomorphic as graphs


@pytest.mark.parametrize("settings", KINDS, ids=NAMES)
def test_the_order_of_nodes_does_not_matter(settings: CateSettings) -> None:
    encoding = GraphEncoding(NasBench101(nodes="2..5"))
    vectors = encoding.encode(list(encoding.space.every())[::60])
    edges, operations = encoding.shape.matrices(vectors)
    whole = operations.sum(axis=(1, 2)) == 5
    assert whole.any()
    model = Cate(encoding.shape, settings)
    expected = model.embed(vectors[whole])
    assert expected.shape[1] == (32 if settings.bidirectional else 16)
    for order in orders_of(5)[1:]:
        if order[0] == 0 and order[-1] == 4:
            turned = [edges[whole][:, order][:, :, order], operations[whole][:, order]]
            flat = np.concatenate([part.reshape(len(part), -1) for part in turned], axis=1)
            assert np.abs(model.embed(flat) - expected).max() < 1e-5


@pytest.mark.parametrize("settings", KINDS, ids=NAMES)
def test_absent_nodes_count_for_nothing(settings: CateSettings) -> None:
    """The same cells among those of up to 4 and of up to 6 nodes: the same embeddings, and the same guesses."""
    small, large = (GraphEncoding(NasBench101(nodes=f"2..{most}")) for most in (4, 6))
    cells = list(small.space.every())[::7]
    assert small.operations == large.operations
    models = [Cate(encoding.shape, settings) for encoding in (small, large)]
    models[1].network.load_state_dict(models[0].network.state_dict())
    found = [model.embed(encoding.encode(cells)) for model, encoding in zip(models, (small, large), strict=True)]
    assert np.abs(found[0] - found[1]).max() < 1e-5
    guesses = []
    for model, encoding in zip(models, (small, large), strict=True):
        graphs = graphs_of(model, encoding.encode(cells))
        two = torch.stack([torch.arange(len(cells)), torch.arange(len(cells)).flip(0)], dim=1)
        pairs = graphs.of(two)
        with torch.no_grad():
            logits = model.network.predicted(pairs.tokens, pairs.seen)
        guesses.append(logits[pairs.tokens != model.network.absent].numpy())
    assert np.abs(guesses[0] - guesses[1]).max() < 1e-4


def test_the_embedding_is_of_all_nodes_that_lead_to_the_output() -> None:
    """By paths each operation has an effect in one layer; by edges only those next to the output have."""
    encoding = GraphEncoding(NasBench101(nodes="4", edges="3..3"))
    straight = next(a for a in encoding.space.every() if encoding.shape.matrices(encoding.encode([a]))[0][0, 1, 2])
    vector = encoding.encode([straight])
    changed = vector.copy()
    operations = encoding.shape.matrices(changed)[1]
    place = int(operations[0, 1].argmax())
    operations[0, 1] = 0
    operations[0, 1, place + 1 if place == 1 else place - 1] = 1
    effects = []
    for dependencies in ("indirect", "direct"):
        model = Cate(encoding.shape, replace(SMALL, layers=1, dependencies=dependencies))
        effects.append(np.abs(model.embed(vector) - model.embed(changed)).max())
    assert effects[0] > 1e-4
    assert effects[1] == 0


def test_what_is_masked() -> None:
    """Of five operations one each, of two one, never input or output; four fifths become the mask, the rest something known."""
    encoding = GraphEncoding(NasBench101())
    model = Cate(encoding.shape, SMALL)
    cells = NasBench101().sample_many(4000, generator(0))
    graphs = graphs_of(model, encoding.encode(cells))
    between = inner(graphs.tokens, model.network.absent)
    lengths = (graphs.tokens != model.network.absent).sum(dim=1)
    assert torch.equal(between.sum(dim=1), lengths - 2)
    chosen = model._chosen(graphs.tokens, torch.Generator().manual_seed(0))
    assert not (chosen & ~between).any()
    assert torch.equal(chosen.sum(dim=1), torch.ones(4000, dtype=torch.long))
    more = Cate(encoding.shape, replace(SMALL, corruption=0.6))._chosen(graphs.tokens, torch.Generator().manual_seed(0))
    assert torch.equal(more.sum(dim=1), (0.6 * (lengths - 2)).round().long().clamp(min=1))
    known = model._inside(graphs.tokens)
    assert sorted(encoding.names[i] for i in known.tolist()) == ["conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3"]
    told: list[torch.Tensor] = []
    network: Any = model.network
    network.predicted = lambda tokens, seen: told.append(tokens) or torch.zeros(*tokens.shape, encoding.operations)
    two = graphs.of(torch.arange(4000).reshape(2000, 2))
    _, wanted = model._guessed(two, known, torch.Generator().manual_seed(0))
    hidden = (wanted >= 0).reshape(two.tokens.shape)
    assert torch.equal(wanted.reshape(two.tokens.shape)[hidden], two.tokens[hidden])
    assert torch.equal(told[0][~hidden], two.tokens[~hidden])
    assert abs((told[0][hidden] == model.network.masked).float().mean().item() - MASKED) < 0.03
    assert set(told[0][hidden].unique().tolist()) == {model.network.masked, *known.tolist()}


def test_only_normalisations_are_not_decayed() -> None:
    model = Cate(GRAPHS.shape, SMALL)
    decayed, kept = model._optimiser().param_groups
    assert [decayed["weight_decay"], kept["weight_decay"]] == [0.01, 0.0]
    norms = [module for module in model.network.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert {id(p) for p in kept["params"]} == {id(p) for norm in norms for p in norm.parameters()}
    assert len(decayed["params"]) + len(kept["params"]) == len(list(model.network.parameters()))


def test_rows_of_choices_are_known_by_their_places() -> None:
    """Two decoders whose layers stand in another order are two."""
    space = Decoder(layers="2..3", width="64", inner="128..256:64", heads=(2, 4), embedding=(0,), factor=(1,))
    encoding = SequenceEncoding(space)
    made = [{"backbone": "gpt2", "width": 64, "heads": h, "inner": [128, 128]} for h in ([2, 4], [4, 2])]
    two = [space.make({**choices, "embedding": 0, "factor": 1}) for choices in made]
    found = Cate(encoding.shape, SMALL).embed(encoding.encode(two))
    assert np.abs(found[0] - found[1]).max() > 1e-4


def test_costs_are_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`cate` pairs architectures of like cost, and this space cannot say"):
        Cate(GRAPHS.shape, SMALL).train(Cells(CELLS.vectors), tmp_path / "state", "")


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    """No two of like cost, or nothing between the first and the last node; equal costs are alike whatever their size."""
    costs = np.arange(64) * 1e6
    with pytest.raises(ConfigurationError, match="no two architectures that cost about the same"):
        Cate(GRAPHS.shape, replace(SMALL, delta=1.0)).train(Cells(CELLS.vectors, costs), tmp_path / "state", "")
    empty = NasBench101(nodes="2..3")
    encoding, cells = GraphEncoding(empty), [a for a in empty.every() if len(a["ops"]) == 2]  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="no architecture has a node between the first and the last"):
        Cate(encoding.shape, SMALL).train(Cells(encoding.encode(cells * 4), np.zeros(4)), tmp_path / "state", "")
    model = Cate(GRAPHS.shape, replace(SMALL, epochs=1))
    model.train(Cells(CELLS.vectors, np.full(64, 1e9)), tmp_path / "equal", "")
    assert model.figures(CELLS, Cells(CELLS.vectors[:1], np.zeros(1)), SPACE) == {}, "one by itself makes no pair"


def test_too_few_pairs(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`batch` is 1024, and there are only 124 pairs to train on"):
        Cate(GRAPHS.shape, replace(SMALL, batch=1024)).train(CELLS, tmp_path / "state", "")


def test_heads_share_the_width() -> None:
    with pytest.raises(ConfigurationError, match="`width` must be a multiple of `heads`, got 10 and 4"):
        CateSettings(width=10, heads=4).check()
