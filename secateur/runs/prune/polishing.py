"""Polishing as a tournament: for each size that was asked for several sub-networks begin, the best is trained to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from secateur.estimators.fine_tuned import FineTuned
from secateur.objectives import ERROR, Objective
from secateur.runs.progress import Advance
from secateur.runs.prune.settings import ETA
from secateur.search import MoAsha
from secateur.spaces.pruning import PruningSpace, Shape, plan_of
from secateur.trial import MASKS, Status, Trial


def contenders(
    trials: Sequence[Trial], shape: Shape, limit: float, chance: float | None, count: int, quality: str = ERROR
) -> list[Trial]:
    """Sub-networks within a limit on the body's parameters: of each depth the best by `quality` (the error, or a language
    model's perplexity), then the others by it.

    Where there is one whose masks were chosen for a size, the largest of these is among them if there is room for two: its
    error before polishing says little, since the super-network's layers were alike in training.
    Those no better than chance come after all others, the largest first: on shared weights they may tie with a constant, and
    learn when they are polished. The network without layers is taken only where there is nothing else.
    """

    def depth(trial: Trial) -> int:
        return len(plan_of(trial.architecture, shape).layers)

    within = [t for t in trials if t.values["body_parameters"] <= limit]
    layered = [t for t in within if depth(t)] or within

    def rank(trial: Trial) -> tuple[bool, float, float]:
        error, size = trial.values[quality], trial.values["body_parameters"]
        return (True, -size, 0.0) if chance is not None and error >= chance else (False, error, size)

    ordered = sorted(layered, key=rank)
    first: dict[int, Trial] = {}
    for trial in ordered:
        if trial.origin != MASKS:
            first.setdefault(depth(trial), trial)
    chosen = list(first.values())
    if by_masks := max((t for t in within if t.origin == MASKS), key=lambda t: t.values["body_parameters"], default=None):
        chosen.insert(1, by_masks)
    keys = {t.key for t in chosen}
    return [*chosen, *(t for t in ordered if t.key not in keys)][:count]


class Tournament:
    """Contenders of one size train for a quarter of the epochs, the best goes on: successive halving by the code of `mo-asha`.

    `known` holds what networks reached at a budget, also in other tournaments and before a stop; `remember` keeps it.
    """

    def __init__(
        self,
        estimator: FineTuned,
        space: PruningSpace,
        known: dict[str, float],
        remember: Callable[[dict[str, float]], None],
        quality: str = ERROR,
    ) -> None:
        self.estimator, self.space, self.quality = estimator, space, quality
        self.known, self.remember = known, remember
        self.epochs = estimator.settings.epochs
        self.failed: dict[str, str] = {}

    def best(self, several: Sequence[Trial], advance: Advance) -> tuple[Trial | None, str | None]:
        """The best after all epochs, with its error or perplexity; or None and the last reason, where all failed."""
        architectures = [t.architecture for t in several]
        least = self.epochs / ETA
        searcher = MoAsha(
            self.space, [Objective(self.quality)], least=least, most=self.epochs, eta=ETA, contenders=architectures
        )
        total = sum((high - low) * met for low, high, met in self._rungs(searcher, len(several)))
        done, reason = 0.0, None
        while asked := searcher.ask():
            (trial,) = asked
            behind = 0.0 if trial.continues is None else max(r for r in searcher.rungs if r < (trial.budget or 0.0))
            self.estimator.progress = lambda at, loss, before=done - behind: advance(
                min(round(100 * (before + at)), round(100 * total)), round(100 * total), loss
            )  # type: ignore[misc]
            ended = self._ended(trial)
            reason = ended.reason or reason
            searcher.tell(ended)
            done += (trial.budget or 0.0) - behind
        ends = searcher.complete(self.epochs)
        return (min(ends, key=lambda t: t.values[self.quality]) if ends else None), reason

    @staticmethod
    def _rungs(searcher: MoAsha, contenders: int) -> list[tuple[float, float, int]]:
        """From which budget to which, and how many networks."""
        found, low = [], 0.0
        for high in searcher.rungs:
            found.append((low, high, contenders))
            low, contenders = high, max(1, contenders // searcher.eta)
        return found

    def _ended(self, trial: Trial) -> Trial:
        name = f"{self.estimator.identity}: {trial.key}@{trial.budget:g}"
        if name in self.failed:
            return replace(trial, status=Status.FAILED, reason=self.failed[name])
        # What went on to the end also has weights there; a smaller budget need not be reached again.
        if name not in self.known or trial.budget == self.epochs:
            (found,) = self.estimator.evaluate([trial.architecture], trial.budget)
            if found.failure is not None:
                self.failed[name] = found.failure
                return replace(trial, status=Status.FAILED, reason=found.failure)
            self.known[name] = found.values[self.quality]
            self.remember(self.known)
        return replace(trial, status=Status.COMPLETE, values={self.quality: self.known[name]})
