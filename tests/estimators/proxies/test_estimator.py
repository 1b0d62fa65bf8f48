"""A proxy as an estimator."""

from __future__ import annotations

import pytest
import torch

from secateur.decoders import Sizes, architecture_of, build
from secateur.errors import UnknownNameError
from secateur.estimators.proxies import ProxyEstimator, score


def builder(architecture):
    return build(architecture, Sizes(vocabulary=23, positions=12))


@pytest.fixture
def shapes(make):
    return [architecture_of(make("gpt2", layers=layers).config) for layers in (1, 2)]


def test_one_value_for_each_architecture(shapes, text):
    estimator = ProxyEstimator(builder, text, "snip")
    found = estimator.evaluate(shapes)
    assert estimator.yields == ("snip",)
    assert estimator.cost == 1
    assert [dict(e.values) for e in found] == [{"snip": score("snip", builder(a), text)} for a in shapes]


def test_a_failure_has_its_reason(shapes, text):
    def broken(architecture):
        network = builder(architecture)
        if architecture == shapes[0]:
            network.transformer.h[0].mlp.c_fc.weight.data.fill_(float("inf"))
        return network

    first, second = ProxyEstimator(broken, text, "snip").evaluate(shapes)
    assert first.failure == "the weights of `transformer.h.0.mlp.c_fc.weight` hold values that are not finite."
    assert not first.values
    assert second.failure is None


def test_the_fingerprint_holds_what_scores_depend_on(text):
    other = {**text, "labels": text["labels"].roll(1)}
    made = [
        ProxyEstimator(builder, text, "snip"),
        ProxyEstimator(builder, text, "grasp"),
        ProxyEstimator(builder, other, "snip"),
        ProxyEstimator(builder, [text, other], "snip"),
        ProxyEstimator(builder, None, "l2_norm"),
        ProxyEstimator(builder, text, "snip", seed=1),
        ProxyEstimator(builder, text, "snip", identity="another vocabulary"),
        ProxyEstimator(builder, text, "snip", double=True),
        ProxyEstimator(builder, text, "snip", loss=torch.nn.functional.cross_entropy),
    ]
    assert len({estimator.fingerprint for estimator in made}) == len(made)
    copied = {name: value.clone() for name, value in text.items()}
    assert ProxyEstimator(builder, copied, "snip").fingerprint == made[0].fingerprint


def test_unknown_names_fail_at_once(text):
    with pytest.raises(UnknownNameError, match="unknown proxy `snap`"):
        ProxyEstimator(builder, text, "snap")
