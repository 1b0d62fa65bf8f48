"""Over repetitions: standard errors, and average ranks of methods as Feurer et al. (2015) and Klein et al. (2024) draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from secateur.rng import Generator

if TYPE_CHECKING:
    import pandas

#: How often repetitions are drawn.
SAMPLES = 1000


def average_ranks(regrets: Mapping[str, Sequence[np.ndarray]], rng: Generator, samples: int = SAMPLES) -> dict[str, np.ndarray]:
    """Method → its average rank (t,) at each time, 1 the best, ties at their mean.

    `regrets` has for each method one array per task, the same tasks in the same order: (repetitions, t), lower is better. Each
    sample draws a task and one repetition of every method on it, and ranks the methods against each other.
    """
    from scipy.stats import rankdata

    several = list(regrets.values())
    if len({len(tasks) for tasks in several}) > 1:
        raise ValueError("every method needs the same tasks to be ranked against the others")
    total = np.zeros((len(several), several[0][0].shape[1]))
    counts = np.bincount(rng.integers(0, len(several[0]), size=samples), minlength=len(several[0]))
    for task, count in enumerate(counts):
        drawn = [tasks[task][rng.integers(0, len(tasks[task]), size=count)] for tasks in several]
        total += rankdata(np.stack(drawn), axis=0).sum(axis=1)
    return dict(zip(regrets, total / samples, strict=True))


def standard_error(values: np.ndarray) -> np.ndarray:
    """Over the repetitions (the first axis); 0 where there is only one."""
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1:]))


def summarised(rows: pandas.DataFrame, names: Iterable[str]) -> dict[str, float | None]:
    """Column → its mean over the rows that have it, and as NAME_error its standard error; None where that cannot be told. Of
    seconds it is the median: the first of a process also loads libraries."""
    found: dict[str, float | None] = {}
    for name in names:
        values = rows[name].dropna().to_numpy(dtype=float)
        middle = np.median if name == "seconds" else np.mean
        found[name] = float(middle(values)) if len(values) else None
        found[f"{name}_error"] = float(standard_error(values)) if len(values) > 1 else None
    return found
