from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from secateur.devices.inputs import dummy_inputs
from secateur.errors import ConfigurationError, MeasurementError


class Reader(nn.Module):
    """Looks like a transformers model: a configuration and a weight."""

    def __init__(self, vocabulary: int = 7, padding: int | None = 3, positions: int | None = 16) -> None:
        super().__init__()
        self.config = SimpleNamespace(vocab_size=vocabulary, pad_token_id=padding, max_position_embeddings=positions)
        self.weight = nn.Parameter(torch.zeros(2))


def test_ids_are_in_the_vocabulary_and_never_padding() -> None:
    inputs = dummy_inputs(Reader(), batch=50, length=16)
    assert inputs["input_ids"].shape == (50, 16)
    assert set(inputs["input_ids"].flatten().tolist()) == {0, 1, 2, 4, 5, 6}
    assert torch.equal(inputs["attention_mask"], torch.ones(50, 16, dtype=torch.long))


def test_language_models_get_no_mask() -> None:
    assert list(dummy_inputs(Reader(), 2, 8, "language_modelling")) == ["input_ids"]


def test_without_a_padding_id_every_id_is_drawn() -> None:
    assert set(dummy_inputs(Reader(padding=None), 50, 16)["input_ids"].flatten().tolist()) == set(range(7))


def test_inputs_are_the_same_each_time_and_leave_the_global_generator_alone() -> None:
    reader, state = Reader(), torch.get_rng_state()
    first, second = dummy_inputs(reader, 2, 8), dummy_inputs(reader, 2, 8)
    assert torch.equal(first["input_ids"], second["input_ids"])
    assert torch.equal(state, torch.get_rng_state())


def test_multiple_choice_has_four_answers() -> None:
    inputs = dummy_inputs(Reader(), 2, 8, "multiple_choice")
    assert inputs["input_ids"].shape == inputs["attention_mask"].shape == (2, 4, 8)


def test_inputs_are_on_the_models_device() -> None:
    assert dummy_inputs(Reader().to("meta"), 2, 8)["input_ids"].device.type == "meta"


def test_sizes_and_kinds_out_of_range_are_refused_together() -> None:
    with pytest.raises(ConfigurationError, match="must be at least 1") as caught:
        dummy_inputs(Reader(), 0, 0, "multiplechoice")
    assert len(caught.value.faults) == 3


def test_more_tokens_than_positions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at most 16 for this model, got 17"):
        dummy_inputs(Reader(), 1, 17)


def test_without_a_limit_any_length_will_do() -> None:
    assert dummy_inputs(Reader(positions=None), 1, 1000)["input_ids"].shape == (1, 1000)


def test_a_model_that_reads_no_tokens_is_refused() -> None:
    with pytest.raises(MeasurementError, match=r"`Linear` has no `config\.vocab_size`"):
        dummy_inputs(nn.Linear(2, 2), 1, 8)
