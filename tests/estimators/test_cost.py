"""Counted costs against the extracted networks' own."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from secateur.errors import ConfigurationError
from secateur.estimators.cost import Cost
from secateur.rng import generator
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toys import SPACES


def trainable(module):
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


@pytest.mark.parametrize("space", SPACES)
def test_counts_are_those_of_the_extracted_network(space):
    """Of every family, the contract of anatomies says so."""
    supernet = Supernet(toy_model("bert", attention="eager"))
    searched = SPACES[space](supernet.shape)
    architectures = [searched.smallest(), searched.largest(), *searched.sample_many(4, generator(0))]
    tokens = torch.ones(2, 9, dtype=torch.long)
    for architecture, found in zip(
        architectures, Cost(supernet, searched, batch=2, length=9).evaluate(architectures), strict=True
    ):
        network = supernet.extract(searched.plan(architecture)).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            network(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        layers = network.base_model.get_submodule(supernet.anatomy.layers)
        assert found.values["parameters"] == trainable(network)
        assert found.values["body_parameters"] == trainable(layers)
        assert found.values["macs"] == counter.get_total_flops() // 2
        assert found.failure is None


@pytest.mark.parametrize(("family", "longest"), [("bert", 64), ("roberta", 63)])
def test_more_tokens_than_the_model_has_places_for(family, longest):
    supernet = Supernet(toy_model(family))
    space = Small(supernet.shape)
    assert Cost(supernet, space, length=longest).evaluate([space.largest()])[0].values["macs"] > 0
    with pytest.raises(ConfigurationError, match=f"at most {longest} for this model, got {longest + 1}"):
        Cost(supernet, space, length=longest + 1).evaluate([space.largest()])


def test_the_fingerprint_says_what_is_counted():
    """Two networks with as many layers, heads and units are not one: width, vocabulary, labels and frozen weights count."""

    def fingerprint(batch=1, length=16, frozen=False, **settings):
        supernet = Supernet(toy_model("bert", **settings))
        if frozen:
            supernet.layers[0].output.dense.weight.requires_grad_(False)
        return Cost(supernet, Small(supernet.shape), batch=batch, length=length).fingerprint

    assert fingerprint() == fingerprint(seed=1)  # other weights, same counts
    others = [
        fingerprint(batch=2),
        fingerprint(length=17),
        fingerprint(hidden_size=32),
        fingerprint(vocab_size=60),
        fingerprint(num_labels=5),
        fingerprint(layers=2),
        fingerprint(frozen=True),
    ]
    assert len({fingerprint(), *others}) == 8
