"""The only table of names: what can be asked for on the command line or in a configuration, and the class behind each name.

Classes are imported when they are looked up: the names alone cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from secateur.errors import UnknownNameError

SPACES = {
    "small": "secateur.spaces.pruning:Small",
    "medium": "secateur.spaces.pruning:Medium",
    "layer": "secateur.spaces.pruning:Layer",
    "sublayer": "secateur.spaces.pruning:Sublayer",
    "large": "secateur.spaces.pruning:Large",
    "decoder": "secateur.spaces.decoder:Decoder",
}
SEARCHERS = {
    "random": "secateur.search:Random",
    "local": "secateur.search:LocalSearch",
    "mo-rea": "secateur.search:MoRea",
    "nsga2": "secateur.search:Nsga2",
    "ehvi": "secateur.search:Ehvi",
    "evolution": "secateur.search:Evolution",
}
STRATEGIES = {
    "standard": "secateur.training.strategies:Standard",
    "random": "secateur.training.strategies:Random",
    "random-linear": "secateur.training.strategies:RandomLinear",
    "sandwich": "secateur.training.strategies:Sandwich",
    "kd": "secateur.training.strategies:InPlaceDistillation",
    "full": "secateur.training.strategies:Full",
}
KINDS = {"space": SPACES, "searcher": SEARCHERS, "strategy": STRATEGIES}


def find(kind: str, name: str) -> Any:
    """The class called `name` among the spaces, searchers or strategies. Raises UnknownNameError with the nearest name."""
    table = KINDS[kind]
    if name not in table:
        raise UnknownNameError(kind, name, table)
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)
