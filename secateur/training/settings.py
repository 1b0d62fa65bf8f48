"""How a training run goes: its length, its steps, its distillation. No torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from secateur.settings import MOST_BATCH, Settings, option

#: Below this many steps a super-network wants the higher learning rate: recipes/prune-minilm has the measurements.
SHORT_RUN = 2_500


def usual_learning_rate(examples: int, batch_size: int, epochs: float) -> float:
    """A rule of thumb for super-networks: 1e-4 for a short run, 5e-5 for a long one."""
    return 1e-4 if math.ceil(examples / batch_size) * epochs < SHORT_RUN else 5e-5


#: The variable of a process that trains by itself although it sees several GPUs: the others are for other processes.
ALONE = "SECATEUR_ALONE"
#: Beyond this a number of epochs is a slip of the pen.
MOST_EPOCHS = 10_000
#: How the learning rate goes on after the warm-up: falling to 0 in a line or along a cosine, or staying.
SCHEDULES = {"linear": "linear", "cosine": "cosine", "constant": "constant_with_warmup"}

#: Optimisers → as transformers calls them, and bytes of states per trained parameter.
OPTIMIZERS = {"adamw": (None, 8.0), "adamw-8bit": ("adamw_bnb_8bit", 2.0), "adafactor": ("adafactor", 0.0)}

#: How a sub-network is distilled: as Klein et al. (2024) write it in equation 2, or as their published code does it.
DISTILLATIONS = ("equations", "authors")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """Settings of one training run: warm-up, super-network training, polishing, or a language model from scratch."""

    epochs: float = option(5.0, "How many times the data are read.", above=0, most=MOST_EPOCHS)
    steps: int | None = option(None, "Training steps; by default set by `epochs`.", least=1, most=10**9)
    learning_rate: float = option(5e-5, "The highest learning rate.", above=0, most=10)
    batch_size: int = option(32, "Examples per step.", least=1, most=MOST_BATCH)
    learning_rate_warmup: float = option(0.06, "Share of the steps during which the learning rate rises.", least=0, below=1)
    schedule: str = option("linear", "How the learning rate changes after the warm-up.", known=tuple(SCHEDULES))
    weight_decay: float = option(0.01, "Weight decay of AdamW.", least=0, most=100)
    max_grad_norm: float = option(1.0, "The largest gradient norm; 0: gradients are not clipped.", least=0, most=10**6)
    temperature: float = option(10.0, "Temperature of the distillation.", above=0, most=1_000)
    distillation: str = option(
        "equations", "equations: as the pruning papers write it; authors: as their code does it.", known=DISTILLATIONS
    )
    distillation_weight: float = option(1.0, "Weight of the distillation; 0: none.", least=0, most=1_000)
    label_weight: float = option(
        1.0, "Weight of the loss on the labels where a teacher is asked; 0: distillation alone.", least=0, most=1_000
    )
    squared_temperature: bool = option(False, "Multiply the distillation by the temperature squared.")
    group_by_length: bool = option(True, "Put examples of similar length into the same batch.")
    gradient_checkpointing: bool = option(False, "Save memory at the cost of time: activations are recomputed.")
    mixed_precision: str | None = option(None, "bf16 or fp16, on a GPU.", known=("bf16", "fp16"))
    optimizer: str = option(
        "adamw",
        "adamw; adamw-8bit: its states in a quarter of the memory (needs the extra low-memory); adafactor: hardly any states.",
        known=tuple(OPTIMIZERS),
    )
    lora_rank: int = option(
        0, "Rank of what is added to each matrix and trained in its place; 0: all weights are trained.", least=0, most=4096
    )
    checkpoints: int = option(
        4, "How many times training is saved, to continue after a crash; only the last is kept.", least=0, most=10_000
    )
    seed: int = option(0, "The seed for everything random.", least=0, below=2**32)

    def examples_read(self, examples: int) -> int:
        """How many examples a training on so many reads, those read again counted again."""
        return self.batch_size * self.total_steps(math.ceil(examples / self.batch_size))

    def total_steps(self, batches: int) -> int:
        """The steps of a run with `batches` steps in an epoch."""
        return self.steps if self.steps is not None else max(1, math.ceil(batches * self.epochs))
