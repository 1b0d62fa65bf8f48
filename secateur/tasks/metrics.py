"""The metrics of the tasks, as GLUE defines them, and the Scorer that gathers them batch by batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import EvaluationFailure
from secateur.tasks.task import Task

if TYPE_CHECKING:
    import torch

    Batch = torch.Tensor | NDArray[Any]

#: Predictions that differ by no more than this share of the largest are one, told apart by rounding: some 80 units in float32's
#: last place, where a text's answers in differently padded batches differ by 10. A network without layers answers the same to
#: everything, up to such noise; its rank correlation would be the noise's.
_ROUNDING = 1e-5
#: Positions whose logits are normalised at once: a vocabulary of 50,257 in float32 takes 200 KB a position.
_POSITIONS = 1024


def accuracy(predictions: NDArray[Any], labels: NDArray[Any]) -> float:
    """Share of `predictions` (n,) that equal `labels` (n,)."""
    return float(np.mean(predictions == labels))


def f1(predictions: NDArray[Any], labels: NDArray[Any], num_labels: int = 2) -> float:
    """F1 of class 1 where there are two classes, else the unweighted mean over the classes; 0 where it is undefined."""
    from sklearn.metrics import f1_score

    if num_labels <= 2:
        return float(f1_score(labels, predictions, labels=[0, 1], pos_label=1, average="binary", zero_division=0.0))
    present = np.union1d(labels, predictions)
    return float(f1_score(labels, predictions, labels=present, average="macro", zero_division=0.0))


def matthews(predictions: NDArray[Any], labels: NDArray[Any]) -> float:
    """Matthews' correlation coefficient; 0 for a constant prediction."""
    if np.ptp(predictions) == 0 or np.ptp(labels) == 0:
        return 0.0
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(labels, predictions))


def pearson(predictions: NDArray[Any], labels: NDArray[Any]) -> float:
    """Pearson's correlation; 0 for a constant prediction."""
    from scipy.stats import pearsonr

    return _correlation(lambda a, b: pearsonr(a, b).statistic, predictions, labels)


def spearman(predictions: NDArray[Any], labels: NDArray[Any]) -> float:
    """Spearman's rank correlation; 0 for a constant prediction. Predictions that are equal up to rounding share a rank."""
    from scipy.stats import spearmanr

    return _correlation(lambda a, b: spearmanr(_tied(a), b).statistic, predictions, labels)


def perplexity(nll: float, tokens: int) -> float:
    """exp of the mean negative log-likelihood (nats) of `tokens` predicted tokens; infinite where that overflows."""
    try:
        return math.exp(nll / tokens)
    except OverflowError:
        return math.inf


def _correlation(function: Callable[..., Any], predictions: NDArray[Any], labels: NDArray[Any]) -> float:
    outputs, targets = np.asarray(predictions, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if np.ptp(targets) == 0 or np.ptp(outputs) <= _ROUNDING * np.abs(outputs).max():
        return 0.0
    return float(function(outputs, targets))


def _tied(values: NDArray[Any]) -> NDArray[Any]:
    """The values, those equal up to rounding made equal: from the smallest on, each takes with it all that lie within rounding
    above it. So no chain of near neighbours can join values that are further apart."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    width = _ROUNDING * np.abs(values).max()
    start = 0
    while start < len(ordered):
        end = int(np.searchsorted(ordered, ordered[start] + width, side="right"))
        ordered[start:end] = ordered[start]
        start = end
    tied = np.empty_like(values)
    tied[order] = ordered
    return tied


def _numpy(values: Batch) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    values = values.detach()
    # numpy has no bfloat16.
    return (values.float() if values.is_floating_point() else values).cpu().numpy()


class Scorer:
    """Gathers outputs batch by batch, then gives the task's metrics.

    `update(logits, labels)`: (B, C) and (B,) for classification and multiple choice; (B,) or (B, 1) and (B,) for regression;
    (B, T, V) and (B, T) for language modelling, not shifted: position t predicts token t + 1, labels of −100 are left out.
    Language modelling keeps sums only. A NaN raises EvaluationFailure.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._predictions: list[NDArray[Any]] = []
        self._labels: list[NDArray[Any]] = []
        self._nll, self._correct, self._tokens = 0.0, 0, 0

    def update(self, logits: Batch, labels: Batch) -> None:
        """Take one batch, as torch tensors on any device or as numpy arrays."""
        if self.task.kind == "language_modelling":
            self._update_tokens(logits, labels)
            return
        outputs = _numpy(logits)
        _refuse_nan(bool(np.isnan(outputs).any()))
        if self.task.kind == "regression":
            predictions = outputs.reshape(-1)
            if not np.isfinite(predictions).all():
                raise EvaluationFailure("the network returned infinite values")
        else:
            predictions = outputs.argmax(axis=-1)
        targets = _numpy(labels).reshape(-1)
        if len(targets) != len(predictions):
            raise ValueError(f"`logits` of shape {outputs.shape} hold {len(predictions)} predictions, `labels` {len(targets)}.")
        self._predictions.append(predictions)
        self._labels.append(targets)

    def _update_tokens(self, logits: Batch, labels: Batch) -> None:
        import torch

        scores, targets = torch.as_tensor(logits).detach()[:, :-1], torch.as_tensor(labels)[:, 1:]
        counted = targets != -100
        scores, targets = scores[counted], targets[counted]
        for start in range(0, len(targets), _POSITIONS):
            part = scores[start : start + _POSITIONS].float()
            wanted = targets[start : start + _POSITIONS].long()
            nll = float(torch.nn.functional.cross_entropy(part, wanted, reduction="sum"))
            _refuse_nan(math.isnan(nll))
            self._nll += nll
            self._correct += int((part.argmax(-1) == wanted).sum())
        self._tokens += len(targets)

    def compute(self) -> dict[str, float]:
        """Every metric of the task over all that was given."""
        if self.task.kind == "language_modelling":
            if not self._tokens:
                raise ValueError("there is nothing to score: no token was given to the scorer.")
            # the share of the next tokens that the network's first guess hits
            values = {"token_accuracy": self._correct / self._tokens, "perplexity": perplexity(self._nll, self._tokens)}
            return {name: values[name] for name in self.task.metrics}
        if not self._predictions:
            raise ValueError("there is nothing to score: no batch was given to the scorer.")
        predictions, labels = np.concatenate(self._predictions), np.concatenate(self._labels)
        functions: dict[str, Callable[..., float]] = {
            "accuracy": accuracy,
            "f1": partial(f1, num_labels=self.task.num_labels or 2),
            "matthews": matthews,
            "pearson": pearson,
            "spearman": spearman,
        }
        return {name: functions[name](predictions, labels) for name in self.task.metrics}

    def error(self) -> float:
        """1 − the task's main metric."""
        return 1.0 - self.compute()[self.task.main]

    def qualities(self) -> dict[str, float]:
        """What the task's networks are searched by: the error, of a language model also the perplexity."""
        found = {**self.compute(), "error": self.error()}
        return {name: found[name] for name in self.task.qualities}


def _refuse_nan(found: bool) -> None:
    if found:
        raise EvaluationFailure("the network returned NaN")
