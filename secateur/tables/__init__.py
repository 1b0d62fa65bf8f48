"""Tables to judge and to search on: trained architectures, and how well a proxy ranks them."""

from secateur.tables.ranking import (
    SHARES,
    FrontAccuracy,
    Interval,
    Ranking,
    common_ratio,
    front_accuracy,
    kendall,
    rank,
    spearman,
    top,
)
from secateur.tables.trained import SOURCES, Ceiling, Trained, TrainedTable, read_trained

__all__ = [
    "SHARES",
    "SOURCES",
    "Ceiling",
    "FrontAccuracy",
    "Interval",
    "Ranking",
    "Trained",
    "TrainedTable",
    "common_ratio",
    "front_accuracy",
    "kendall",
    "rank",
    "read_trained",
    "spearman",
    "top",
]
