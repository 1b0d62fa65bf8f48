from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from secateur.anatomy.inputs import no_cache
from secateur.decoders import Builder, Sizes, build
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import LiveStorages, peak_memory, weight_bytes
from secateur.spaces.decoder import architecture

FLOAT = 4


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 32, bias=False), nn.ReLU(), nn.Linear(32, 16, bias=False), nn.ReLU(), nn.Linear(16, 4, bias=False)
    )


def test_the_peak_of_a_chain_is_its_largest_neighbouring_pair() -> None:
    """Batch 10: the first ReLU has its input and output alive, 2 × 10 × 32; no other moment has more."""
    memory = peak_memory(network(), {"input": torch.zeros(10, 8)})
    assert memory.weights == (8 * 32 + 32 * 16 + 16 * 4) * FLOAT
    assert memory.activations == 2 * 10 * 32 * FLOAT
    assert memory.peak == memory.weights + memory.activations


def test_in_place_operations_and_views_cost_nothing() -> None:
    chain = nn.Sequential(nn.Linear(8, 32, bias=False), nn.ReLU(inplace=True), nn.Unflatten(1, (4, 8)), nn.Flatten())
    assert peak_memory(chain, {"input": torch.zeros(10, 8)}).activations == 10 * 32 * FLOAT


def test_what_is_kept_alive_counts_longer() -> None:
    class Residual(nn.Module):
        def forward(self, input: Tensor) -> Tensor:  # noqa: A002
            kept = input + 1
            return (kept * 2).exp() + kept

    # At the sum: kept, the exponential, and the sum itself; the doubled one is freed once its exponential exists.
    assert peak_memory(Residual(), {"input": torch.zeros(100)}).activations == 3 * 100 * FLOAT


def test_neither_inputs_nor_their_views_count() -> None:
    assert peak_memory(nn.Flatten(), {"input": torch.zeros(10, 8, 2)}).activations == 0


def test_shared_weights_count_once_and_buffers_count() -> None:
    tied = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False))
    tied[1].weight = tied[0].weight
    assert weight_bytes(tied) == 64 * FLOAT
    tied.register_buffer("table", torch.zeros(10, dtype=torch.float64))
    assert weight_bytes(tied) == 64 * FLOAT + 80


def test_the_meta_device_gives_the_same_without_computing() -> None:
    real = peak_memory(network(), {"input": torch.zeros(10, 8)})
    assert peak_memory(network().to("meta"), {"input": torch.zeros(10, 8, device="meta")}) == real


def test_repeating_gives_the_same() -> None:
    model, inputs = network(), {"input": torch.zeros(10, 8)}
    assert len({peak_memory(model, inputs) for _ in range(3)}) == 1


def test_freed_storages_are_forgotten() -> None:
    with LiveStorages() as live:
        for _ in range(5):
            torch.zeros(100)
        assert live.now == 0
        kept = torch.zeros(10)
        assert live.now == 10 * FLOAT
        del kept
    assert live.now == 0
    assert live.peak == 100 * FLOAT


def test_modes_are_put_back_even_after_an_error() -> None:
    model = network()
    model.train()
    model[1].eval()
    peak_memory(model, {"input": torch.zeros(10, 8)})
    with pytest.raises(RuntimeError):
        peak_memory(model, {"input": torch.zeros(10, 9)})
    assert model.training
    assert not model[1].training
    assert model[0].training


def test_no_gradient_is_kept() -> None:
    """With gradients, the chain would keep every layer's output: more than two at once."""
    deep = nn.Sequential(*[nn.Tanh() for _ in range(10)])
    assert peak_memory(deep, {"input": torch.zeros(100, requires_grad=True)}).activations == 2 * 100 * FLOAT


def chain(width: int, batch: int) -> tuple[nn.Module, dict[str, Tensor]]:
    first, second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
    model = nn.Sequential(first, nn.GELU(), second, nn.LayerNorm(width), nn.Linear(width, width))
    return model, {"input": torch.rand(batch, width)}


def decoder(backbone: str, width: int, layers: int) -> tuple[nn.Module, dict[str, Tensor]]:
    made = architecture(backbone, width, [4] * layers, [4 * width] * layers, width // 2, 1)
    network = build(made, Sizes(vocabulary=20_000, positions=256))
    return network, dummy_inputs(network, 1, 256)


CASES = {
    "chain": (chain, (64, 8), (1024, 4096)),
    "gpt2": (decoder, ("gpt2", 64, 1), ("gpt2", 512, 4)),
    "transformer_xl": (decoder, ("transformer_xl", 64, 1), ("transformer_xl", 512, 4)),
}


def growth(make: Any, small: Any, large: Any) -> dict[str, int]:
    """By how much the resident memory grows, and the peak that is computed, of one pass in this process."""

    def resident(name: str) -> int:
        return int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0]) * 1024

    def run(model: nn.Module, inputs: dict[str, Tensor]) -> None:
        with torch.no_grad():
            model(**inputs, **no_cache(model))

    run(*make(*small))  # loads the libraries and their buffers
    gc.collect()
    before = resident("VmRSS")
    model, inputs = make(*large)
    given = sum(tensor.untyped_storage().nbytes() for tensor in inputs.values())
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    run(model, inputs)
    return {"grown": resident("VmHWM") - before - given, "computed": peak_memory(model, inputs).peak}


@pytest.fixture(scope="module")
def grown() -> dict[str, dict[str, int]]:
    """In a process of its own: what earlier tests left free would be used again here and not grow."""
    # Large blocks come from and go back to the kernel at once, so that the resident memory is what is alive.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's /proc/self/clear_refs")
@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_the_growth_of_the_resident_memory(grown: dict[str, dict[str, int]], name: str) -> None:
    """About 20 MB of weights and 67 MB of activations, or 60 and 20."""
    assert grown[name]["computed"] > 60e6
    assert grown[name]["grown"] == pytest.approx(grown[name]["computed"], rel=0.06)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_reports_its_allocators_peak() -> None:
    wide = nn.Sequential(nn.Linear(512, 2048, bias=False), nn.ReLU(), nn.Linear(2048, 512, bias=False)).cuda()
    memory = peak_memory(wide, {"input": torch.zeros(256, 512, device="cuda")})
    assert memory.activations == pytest.approx(2 * 256 * 2048 * FLOAT, rel=0.05)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_a_gpu_needs_what_the_meta_device_says(backbone: str) -> None:
    builder = Builder(Sizes(vocabulary=50_257, recurrence=192 if backbone == "transformer_xl" else 0), device="cuda")
    found = architecture(backbone, 512, [8] * 8, [2048] * 8, 256, 4)
    ids = torch.zeros((1, 256), dtype=torch.long)
    there, computed = (
        peak_memory(network, {"input_ids": ids.to(device)})
        for network, device in ((builder(found), "cuda"), (builder.meta(found), "meta"))
    )
    assert there.peak == pytest.approx(computed.peak, rel=0.02)


if __name__ == "__main__":
    print(json.dumps({name: growth(*case) for name, case in CASES.items()}))
