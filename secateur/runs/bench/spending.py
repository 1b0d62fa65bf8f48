"""What a run of `secateur prune` has spent, all its stages counted: seconds, and passes over the training data."""

from __future__ import annotations

from typing import Any

from secateur.catalogue import find
from secateur.study import Journal

#: How the curves of polished networks are called: their trainings are counted by what they reached.
_POLISH = "polish "


def seconds_before(run: Any, *stages: str) -> float:
    """Seconds before the first of these stages."""
    total = 0.0
    for row in Journal(run.store).rows():
        if row.name in stages:
            break
        total += row.spent
    return total


def passes_over_data(run: Any) -> float:
    """How often the training set was passed in all trainings together: of whole networks, of trials, in polishing.

    A step that trains several sub-networks on one batch passes it once.
    """
    examples, batch = run.task["sizes"]["train"], run.configuration.batch_size
    names = [name for name in run.store.curves() if not name.startswith(_POLISH)]
    steps = sum(max(step for step, _ in run.store.curve(name)) for name in names)
    reached: dict[str, float] = {}
    for name in run.store.get_meta("polishing", {}):  # with how many variants of each text: key@epochs
        key, _, epochs = name.rpartition("@")
        read = 1 + int(name.split()[1])
        reached[key] = max(reached.get(key, 0.0), read * float(epochs))
    return float(steps * batch / examples + _of_trials(run) + sum(reached.values()))


def _of_trials(run: Any) -> float:
    """Epochs of trials that were trained each by itself; one that goes on with another spends the difference."""
    from secateur.methods.standard import Standard

    if not issubclass(find("method", run.configuration.method), Standard):
        return 0.0
    whole = run.configuration.trial_epochs
    epochs = {t.id: whole if t.budget is None else t.budget for t in run.trials if t.id is not None}
    goes_on = {t.id: epochs.get(t.continues, 0.0) for t in run.trials if t.id is not None and t.continues is not None}
    return float(sum(epochs.values()) - sum(goes_on.values()))
