"""How well encodings predict: Gaussian processes that know 250 cells of NAS-Bench-101 (Yan 2022, figure 3.2).

    secateur bench import nb101_20k_multifidelity.csv.gz
    python recipes/arch2vec/pretrain.py runs/arch2vec nb101-bound
    python recipes/arch2vec/predict.py runs/predict    # → predict.csv

The supervised counterpart is told the accuracies of 250 cells, too; the processes know 250 others, ten draws of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402

ENCODINGS = ["adjacency", "path", "runs/arch2vec/nb101-bound", "runs/arch2vec/nb101-supervised", "runs/cate/indirect"]
ENCODINGS += ["runs/cate/direct", "runs/cate/small-indirect", "runs/cate/small-direct"]
KEPT = ("predictor", "encoding", "train", "seeds", "spearman", "spearman_error", "kendall", "rmse", "pearson", "within_1")


def main(folder: str) -> None:
    supervised = {"method": "supervised", "table": "nb101", "metric": "validation", "budget": 108.0, "cells": 250}
    secateur.encode_pretrain("nasbench101", to=Path("runs/arch2vec/nb101-supervised"), **supervised)
    found = secateur.bench_predictors(
        table=["nb101"],
        metric="validation",
        budget=108,
        predictor=["gp", "dngo"],
        encoding=ENCODINGS,
        train="250",
        seeds=10,
        to=Path(folder),
    )
    replace_rows(HERE / "predict.csv", [{name: row[name] for name in KEPT} for row in found.rows()], ("predictor", "encoding"))


if __name__ == "__main__":
    main(*sys.argv[1:])
