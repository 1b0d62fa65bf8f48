"""Error on shared weights: one pass of the selected sub-network over the validation set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.spaces.pruning import PruningSpace, Small
from secateur.supernet import Supernet, evaluating, sweeping
from secateur.supernet.evaluating import no_cache
from secateur.tasks.examples import TaskData
from secateur.tasks.metrics import Scorer
from secateur.tasks.task import Task

Batch = Mapping[str, torch.Tensor]


def _inputs(batch: Batch) -> dict[str, torch.Tensor]:
    return {name: value for name, value in batch.items() if name != "labels"}


def score(model: Any, task: Task, batches: Iterable[Batch]) -> dict[str, float]:
    """All metrics of a network on batches, and `error`."""
    scorer = Scorer(task)
    device = next(model.parameters()).device
    options = no_cache(model)
    with evaluating(model):
        for batch in batches:
            on_device = {name: value.to(device) for name, value in batch.items()}
            scorer.update(model(**options, **_inputs(on_device)).logits, on_device["labels"])
    return {**scorer.compute(), "error": scorer.error()}


def evaluation(task: Task, found: Mapping[str, float]) -> Evaluation:
    """What `score` found as an estimator's: values to search by, and the metrics."""
    values = {name: found[name] for name in task.qualities}
    return Evaluation(values, details={name: value for name, value in found.items() if name != "error"})


def weights_digest(model: Any) -> str:
    """A digest of all weights: what a number on shared weights depends on."""
    parts: list[bytes] = []
    for name, tensor in model.state_dict().items():
        flat = tensor.detach().cpu().reshape(-1).contiguous()
        parts += [name.encode(), f"{tensor.dtype} {tuple(tensor.shape)}".encode(), flat.view(torch.uint8).numpy().tobytes()]
    return digest(*parts)


class SharedWeightsError(Estimator):
    """`error` of the selected sub-network, of a language model also its `perplexity`.

    Batches are bucketed by length and padded only to their longest example.

    With `depths`, an architecture of `small` also yields every shallower one of equal width, from the same pass.
    """

    cost = 1

    def __init__(
        self, supernet: Supernet, space: PruningSpace, data: TaskData, *, batch_size: int = 64, depths: bool = True
    ) -> None:
        self.supernet = supernet
        self.space = space
        self.data = data
        self.yields = data.task.qualities
        self.batch_size = batch_size
        self.depths = depths and isinstance(space, Small)
        self._known: tuple[list[tuple[int, int]], str] = [], ""

    @property
    def fingerprint(self) -> str:
        # Every trial asks for it, and hashing all weights takes a while: only when torch's counters of changes have moved.
        tensors = [*self.supernet.model.parameters(), *self.supernet.model.buffers()]
        versions = [(t.data_ptr(), 0 if t.is_inference() else t._version) for t in tensors]
        if versions != self._known[0]:
            self._known = versions, weights_digest(self.supernet.model)
        chosen = [self.data.task.main] if self.data.task.own else []
        return digest("shared weights", self._known[1], self.data.fingerprint, str(self.batch_size), *chosen)

    @cached_property
    def batches(self) -> list[Batch]:
        device = next(self.supernet.model.parameters()).device
        rows = self.data.batches("validation", self.batch_size)
        return [{name: value.to(device) for name, value in batch.items()} for batch in rows]

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        with evaluating(self.supernet.model):
            return [self._one(a) for a in architectures]

    def _one(self, architecture: Architecture) -> Evaluation:
        try:
            if self.depths and isinstance(self.space, Small):
                return self._all_depths(architecture, self.space)
            scorer = Scorer(self.data.task)
            options = no_cache(self.supernet.model)
            with self.supernet.select(self.space.plan(architecture)) as model:
                for batch in self.batches:
                    scorer.update(model(**options, **_inputs(batch)).logits, batch["labels"])
            return Evaluation(scorer.qualities(), details=scorer.compute())
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))

    def _all_depths(self, architecture: Architecture, space: Small) -> Evaluation:
        plan = space.plan(architecture)
        deepest = len(plan.layers)
        shallower = {int(a["layers"]): a for a in space.depths(architecture) if int(a["layers"]) < deepest}  # type: ignore[arg-type]
        scorers = {depth: Scorer(self.data.task) for depth in (deepest, *shallower)}
        with sweeping(self.supernet, plan, list(shallower)) as outputs_of:
            for batch in self.batches:
                for depth, output in outputs_of(_inputs(batch)):
                    try:
                        if depth in scorers:
                            scorers[depth].update(output.logits, batch["labels"])
                    except EvaluationFailure:
                        if depth == deepest:
                            raise
                        del scorers[depth]  # nobody asked for it: it fails alone
                    del output  # else its logits live on while the next depth's are computed
        extra = tuple((a, scorers[depth].qualities()) for depth, a in shallower.items() if depth in scorers)
        return Evaluation(scorers[deepest].qualities(), extra=extra, details=scorers[deepest].compute())
