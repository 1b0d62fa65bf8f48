from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.decoders import Builder, Sizes
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import peak_memory
from secateur.devices.setup import Setup
from secateur.estimators.memory import MemoryEstimator
from secateur.estimators.memory_model import PredictedMemory
from secateur.rng import generator
from secateur.search.layer_sums import Around
from secateur.spaces.decoder import Decoder, architecture
from secateur.spaces.decoder_counts import parameters

pytestmark = pytest.mark.slow

SIZES: dict[str, Any] = {
    "layers": "1..5",
    "width": "16..64:16",
    "inner": "32..256:16",
    "heads": (1, 2, 4, 8),
    "embedding": (0, 8, 16),
    "factor": (1, 2),
}
BACKBONES = ["gpt2", "transformer_xl"]


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize(("batch", "length", "vocabulary", "cutoffs"), [(1, 32, 20, None), (3, 24, 90, [20, 50])])
def test_put_together_equals_the_full_pass_exactly(
    backbone: str, batch: int, length: int, vocabulary: int, cutoffs: list[int] | None
) -> None:
    build = Builder(Sizes(vocabulary=vocabulary, positions=48, cutoffs=cutoffs, recurrence=16))
    setup = Setup(batch=batch, length=length, kind="language_modelling")
    some = Decoder(backbone, **SIZES).sample_many(8, generator(1, backbone))
    predicted = PredictedMemory(build.meta, setup, checks=0)
    whole = MemoryEstimator(build.meta, setup)
    assert predicted.evaluate(some) == whole.evaluate(some)
    assert predicted.fingerprint == whole.fingerprint


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("length", [8, 40])
@pytest.mark.parametrize("kind", ["classification", "language_modelling"])
def test_meta_equals_the_cpu_and_weights_are_the_closed_form(backbone: str, length: int, kind: str) -> None:
    build = Builder(Sizes(vocabulary=50, positions=48))
    for a in Decoder(backbone, **{**SIZES, "embedding": (8, 12)}).sample_many(3, generator(2, backbone)):
        real, meta = build(a), build.meta(a)
        memory = peak_memory(real, dummy_inputs(real, 2, length, kind))
        assert peak_memory(meta, dummy_inputs(meta, 2, length, kind)) == memory
        assert memory.weights == 4 * parameters(a, Sizes(vocabulary=50, positions=48))


def test_no_cache_is_kept() -> None:
    """A layer's keys and values would stay until the end: depth would raise the peak."""
    build = Builder(Sizes(vocabulary=20, positions=32))
    shallow, deep = (build.meta(architecture("gpt2", 32, [2] * n, [64] * n)) for n in (2, 12))
    found = [peak_memory(network, dummy_inputs(network, 1, 32, "language_modelling")) for network in (shallow, deep)]
    assert found[0].activations == found[1].activations


def test_layers_are_followed_once() -> None:
    build = Builder(Sizes(vocabulary=20, positions=32))
    built: list[Architecture] = []

    def meta(a: Architecture) -> Any:
        built.append(a)
        return build.meta(a)

    predicted = PredictedMemory(meta, Setup(length=16), checks=0)
    one, two = architecture("gpt2", 32, [2, 4], [64, 128]), architecture("gpt2", 32, [4, 2, 2], [128, 64, 64])
    predicted.evaluate([one])
    before = len(built)
    predicted.evaluate([one, two])
    assert len(built) == before > 0


def test_where_parts_do_not_add_up_every_network_is_followed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder(Sizes(vocabulary=20, positions=32))
    predicted = PredictedMemory(build.meta, Setup(length=16))
    some = Decoder("gpt2", **SIZES).sample_many(3, generator(3))
    whole = MemoryEstimator(build.meta, Setup(length=16, kind="language_modelling")).evaluate(some)
    assert predicted.composed
    monkeypatch.setattr(predicted, "_compose", lambda a: whole[0].__class__({"memory": 1.0}))
    assert predicted.evaluate(some) == whole
    assert not predicted.composed


@pytest.mark.parametrize("backbone", BACKBONES)
def test_none_needs_less_than_the_smallest_of_each_width_and_embedding(backbone: str) -> None:
    space = Decoder(backbone, **SIZES)
    memory = PredictedMemory(Builder(Sizes(vocabulary=90, positions=48, cutoffs=[20, 50])).meta, Setup(length=24))

    def least(some: list[Architecture]) -> float:
        return min(found.values["memory"] for found in memory.evaluate(some))

    assert least(space.smallest_of_each()) <= least(space.sample_many(300, generator(2, backbone)))
    assert all(space.contains(found) for found in space.smallest_of_each())


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize(("length", "vocabulary"), [(32, 20), (16, 2000)])
def test_sums_over_layers_are_the_full_pass(backbone: str, length: int, vocabulary: int) -> None:
    """Where layers peak above the output (a small vocabulary) and where they do not; states that layers keep only bound it."""
    build = Builder(Sizes(vocabulary=vocabulary, positions=48))
    setup = Setup(length=length, kind="language_modelling")
    space = Decoder(backbone, **SIZES)
    sums, full = PredictedMemory(build.meta, setup), MemoryEstimator(build.meta, setup)
    for width in space.allowed.width:  # as the exact search asks, for all layers of a width at once
        kinds = np.array([(h, i) for h in space.allowed.heads_of[width] for i in space.allowed.inner_of[width]])
        sums.parts(backbone, width, kinds[:, 0], kinds[:, 1])
    for a in space.sample_many(12, generator(3, backbone)):
        heads, inner = np.array(a["heads"]), np.array(a["inner"])
        around = Around(backbone, *(a[name] for name in ("width", "embedding", "factor")), len(heads))  # type: ignore[arg-type]
        parts = sums.parts(backbone, around.width, heads, inner)
        together = np.where(sums.added, parts.sum(axis=0), parts.max(axis=0))[None]
        found, true = float(sums.quantities(around, together)["memory"][0]), full.evaluate([a])[0].values["memory"]
        assert found == true if backbone == "gpt2" or vocabulary == 2000 else true <= found <= 1.2 * true
        assert sums.evaluate([a]) == full.evaluate([a])
