"""How the networks of our tables of decoders are trained, and the spaces that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from secateur.architecture import Architecture
from secateur.spaces.decoder_sizes import Sizes
from secateur.training.settings import TrainingSettings

#: The scaled-down space, and one whose networks a single core trains in seconds.
SPACES: dict[str, dict[str, Any]] = {
    "small": {
        "layers": "1..8",
        "width": "32..256:32",
        "inner": "64..1024:64",
        "heads": (2, 4, 8),
        "embedding": (0, 128, 256),
        "factor": (1, 2, 4),
    },
    "tiny": {
        "layers": "1..4",
        "width": "16..64:16",
        "inner": "32..256:32",
        "heads": (2, 4, 8),
        "embedding": (0,),
        "factor": (1,),
    },
}
#: Shares of the steps at which the curve has a point: every 5 %, and two before.
SHARES = (0.0125, 0.025, *(k / 20 for k in range(1, 21)))


@dataclass(frozen=True)
class Protocol:
    """How every network of a table is trained. One folder holds rows of one protocol only."""

    space: str = "small"
    backbone: str = "gpt2"
    vocabulary: int = 2048
    cutoffs: tuple[int, ...] = (1024, 1536)  # of WikiText-2's tokens, 90 % are in the first cluster and 7 % in the second
    length: int = 128
    memory: int = 128  # transformer_xl only
    batch: int = 64
    steps: int = 2500
    learning_rate: float = 5e-3  # of a network of the reference width; see `rate`
    reference_width: int = 128
    rate_exponent: float = 1.0
    warmup: float = 0.05
    weight_decay: float = 0.1
    dropout: float = 0.0
    initial: float = 0.02  # deviation of the initial weights
    curve_tokens: int = 32_768  # of the validation text, for the points of the curve
    final_tokens: int = 1_000_000  # of the validation and of the test text, for the final perplexities

    def rate(self, architecture: Architecture) -> float:
        """The learning rate of a network, inversely as its width (maximal-update parametrisation, Yang et al. 2021): one
        rate for all favours the widths that it happens to suit."""
        width = int(architecture["width"])  # type: ignore[call-overload]
        return self.learning_rate * (self.reference_width / width) ** self.rate_exponent

    def training(self, architecture: Architecture, seed: int) -> TrainingSettings:
        return TrainingSettings(
            steps=self.steps,
            learning_rate=self.rate(architecture),
            batch_size=self.batch,
            learning_rate_warmup=self.warmup,
            schedule="cosine",
            weight_decay=self.weight_decay,
            group_by_length=False,
            checkpoints=0,  # a network takes minutes: one that was stopped is trained anew
            seed=seed,
        )

    def build(self, architecture: Architecture, seed: int) -> Any:
        from secateur.decoders import build

        return build(architecture, self.sizes, dropout=self.dropout, seed=seed, initializer_range=self.initial)

    @property
    def sizes(self) -> Sizes:
        recurrence = self.memory if self.backbone == "transformer_xl" else 0
        return Sizes(vocabulary=self.vocabulary, cutoffs=self.cutoffs, positions=self.length, recurrence=recurrence)


#: By the text that they are for. WikiText-2 wants a GPU, tiny Shakespeare one core.
PROTOCOLS = {
    "wikitext2": Protocol(),
    "shakespeare": Protocol(
        space="tiny",
        vocabulary=320,
        cutoffs=(),
        length=32,
        batch=16,
        steps=400,
        learning_rate=1.5e-3,
        reference_width=64,
        curve_tokens=4_096,
        final_tokens=16_384,
    ),
}
