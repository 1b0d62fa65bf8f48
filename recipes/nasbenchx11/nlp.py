"""The grid, and extrapolators, on the 345 cells of NAS-Bench-NLP at hand (Yan 2022, table 5.3, has 14,322).

    python recipes/nasbenchx11/nlp.py nbnlp_wikitext2_345.json.gz    # → nlp.csv, nlp-extrapolators.csv

With and without the first three epochs as features. No cell was trained twice, so that there is no divergence to tell.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from cells import read
from kept import HERE, replace_rows

from secateur.catalogue import find, names
from secateur.predictors.curves.model import CurveModel, Ways
from secateur.predictors.curves.scores import determination, kendall
from secateur.rng import generator
from secateur.runs.bench.predicting import figures

FOLDS, SEEDS = 5, 5
TRAIN, SHARES = (20, 50, 100), (0.1, 0.2, 0.4)


def grid(path: Path) -> None:
    """Each fifth of the cells is predicted by models of the others."""
    for early in (0, 3):
        known = read(path, early)
        order = generator(0, "folds").permutation(len(known))
        for compressor in names("compressor"):
            for regressor in names("regressor"):
                true, predicted, sizes = [], [], []
                for learnt, held_out in known.folds(FOLDS, order):
                    model = CurveModel.fitted(learnt, Ways(compressor, regressor, "deviation"))
                    true.append(held_out.curves[:, 0])
                    predicted.append(model.mean(held_out.inputs)[:, 0])
                    sizes.append(model.components)
                both = np.concatenate(true), np.concatenate(predicted)
                r2, tau = determination(*both), kendall(*both)
                row = {"early": early, "compressor": compressor, "regressor": regressor, "networks": len(known)}
                row |= {"components": float(np.mean(sizes)), "r2": float(r2.mean()), "r2_final": float(r2[-1])}
                row |= {"kendall": float(tau.mean()), "kendall_final": float(tau[-1])}
                replace_rows(HERE / "nlp.csv", [row], ("early", "compressor", "regressor"))


def extrapolate(path: Path) -> None:
    """Ends from beginnings, by how many whole trainings are known."""
    known = read(path)
    curves = known.curves[:, 0]
    for name in names("extrapolator"):
        for share in SHARES:
            for train in TRAIN if name != "wpm" else TRAIN[:1]:  # which learns from none
                found = []
                for seed in range(SEEDS if name != "wpm" else 1):
                    order = generator(seed, "split").permutation(len(known))
                    tested, learnt = order[:200], order[200 : 200 + train]
                    seen = round(share * len(known.budgets))
                    model = find("extrapolator", name)(known.budgets, seen, seed=seed)
                    model.learn(known.inputs[learnt], curves[learnt])
                    means, deviations = model.predict(known.inputs[tested], curves[tested, :seen])
                    found.append(figures(curves[tested, -1], means, deviations))
                row = {"extrapolator": name, "share": share, "train": train, "seeds": len(found)}
                row |= {n: float(np.mean([one[n] for one in found])) for n in ("kendall", "rmse", "within_1", "within_2")}
                replace_rows(HERE / "nlp-extrapolators.csv", [row], ("extrapolator", "share", "train"))


def main(path: str) -> None:
    grid(Path(path))
    extrapolate(Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
