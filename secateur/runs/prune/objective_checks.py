"""What the objectives of a pruning run must be: how good a network is comes first, costs come after it."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.objectives import PERPLEXITY, QUALITIES, Objective, serving
from secateur.runs.settings import Faults

#: The kind of task whose networks have a perplexity.
LANGUAGE = "language_modelling"


def objective_faults(objectives: Sequence[str], kind: str | None) -> list[str]:
    """What is wrong with the objectives as the user wrote them, in a task of this kind."""
    found = Faults([])
    parsed = [o for o in (found.tried(Objective.parse, text, serving("prune")) for text in objectives) if o is not None]
    names = [o.name for o in parsed]
    if len(set(names)) < len(names):
        found.append(f"an objective is named twice: {', '.join(objectives)}.")
    if len(parsed) < len(objectives):
        return found
    first = names[0] if names else ""
    if set(QUALITIES) <= set(names):
        found.append("`error` and `perplexity` cannot both be objectives: each says how good a language model is. Choose one.")
    elif first not in QUALITIES:
        known = "`error`, or a language model's `perplexity`"
        found.append(f"the first objective must be {known}, got `{first}`. Costs come after it.")
    elif first == PERPLEXITY and kind != LANGUAGE:
        found.append(f"`perplexity` is an objective of language_modelling only, and `kind` is {kind}.")
    return found
