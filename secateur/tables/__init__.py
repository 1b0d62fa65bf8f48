"""Tables to judge and to search on: trained or measured networks, and how well a proxy ranks them."""

from secateur.tables.estimator import TableEstimator
from secateur.tables.ranking import SHARES, FrontAccuracy, Ranking, front_accuracy, kendall, rank, spearman
from secateur.tables.reading import read_table, read_trained
from secateur.tables.table import Ceiling, Table

__all__ = [
    "SHARES",
    "Ceiling",
    "FrontAccuracy",
    "Ranking",
    "Table",
    "TableEstimator",
    "front_accuracy",
    "kendall",
    "rank",
    "read_table",
    "read_trained",
    "spearman",
]
