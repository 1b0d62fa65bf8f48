"""How long a language model takes to read a prompt, and then for each token that it writes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from secateur.anatomy.inputs import longest_text
from secateur.devices.inputs import dummy_inputs
from secateur.devices.latency import Latency, measure_latency
from secateur.devices.runtime import check_setup, int8_copy
from secateur.devices.setup import Setup, generation_fault
from secateur.errors import ConfigurationError, MeasurementError


@dataclass(frozen=True)
class Generation:
    """`prompt`: one pass over the whole prompt that fills the cache and predicts its next token. `token`: the pass of one
    further token (the median over all positions that were written)."""

    prompt: Latency
    token: Latency
    tokens: int

    @property
    def total(self) -> float:
        """Seconds for the prompt and all tokens, by the wall clock. The prompt's pass already yields the first token."""
        return self.prompt.wall + (self.tokens - 1) * self.token.wall

    def __str__(self) -> str:
        rate = self.token.batch / self.token.wall
        return f"{rate:.4g} tokens per second; prompt and {self.tokens} tokens {self.total:.4g} s, by the wall clock"


class _Writer:
    """Writes tokens greedily, one per call, from a state that holds what was read."""

    def __init__(self, model: nn.Module, ids: Tensor, tokens: int) -> None:
        self.model, self.ids, self.tokens = model, ids, tokens
        self.written = tokens  # the first call of `ready` reads the prompt
        self.state: dict[str, Any] = {}
        self.next: Tensor = ids[:, :1]
        # Only the last token's logits are needed: `generate` computes no others either.
        self.last = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}

    def read(self) -> None:
        """One pass over the prompt."""
        self._take(self.model(input_ids=self.ids, use_cache=True, **self.last))
        self.written = 1

    def ready(self) -> None:
        """Read the prompt again where all tokens are written."""
        if self.written >= self.tokens:
            self.read()

    def write(self) -> None:
        """One pass over the last token."""
        self._take(self.model(input_ids=self.next, use_cache=True, **self.state))
        self.written += 1

    def _take(self, output: Any) -> None:
        if getattr(output, "logits", None) is None or output.logits.dim() != 3:
            raise MeasurementError(f"`{type(self.model).__name__}` cannot generate tokens. Leave `generate` out.")
        for name in ("past_key_values", "mems"):
            if getattr(output, name, None) is not None:
                self.state = {name: getattr(output, name)}
                break
        else:
            raise MeasurementError(
                f"`{type(self.model).__name__}` keeps neither a cache nor memories: its time per generated token "
                "cannot be measured. Leave `generate` out."
            )
        self.next = output.logits[:, -1:].argmax(-1)


def measure_generation(model: nn.Module, tokens: int, setup: Setup) -> Generation:
    """The latencies of a prompt of the setup's batch × length and of each of `tokens` tokens written after it, greedily.

    Works for causal language models with a cache (`past_key_values`) or memories (`mems`, Transformer-XL); each of the two
    figures gets the setup's seconds. Raises ConfigurationError for sizes or runtimes that do not fit, MeasurementError for a
    model that keeps no state.
    """
    if fault := generation_fault(tokens, setup):
        raise ConfigurationError(fault)
    where = check_setup(setup)
    model = int8_copy(model) if setup.runtime == "torch-int8" else model.to(where).eval()
    longest = longest_text(getattr(model, "config", None))
    if setup.length + tokens > longest:
        raise ConfigurationError(
            f"`length` and `generate` together must be at most {longest} for this model, got {setup.length} + {tokens}."
        )
    writer = _Writer(model, dummy_inputs(model, setup.batch, setup.length, "language_modelling")["input_ids"], tokens)
    prompt = measure_latency(writer.read, setup)
    writer.written = tokens
    token = measure_latency(writer.write, replace(setup, length=1), before=writer.ready)
    return Generation(prompt, token, tokens)
