"""Every estimator, under one contract. A new one is a function in the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from secateur.architecture import Architecture
from secateur.decoders import Builder, Sizes
from secateur.devices.setup import Setup
from secateur.estimators.cost import Cost, DecoderCost
from secateur.estimators.decoder_latency import DecoderParts
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_model import FitReport, LatencyModel, PredictedLatency
from secateur.estimators.layer_zoo.error import LayerZooError
from secateur.estimators.layer_zoo.features import drawn_batches
from secateur.estimators.layer_zoo.zoo import LayerZoo
from secateur.estimators.memory import MemoryEstimator
from secateur.estimators.memory_model import PredictedMemory
from secateur.estimators.proxies import ProxyEstimator
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.rng import generator
from secateur.spaces.decoder import Decoder, architecture
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.estimators import EstimatorContract, Make
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data

DECODERS = Decoder(layers="1..3", width="16..32:16", inner="32..64:16", heads=(1, 2), embedding=(0, 8), factor=(1,))
SETUP = Setup(length=16)


def cost() -> tuple[Make, Any]:
    supernet = Supernet(toy_model("bert"))
    space = Small(supernet.shape)
    return lambda: Cost(supernet, space, length=16), space.sample_many(4, generator(0))


def shared_weights() -> tuple[Make, Any]:
    supernet, data = Supernet(toy_model("bert")), toy_task_data(examples=6)
    space = Small(supernet.shape)
    return lambda: SharedWeightsError(supernet, space, data), space.sample_many(4, generator(0))


def layer_zoo(folder: Path) -> tuple[Make, Any]:
    supernet, data = Supernet(toy_model("bert")), toy_task_data(examples=12)
    space, batches = Small(supernet.shape), drawn_batches(data, 2, 0)
    return lambda: LayerZooError(LayerZoo(supernet, batches, folder), space, data), space.sample_many(4, generator(0))


def decoders(make: Make) -> tuple[Make, Any]:
    return make, DECODERS.sample_many(4, generator(0))


def predicted_latency() -> tuple[Make, Any]:
    names = ("layer", "width", "width_squared", "heads", "inner", "width_inner", "outside 0/1", "outside_width 0/1")
    facts = {"device": "cpu", "threads": 1, "batch": 1, "length": 16, "runtime": "torch", "version": "torch 1"}
    model = LatencyModel(
        DecoderParts(DECODERS), dict.fromkeys(names, 1e-6), ((0, 1),), **facts, report=FitReport(2, 1, 0.0, 0.0, 0.0)
    )
    some = [architecture("gpt2", 16, [1] * n, [32] * n) for n in (1, 2)]
    return lambda: PredictedLatency(model), [some[0], architecture("gpt2", 16, [1], [32], 8, 1), some[1]]


def proxy() -> tuple[Make, Any]:
    batch = {"input_ids": torch.arange(8)[None], "labels": torch.arange(8)[None]}
    return decoders(lambda: ProxyEstimator(Builder(Sizes(vocabulary=20, positions=16)), batch, "synflow"))


ESTIMATORS: dict[str, Callable[[], tuple[Make, Any]]] = {
    "cost": cost,
    "decoder cost": lambda: decoders(lambda: DecoderCost(Sizes(vocabulary=50), length=16)),
    "shared weights": shared_weights,
    "predicted latency": predicted_latency,
    "predicted memory": lambda: decoders(lambda: PredictedMemory(Builder(Sizes(vocabulary=20, positions=16)).meta, SETUP)),
    "proxy": proxy,
}


class TestContract(EstimatorContract):
    @pytest.fixture(params=[*ESTIMATORS, "layer zoo", "latency", "memory"])
    def given(self, request: pytest.FixtureRequest, toy: Any, bert: Any, measuring: Any, tmp_path: Path) -> tuple[Make, Any]:
        if request.param in ESTIMATORS:
            return ESTIMATORS[request.param]()
        if request.param == "layer zoo":
            return layer_zoo(tmp_path)
        measuring(lambda network: 0.001 * network.config.num_hidden_layers)
        kind = LatencyEstimator if request.param == "latency" else MemoryEstimator
        return lambda: kind(bert, SETUP), [toy(1), toy(0), toy(2)]

    @pytest.fixture
    def make(self, given: tuple[Make, Any]) -> Make:
        return given[0]

    @pytest.fixture
    def architectures(self, given: tuple[Make, Any]) -> Sequence[Architecture]:
        return given[1]
