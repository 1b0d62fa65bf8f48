"""Settings of REINFORCE in arch2vec's space, compared on the data sets that are not used later → reinforce.csv.

    python recipes/arch2vec/reinforce.py    # after search.py tune

The text has a rate of 0.01, a deviation of 1 and a discount of 0.8 (0.4 on NAS-Bench-201), 16 architectures in an episode.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import rankdata
from search import ELSEWHERE, HERE, chosen, replace_rows

from secateur.objectives import Objective
from secateur.search.reinforce import Reinforce
from secateur.study import Stop, Study
from secateur.study.memory_store import MemoryStore
from secateur.tables import TableEstimator
from secateur.tables.opening import open_table
from secateur.tables.searchable import SearchTable

SEEDS, AT = 20, (50, 100, 150)


@dataclass(frozen=True)
class Setting:
    """Learning rate, deviation of the policy, discount, and architectures of an episode."""

    rate: float = 0.01
    deviation: float = 1.0
    discount: float = 0.8
    batch: int = 16


SETTINGS = [Setting(deviation=deviation, discount=discount) for deviation in (1.0, 0.5, 0.25) for discount in (0.8, 0.4, 0.0)]
SETTINGS += [Setting(rate=0.03, discount=0.0), Setting(discount=0.0, batch=8)]


def best(table: SearchTable, objective: str, setting: Setting, seed: int) -> list[float]:
    """The best accuracy after 12 epochs that a search has seen after so many queries."""
    objectives = (Objective(objective, "max"),)
    searcher = Reinforce.encoded(chosen())(table.space, objectives, seed=seed, **asdict(setting))
    study = Study(MemoryStore(), searcher, [TableEstimator(table.table, [objective], budget=12.0)], objectives)
    study.run(Stop(trials=AT[-1]))
    seen = [trial.values[objective] for trial in sorted(study.trials(), key=lambda trial: trial.told or 0)]
    return [max(seen[:queries]) for queries in AT]


def main() -> None:
    table = open_table("nb201")
    for objective in ELSEWHERE:
        ceiling = float(np.nanmax(table.table.column(objective, 12.0)))
        found = np.array([[best(table, objective, setting, seed) for seed in range(SEEDS)] for setting in SETTINGS])
        ranks = rankdata(-found, axis=0)
        rows = [
            {
                "objective": objective,
                **asdict(setting),
                "queries": queries,
                "seeds": SEEDS,
                "regret": float((ceiling - found[s, :, q]).mean()),
                "rank": float(ranks[s, :, q].mean()),
            }
            for q, queries in enumerate(AT)
            for s, setting in enumerate(SETTINGS)
        ]
        replace_rows(HERE / "reinforce.csv", rows, ("objective",))


if __name__ == "__main__":
    main()
