"""Pareto mathematics on plain arrays. Every column is minimised."""

from secateur.pareto.dominance import dominates, non_dominated, ranks
from secateur.pareto.hull import convex_hull
from secateur.pareto.hypervolume import hypervolume, hypervolume_over_time
from secateur.pareto.quantiles import quantile_normalise

__all__ = ["convex_hull", "dominates", "hypervolume", "hypervolume_over_time", "non_dominated", "quantile_normalise", "ranks"]
