"""How predictors rank, by encoding and by how many networks they learn from.

    secateur bench import nb201_15625.csv.gz
    secateur bench import nb101_20k_multifidelity.csv.gz
    python recipes/nasbench/predictors.py runs/predictors [nb201 …]    # → predictors.csv

Beside the architectures alone, each is also fitted with what costs little: the number of parameters; on NAS-Bench-101 and 201
the accuracy after 12 epochs, which is not what is predicted there; on our decoders what zero-cost proxies say.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kept import HERE, replace_rows

import secateur

CELLS = ["adjacency", "adjacency-categorical", "adjacency-continuous", "path", "path-categorical", "path-continuous"]
CELLS += ["path-truncated", "vector", "graph"]
#: Table → what is asked of it.
ASKED: dict[str, dict[str, Any]] = {
    "nb201": {"metric": "cifar10_validation", "budget": 200, "encoding": CELLS, "train": "50,100,250,500"},
    "nb101": {"metric": "validation", "budget": 108, "encoding": CELLS, "train": "50,100,250,500"},
    "prune-stsb": {"metric": "error", "train": "25,50,100,250"},
    "prune-mrpc": {"metric": "error", "train": "25,50,100,250"},
    "design-wikitext2": {"metric": "perplexity", "train": "25,50,100"},
}
#: Table → sets of columns that a predictor sees beside the architecture, by name.
FEATURES: dict[str, dict[str, list[str]]] = {
    "nb201": {"parameters": ["parameters"], "12 epochs": ["parameters", "cifar10_validation@12"]},
    "nb101": {"parameters": ["parameters"], "12 epochs": ["parameters", "validation@12"]},
    "prune-stsb": {"parameters": ["body_parameters"]},
    "prune-mrpc": {"parameters": ["body_parameters"]},
    "design-wikitext2": {
        "parameters": ["decoder_parameters"],
        "proxies": ["decoder_parameters", "synflow", "snip", "jacob_cov", "grad_norm"],
    },
}


def main(folder: str, *tables: str) -> None:
    for table in tables or ASKED:
        asked = {**ASKED[table], "table": [table], "seeds": 10}
        for name, columns in {"none": [], **FEATURES[table]}.items():
            if columns and "encoding" in asked:  # the best of the first look are enough to see what features bring
                asked["encoding"] = ["adjacency", "path"]
            found = secateur.bench_predictors(**asked, feature=columns, to=Path(folder) / f"{table}-{name.replace(' ', '-')}")
            rows = [{"table": table, "features": name, **_told(row)} for row in found.rows()]
            replace_rows(HERE / "predictors.csv", rows, ("table", "features"))


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = (
        "predictor",
        "encoding",
        "train",
        "seeds",
        "spearman",
        "spearman_error",
        "kendall",
        "rmse",
        "pearson",
        "within_1",
        "seconds",
    )
    return {name: row[name] for name in kept}


if __name__ == "__main__":
    main(*sys.argv[1:])
