from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from secateur.decoders import Builder, Sizes
from secateur.devices.generation import Generation, _Writer, measure_generation
from secateur.devices.latency import measure_latency
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.spaces.decoder import architecture


def network(backbone: str = "gpt2", layers: int = 2) -> Any:
    return Builder(Sizes(vocabulary=60, positions=64))(architecture(backbone, 16, [2] * layers, [32] * layers))


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_prompt_and_token_are_figures_of_their_own(backbone: str) -> None:
    found = measure_generation(network(backbone), 4, Setup(length=32, batch=2, seconds=0.05))
    assert (found.prompt.length, found.token.length, found.tokens) == (32, 1, 4)
    assert found.prompt.batch == found.token.batch == 2
    assert found.prompt.median > 0
    assert found.token.median > 0
    assert found.total == pytest.approx(found.prompt.wall + 3 * found.token.wall)


def test_the_rate_is_by_the_wall_clock() -> None:
    """Waiting counts: whoever reads the text waits too."""
    timed = measure_latency(lambda: None, Setup(length=1, batch=2, seconds=0.01))
    found = Generation(replace(timed, wall=1.0), replace(timed, median=0.1, wall=0.5), 3)
    assert str(found) == "4 tokens per second; prompt and 3 tokens 2 s, by the wall clock"


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_what_is_written_is_the_greedy_text(backbone: str) -> None:
    model = network(backbone)
    ids = torch.arange(6).unsqueeze(0)
    writer = _Writer(model, ids, tokens=5)
    with torch.no_grad():
        writer.ready()
        text = torch.cat([ids, writer.next], dim=1)
        while writer.written < 5:
            writer.write()
            text = torch.cat([text, writer.next], dim=1)
        for end in range(6, 11):
            assert int(model(text[:, :end]).logits[0, -1].argmax()) == int(text[0, end])
        writer.ready()
    assert writer.written == 1, "all are written: the prompt is read again"


def test_the_prompt_yields_the_logits_of_its_last_token_alone() -> None:
    model = network()
    shapes: list[torch.Size] = []
    model.register_forward_hook(lambda _, __, output: shapes.append(output.logits.shape))
    with torch.no_grad():
        _Writer(model, torch.arange(6).unsqueeze(0), tokens=5).read()
    assert shapes == [(1, 1, 60)]


def test_int8_is_measured() -> None:
    found = measure_generation(network(), 3, Setup(length=8, seconds=0.05, runtime="torch-int8"))
    assert found.token.runtime == "torch-int8"


def test_a_model_without_a_state_is_said() -> None:
    class Forgetful(nn.Module):
        def __init__(self, sizes: tuple[int, ...]) -> None:
            super().__init__()
            self.sizes = sizes
            self.config = SimpleNamespace(vocab_size=9, pad_token_id=None, max_position_embeddings=64)

        def forward(self, input_ids: torch.Tensor, use_cache: bool) -> Any:
            return SimpleNamespace(logits=torch.zeros(self.sizes))

    with pytest.raises(MeasurementError, match="`Forgetful` keeps neither a cache nor memories"):
        measure_generation(Forgetful((1, 8, 9)), 3, Setup(length=8))
    with pytest.raises(MeasurementError, match="`Forgetful` cannot generate tokens"):
        measure_generation(Forgetful((1, 2)), 3, Setup(length=8))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 2 tokens"):
        measure_generation(network(), 1, Setup())
    with pytest.raises(ConfigurationError, match="needs a cache"):
        measure_generation(network(), 4, Setup(runtime="onnx"))
    with pytest.raises(ConfigurationError, match=r"at most 64 for this model, got 60 \+ 5"):
        measure_generation(network(), 5, Setup(length=60))
