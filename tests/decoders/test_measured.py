"""What networks that are measured beside each other have in common, and a Transformer-XL with its memory full."""

from __future__ import annotations

import pytest
import torch

from secateur.decoders import Builder, Sizes, build
from secateur.devices.inputs import dummy_inputs
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.memory import MemoryEstimator
from secateur.spaces.decoder import architecture


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
@pytest.mark.parametrize(("embedding", "factor"), [(0, 1), (8, 1), (8, 2)])
def test_networks_to_measure_give_log_probabilities_whatever_the_embedding(backbone: str, embedding: int, factor: int) -> None:
    sizes = Sizes(vocabulary=30, positions=16, cutoffs=[10, 20])
    found = architecture(backbone, 16, [2, 2], [32, 32], embedding, factor)
    ids = torch.arange(8)[None]
    with torch.no_grad():
        measured = Builder(sizes)(found)(input_ids=ids).logits
        assert torch.allclose(measured.exp().sum(-1), torch.ones(1, 8), atol=1e-5)
        trained = build(found, sizes, seed=0).eval()
        plain = trained(input_ids=ids).logits
        trained.normalises = True
        assert torch.allclose(trained(input_ids=ids).logits, plain.log_softmax(-1), atol=1e-5)


def test_a_full_memory_is_measured_with_its_states() -> None:
    sizes = Sizes(vocabulary=30, positions=16, recurrence=6)
    found = architecture("transformer_xl", 16, [2, 2], [32, 32])
    setups = [Setup(length=8, kind="language_modelling", remembered=n, seconds=0.05) for n in (0, 6)]
    first, later = (MemoryEstimator(Builder(sizes).meta, s).evaluate([found])[0].values["memory"] for s in setups)
    assert later >= first + 2 * 6 * 16 * 4, "the states of two layers are held while the network runs"
    network = Builder(sizes)(found)
    inputs = dummy_inputs(network, 1, 8, "language_modelling", 6)
    assert [tuple(states.shape) for states in inputs["mems"]] == [(1, 6, 16)] * 2
    assert network(**inputs).logits.shape == (1, 8, 30)
    assert LatencyEstimator(Builder(sizes), setups[1]).evaluate([found])[0].values["latency"] > 0
    with pytest.raises(MeasurementError, match="no memory of earlier text"):
        dummy_inputs(Builder(sizes)(architecture("gpt2", 16, [2], [32])), 1, 8, "language_modelling", 6)
    with pytest.raises(ConfigurationError, match="`remembered` is for the runtime torch"):
        Setup(runtime="onnx", remembered=4).check()
