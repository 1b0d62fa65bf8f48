"""Head pruning (Michel et al. 2019): the fine-tuned network's heads of lowest score are removed. Nothing is trained again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from secateur.anatomy.base import HEADS
from secateur.architecture import Architecture
from secateur.errors import DataError
from secateur.estimators.base import Estimator
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.methods.base import Step
from secateur.methods.fine_tuned_first import FineTunedFirst
from secateur.methods.ordering import scored_batches
from secateur.supernet import Supernet
from secateur.supernet.gates import gate_gradients
from secateur.writing import whole

#: The file with the heads' scores.
SCORES = "heads.safetensors"
#: The shares of all heads that are pruned.
SHARES = tuple(tenths / 10 for tenths in range(1, 10))


def head_scores(supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]]) -> np.ndarray:
    """The score of each head (L, H): the mean over examples of |∂L/∂ξ|, ξ a gate on the head's output at 1 (equation 2 of the
    paper), divided by the layer's root of the sum of squares. Raises DataError without a batch."""
    total, seen = np.zeros((supernet.shape.layers, supernet.shape.heads)), 0
    for batch in batches:
        gradients = gate_gradients(supernet, batch).of_examples(HEADS)
        total += gradients.abs().sum(0).double().cpu().numpy()
        seen += len(gradients)
    if not seen:
        raise DataError("scores of heads need at least one batch, got none.")
    mean = total / seen
    norms = np.linalg.norm(mean, axis=1, keepdims=True)
    scores: np.ndarray = np.divide(mean, norms, out=np.zeros_like(mean), where=norms > 0)
    return scores


def without_lowest(scores: np.ndarray, count: int) -> np.ndarray:
    """The mask (L, H) of bool that prunes the `count` heads of lowest score, over all layers."""
    mask = np.ones(scores.size, bool)
    mask[np.argsort(scores, axis=None, kind="stable")[:count]] = False
    return mask.reshape(scores.shape)


class HeadPruning(FineTunedFirst):
    """A candidate for each tenth of the heads, scored on the fine-tuned network's weights. Units stay."""

    spaces = ("large",)
    lists = True

    def stages(self) -> list[Step]:
        return [*super().stages(), ("score", self.score)]

    def score(self) -> None:
        """Score the heads of the fine-tuned network."""
        with scored_batches(self.bench, "scoring heads", self.bench.c.importance_examples) as batches:
            scores = head_scores(self.bench.supernet, batches)
        with whole(self.bench.networks / SCORES) as draft:
            save_file({"scores": scores}, draft)

    def candidates(self) -> list[Architecture]:
        scores = load_file(self.bench.networks / SCORES)["scores"]
        units = np.ones((len(scores), self.bench.space.shape.units), np.int64)
        masks = [without_lowest(scores, round(share * scores.size)) for share in SHARES]
        return [self.bench.space.from_values(np.hstack([mask, units]).ravel()) for mask in masks]

    def estimators(self) -> list[Estimator]:
        bench = self.bench
        return [SharedWeightsError(bench.supernet, bench.space, bench.data, batch_size=bench.c.evaluation_batch, depths=False)]

    def passes(self) -> dict[str, float]:
        return {**super().passes(), "score": 3.0 * min(self.bench.c.importance_examples, len(self.bench.data.train))}
