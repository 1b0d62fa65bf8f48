"""What the method of a run cannot do of what is asked, and settings that nothing in the run would read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from secateur import catalogue
from secateur.methods.base import SOME

if TYPE_CHECKING:
    from secateur.runs.prune.settings import PruneSettings

#: What is read only where a searcher chooses; by those with rungs; where something is polished, or heads and units are ordered.
CHOOSING = ("searcher", "aimed", "population", "sample")
RUNGS = ("r_min", "eta", "rung_order")
POLISHING = ("candidates", "polish_epochs", "polish_learning_rate", "variants", "masks", "polish_zoo")
ORDERING = ("order_epochs", "order_learning_rate")
#: What is read where networks are trained by themselves.
TUNING = ("lora_rank",)


def method_faults(c: PruneSettings) -> list[str]:
    """What the method cannot do of what is asked."""
    kind, found = catalogue.find("method", c.method), []
    if c.space in catalogue.names("space", c.verb) and c.space not in kind.spaces:
        found.append(f"the method `{c.method}` prunes in the space {' or '.join(kind.spaces)}, not in `{c.space}`.")
    if catalogue.with_budgets(c.searcher):
        if not kind.budgets:
            found.append(f"`{c.searcher}` needs a method whose candidates are trained, such as standard, not `{c.method}`.")
        if c.r_min > c.trial_epochs:
            found.append(f"`r_min` must be at most `trial_epochs` ({c.trial_epochs:g}), got {c.r_min:g}.")
        elif c.trials <= c.eta and c.r_min < c.trial_epochs:
            found.append(
                f"`trials` must be at least {c.eta + 1}: with fewer nothing in `{c.searcher}` goes on, got {c.trials}."
            )
    if c.stop_early is not None:
        if not kind.budgets:
            found.append(f"`stop_early` needs a method whose candidates are trained, such as standard, not `{c.method}`.")
        if catalogue.with_budgets(c.searcher):
            found.append(f"`stop_early` cannot be set: `{c.searcher}` stops trainings early by itself.")
    return found


def unused(c: PruneSettings) -> dict[str, str]:
    """Setting → why it cannot have an effect, of those that differ from what the preset says. Method and strategy are known."""
    given = set(changed(c, (*SOME, *CHOOSING, *RUNGS, *POLISHING, *ORDERING, *TUNING, "label_weight")))
    if given <= {"searcher"} and c.method == type(c).method:  # it has one: nothing need be imported to find out
        return {}
    kind = catalogue.find("method", c.method)
    why = {name: _others(name, c.method) for name in SOME if name in given and name not in kind.uses}
    if kind.lists:
        why |= dict.fromkeys(CHOOSING, f"the method `{c.method}` tries a list of its own")
    if not catalogue.with_budgets(c.searcher):
        why |= dict.fromkeys(RUNGS, "only searchers that stop trainings early have rungs, such as mo-asha")
    if not c.polish:
        why |= {name: "nothing is polished" for name in POLISHING if name != "candidates" or name not in kind.uses}
    elif kind.own:
        why["polish_zoo"] = "what is polished has weights of its own already"
    if c.polish and not masks_may_join(c):
        why.setdefault("masks", "none join where ranges are given, or one network begins at each size")
    if not c.polish and "order" in kind.uses:  # a super-network and nothing else
        why |= dict.fromkeys(TUNING, "no network is trained by itself")
    if "order" in kind.uses and not c.order:
        why |= dict.fromkeys(ORDERING, "heads and units are not ordered")
    if "k" in kind.uses and not catalogue.find("strategy", c.strategy).takes_k:
        why["k"] = f"the strategy `{c.strategy}` does not draw so many sub-networks"
    if not c.distillation_weight:
        why["label_weight"] = "nothing is distilled (`distillation_weight` 0), so that there is only the loss on the labels"
    return {name: reason for name, reason in why.items() if name in given}


def changed(c: PruneSettings, names: Iterable[str]) -> list[str]:
    """Of these settings those that differ from what the preset says."""
    return [name for name in names if getattr(c, name) not in (None, c.preset_value(name))]


def masks_may_join(c: PruneSettings) -> bool:
    """Whether there is room for networks by masks: not where the user wants networks of a kind, or one begins at each size."""
    return c.polish and c.candidates > 1 and not c.limits()


def _others(name: str, method: str) -> str:
    users = [other for other in catalogue.names("method", "prune") if name in catalogue.find("method", other).uses]
    return f"it is for the method {' or '.join(users)}, not for `{method}`"
