"""How networks of cells are trained, as Yan (2022, section 2.4) says where it does. No torch."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.settings import MOST_BATCH, Settings, option

#: How architecture parameters are trained: on other images than the weights, to first or second order, or with the weights.
ORDERS = FIRST, SECOND, JOINT = "first", "second", "joint"
#: The steps at the text's rate of masks before it falls: 10 epochs of 50,000 images in batches of 128.
STEPS = 3910
_SUPERNET, _MASKS, _TUNING = "The super-network", "The masks", "Fine-tuning"
MOST_EPOCHS = 100_000


@dataclass(frozen=True, kw_only=True)
class CellTraining(Settings):
    """The text's numbers, but for epochs and batches, which are for small data on a CPU."""

    batch: int = option(64, "Images per step.", least=2, most=MOST_BATCH)
    pad: int = option(0, "Shift training images at random, by up to this many pixels.", least=0, most=1024, panel=_SUPERNET)
    flip: bool = option(False, "Mirror training images at random, left to right.", panel=_SUPERNET)
    epochs: int = option(30, "Epochs of the super-network.", least=1, most=MOST_EPOCHS, panel=_SUPERNET)
    warm_up: int = option(
        3, "Epochs in which the architecture waits for the weights.", least=0, most=MOST_EPOCHS, panel=_SUPERNET
    )
    order: str = option(
        FIRST,
        "How the architecture is trained: first or second (order, on images held out from the weights' training), or joint "
        "(with the weights).",
        known=ORDERS,
        panel=_SUPERNET,
    )
    held_out: float = option(
        0.2, "Share of the training images that the architecture is trained on.", above=0, below=1, panel=_SUPERNET
    )
    last_probability: float = option(
        0.0,
        "How likely a step trains the architecture at the end; the probability falls in a line from 1 after the warm-up.",
        least=0,
        most=1,
        panel=_SUPERNET,
    )
    learning_rate: float = option(0.1, "Of the weights, at first; falls as a cosine.", above=0, most=10, panel=_SUPERNET)
    momentum: float = option(0.9, "Of the weights.", least=0, below=1, panel=_SUPERNET)
    weight_decay: float = option(3e-4, "Of the weights.", least=0, most=1, panel=_SUPERNET)
    architecture_rate: float = option(3e-4, "Adam's learning rate of the architecture.", above=0, most=10, panel=_SUPERNET)
    architecture_decay: float = option(1e-3, "Weight decay of the architecture.", least=0, most=1, panel=_SUPERNET)
    mask_epochs: int = option(20, "Epochs of the masks.", least=1, most=MOST_EPOCHS, panel=_MASKS)
    mask_rate: float | None = option(
        None,
        "Adam's learning rate of the masks of weights, a tenth of it for edges and operations; after half of the epochs a "
        f"tenth. By default 1e-4 × {STEPS:,} / the steps of that half: as far as masks can go in the paper.",
        above=0,
        most=10,
        panel=_MASKS,
    )
    mask_start: float = option(1e-2, "Where masks begin.", above=0, most=10, panel=_MASKS)
    threshold: float = option(5e-3, "What masks must be above to keep something.", least=0, most=10, panel=_MASKS)
    tune_epochs: int = option(30, "Epochs of fine-tuning.", least=1, most=MOST_EPOCHS, panel=_TUNING)
    tune_rate: float = option(
        0.05, "Learning rate of fine-tuning, at first; falls as a cosine.", above=0, most=10, panel=_TUNING
    )

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        if self.sound("mask_start", "threshold") and self.threshold >= self.mask_start:
            found.append(f"`threshold` must be below `mask_start` ({self.mask_start:g}), got {self.threshold:g}.")
        return found

    def probability(self, done: int, steps: int, waiting: int) -> float:
        """How likely step `done` of so many trains the architecture, of which the first `waiting` do not."""
        if done < waiting:
            return 0.0
        share = (done - waiting) / max(1, steps - waiting - 1)
        return 1.0 + (self.last_probability - 1.0) * min(1.0, share)

    def rate_of_masks(self, steps: int) -> float:
        """Adam's learning rate where it falls after so many steps."""
        return 1e-4 * STEPS / max(1, steps) if self.mask_rate is None else self.mask_rate
