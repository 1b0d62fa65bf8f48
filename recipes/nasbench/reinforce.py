"""Settings of REINFORCE's policy, compared on the data sets that are not used later → rows of tuning.csv.

    python recipes/nasbench/reinforce.py

`secateur bench search` knows no settings of it: these are searches of its classes, judged as search.py judges the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from kept import HERE, replace_rows
from scipy.stats import rankdata
from search import ELSEWHERE

from secateur.objectives import Objective
from secateur.search.reinforce import Reinforce
from secateur.study import Stop, Study
from secateur.study.memory_store import MemoryStore
from secateur.tables import TableEstimator
from secateur.tables.opening import open_table

SEEDS, AT = 20, (50, 100, 150)


@dataclass(frozen=True)
class Setting:
    """Learning rate, weight of the entropy, and how many results a step is taken on."""

    rate: float = 0.003
    entropy: float = 0.03
    batch: int = 10

    def __str__(self) -> str:
        return f"reinforce:{self.rate:g}/{self.entropy:g}/{self.batch}"


SETTINGS = [Setting(rate, entropy) for rate in (0.001, 0.003, 0.01) for entropy in (0.03, 0.1)]
SETTINGS += [Setting(entropy=0.1, batch=batch) for batch in (5, 20)]


def best(objective: str, setting: Setting, seed: int) -> list[float]:
    """The best accuracy after 12 epochs that a search has seen after so many queries."""
    table = open_table("nb201")
    objectives = (Objective(objective, "max"),)
    options = {"rate": setting.rate, "entropy": setting.entropy, "batch": setting.batch}
    searcher = Reinforce(table.space, objectives, seed=seed, **options)
    study = Study(MemoryStore(), searcher, [TableEstimator(table.table, [objective], budget=12.0)], objectives)
    study.run(Stop(trials=AT[-1]))
    seen = [trial.values[objective] for trial in sorted(study.trials(), key=lambda trial: trial.told or 0)]
    return [max(seen[:queries]) for queries in AT]


def main() -> None:
    for objective in ELSEWHERE:
        ceiling = float(np.nanmax(open_table("nb201").table.column(objective, 12.0)))
        found = np.array([[best(objective, setting, seed) for seed in range(SEEDS)] for setting in SETTINGS])
        ranks = rankdata(-found, axis=0)
        rows = [
            {
                "family": "reinforce",
                "objective": objective,
                "searcher": str(setting),
                "queries": queries,
                "seeds": SEEDS,
                "regret": float((ceiling - found[s, :, q]).mean()),
                "regret_error": float((ceiling - found[s, :, q]).std(ddof=1) / SEEDS**0.5),
                "rank": float(ranks[s, :, q].mean()),
                "seconds": "",
            }
            for q, queries in enumerate(AT)
            for s, setting in enumerate(SETTINGS)
        ]
        replace_rows(HERE / "tuning.csv", rows, ("family", "objective"))
        print(objective, *(f"{setting}: {ranks[s].mean():.2f}" for s, setting in enumerate(SETTINGS)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
