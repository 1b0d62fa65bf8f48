"""Do learnt encodings pay? Searches of NAS-Bench-201 with and without them, 200 paired seeds.

    secateur bench import nb201_15625.csv.gz
    python recipes/arch2vec/pretrain.py runs/arch2vec
    python recipes/cate/pretrain.py runs/cate nb201
    python recipes/arch2vec/search.py tune runs/learnt       # CIFAR-100 and ImageNet16-120 → tuning.csv
    python recipes/arch2vec/search.py compare runs/learnt    # CIFAR-10 → search.csv, pairs.csv

Which training of arch2vec is used is chosen on the two other data sets, by its mean rank under DNGO.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import mean_ranks as ranked  # noqa: E402
from rows import replace_rows, rows_of  # noqa: E402

import secateur  # noqa: E402

TRAINED = {name: f"runs/arch2vec/nb201-{name}" for name in ("text", "bound", "published", "no-kl", "vgae", "d-vae")}
CATE = "runs/cate/nb201"
ELSEWHERE = ("cifar100_validation", "imagenet16_validation")
#: Compared with every encoding.
WAYS = ("dngo", "dngo-ls")
#: What needs no learnt encoding, as recipes/nasbench has tuned it.
PLAIN = ("random", "local", "mo-rea:20/20", "reinforce", "bananas:path", "dngo:adjacency")
VALIDATION, TEST = "cifar10_validation@200", "cifar10_test@200"


def tune(folder: Path) -> None:
    """How the trained encodings compare under DNGO elsewhere."""
    for objective in ELSEWHERE:
        found = secateur.bench_search(
            table=["nb201"],
            searcher=[f"dngo:{encoding}" for encoding in (*TRAINED.values(), CATE, "adjacency", "path")],
            objective=[objective],
            report=[],
            seeds=20,
            queries=150,
            at="50,100,150",
            to=folder / objective,
        )
        kept = ("searcher", "queries", "seeds", "regret", "regret_error", "rank", "seconds")
        rows = [{"objective": objective, **{name: row[name] for name in kept}} for row in found.rows()]
        replace_rows(HERE / "tuning.csv", rows, ("objective",))


def mean_ranks() -> dict[str, float]:
    """Encoding → its mean rank elsewhere, the lowest first."""
    return ranked(rows_of(HERE / "tuning.csv"), lambda row: row["searcher"].partition(":")[2])


def chosen() -> str:
    """The training of arch2vec (not of its baselines) that was best elsewhere."""
    own = [TRAINED[name] for name in ("text", "bound", "published")]
    return next(name for name in mean_ranks() if name in own)


def compare(folder: Path) -> None:
    """All on CIFAR-10, with 150 queries and with 500. With 500, searches end with the best cell: what is told is the same."""
    learnt = (chosen(), CATE)
    slow = [f"{way}:{encoding}" for encoding in learnt for way in WAYS] + [f"reinforce:{chosen()}"]
    for queries, at in ((500, "500"), (150, "50,100,150")):
        found = secateur.bench_search(
            table=["nb201"],
            searcher=[*PLAIN, *slow],
            seeds=200,
            queries=queries,
            at=at,
            until_best=queries == 500,
            to=folder / f"cifar10-{queries}",
        )
        replace_rows(HERE / "search.csv", [_told(row) for row in found.rows()], ("searcher", "queries"))
    pairs = [{"measure": m, **pair.as_dict()} for m, them in found.pairs["nb201"].items() for pair in them]
    replace_rows(HERE / "pairs.csv", pairs, ("measure",))


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("searcher", "queries", "seeds", VALIDATION, TEST, f"{TEST}_error", "regret", "regret_error", "rank", "seconds")
    return {name: row[name] for name in names}


def main(what: str, folder: str) -> None:
    {"tune": tune, "compare": compare}[what](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
