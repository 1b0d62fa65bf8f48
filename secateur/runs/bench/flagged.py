"""Searchers that work by a surrogate's own technique: what they find on it may be found by likeness (Yan 2022, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.catalogue import find_searcher
from secateur.encodings.learned import Trained
from secateur.runs.bench.contenders import Contender
from secateur.runs.bench.problem import Problem
from secateur.search.model_based import ModelBased
from secateur.tables.curves.answering import AnsweringTable

#: A surrogate's regressor → the predictors that are the same technique.
SAME = {"mlp": ("mlp", "dngo"), "lgb": ("trees",), "xgb": ("trees",)}
#: Learners of encodings that are variational autoencoders.
AUTOENCODERS = ("arch2vec", "vgae", "d-vae")


def flags(problems: Sequence[Problem], contenders: Sequence[Contender]) -> list[str]:
    """What a reader must know of searchers on surrogates that work as these do."""
    found = []
    for problem in problems:
        table = problem.table.table
        if isinstance(table, AnsweringTable) and table.surrogate is not None:
            ways = table.surrogate.ways
            for contender in contenders:
                if (likeness := _alike(contender, ways.compressor, ways.regressor)) is not None:
                    found.append(
                        f"{contender.name} works by {likeness}, as the surrogate {problem.name} does: what it finds there may "
                        "be due to that likeness, and should not be compared with others."
                    )
    return found


def _alike(contender: Contender, compressor: str, regressor: str) -> str | None:
    """What a searcher and a surrogate have in common."""
    kind = find_searcher(contender.searcher)
    if isinstance(kind, ModelBased) and kind.predictor in SAME.get(regressor, ()):
        return "boosted trees" if "trees" in SAME[regressor] else "fully connected networks"
    folder = contender.encoding or ""
    if compressor == "vae" and "/" in folder and Trained(folder).card["method"] in AUTOENCODERS:
        return "a variational autoencoder"
    return None
