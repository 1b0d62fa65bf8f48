"""Searchers: what to try next. Libraries load when a searcher that needs them is made."""

from secateur.search.base import Aim, Searcher
from secateur.search.bohb import Bohb
from secateur.search.ehvi import Ehvi
from secateur.search.evolution import Evolution
from secateur.search.exact import Exact
from secateur.search.hyperband import Hyperband, SuccessiveHalving
from secateur.search.listed import Listed
from secateur.search.local import LocalSearch
from secateur.search.mo_asha import MoAsha
from secateur.search.mo_rea import MoRea
from secateur.search.model import ModelSearcher
from secateur.search.nsga2 import Nsga2
from secateur.search.random import Random
from secateur.search.reinforce import Reinforce

__all__ = [
    "Aim",
    "Bohb",
    "Ehvi",
    "Evolution",
    "Exact",
    "Hyperband",
    "Listed",
    "LocalSearch",
    "MoAsha",
    "MoRea",
    "ModelSearcher",
    "Nsga2",
    "Random",
    "Reinforce",
    "Searcher",
    "SuccessiveHalving",
]
