"""Pareto mathematics on plain arrays. Every column is minimised."""

from secateur.pareto.dominance import dominates, non_dominated, ranks
from secateur.pareto.epsilon_net import epsilon_net
from secateur.pareto.hull import convex_hull
from secateur.pareto.hypervolume import hypervolume, hypervolume_over_time
from secateur.pareto.quantiles import quantile_normalise

__all__ = [
    "convex_hull",
    "dominates",
    "epsilon_net",
    "hypervolume",
    "hypervolume_over_time",
    "non_dominated",
    "quantile_normalise",
    "ranks",
]
