"""Search under budgets with the block zoo: local search in a Study, then what it found is trained, and so are random networks.

    python recipes/block-zoo/search.py --data digits --to runs/block-zoo        # with the options of run.py

For each budget, a share of the reference's parameters, `trials` networks within it are scored. The best by the zoo is trained
from scratch and from its blocks; so are `drawn` random networks within the budget. Writes `search.csv`, a row per network.
"""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from run import Bench, arguments

from secateur.architecture import Architecture
from secateur.estimators.block_zoo.estimator import BlockZooEstimator
from secateur.estimators.image_cost import ImageCost
from secateur.images import build
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.runs.bounds import check_bounds
from secateur.search import LocalSearch
from secateur.study import Stop, Study, create_store

COLUMNS = ("budget", "found_by", "parameters", "macs", "block_zoo", "scratch", "distilled", "expansions")


def found(bench: Bench, limit: float, trials: int) -> Architecture:
    """The network within the budget that the zoo scores best. Raises BoundError for a budget that nothing meets."""
    cost, name = ImageCost(bench.sizes), f"parameters<={limit:.0f}"
    objectives = [Objective("block_zoo", "max"), Objective.parse(name)]
    least, most = cost.count(bench.space.smallest()), cost.count(bench.space.largest())
    check_bounds(bench.space.name, [(objectives[1], name)], least, most, most)
    searcher = LocalSearch(bench.space, objectives, seed=bench.given.seed)
    study = Study(create_store("memory://"), searcher, [cost, BlockZooEstimator(bench.zoos["zoo_20"])], objectives)
    study.run(Stop(trials=trials))
    within = [t for t in study.trials() if t.status == "complete"]
    return max(within, key=lambda t: t.values["block_zoo"]).architecture


def drawn(bench: Bench, limit: float, count: int) -> list[Architecture]:
    """Random networks of at most the budget and at least half of it."""
    cost, rng, kept = ImageCost(bench.sizes), generator(bench.given.seed, "search", int(limit)), []
    for _ in range(100_000):
        a = bench.space.sample(rng)
        if limit / 2 <= cost.count(a)["parameters"] <= limit:
            kept.append(a)
            if len(kept) == count:
                break
    return kept


def row(bench: Bench, budget: float, by: str, a: Architecture) -> dict[str, object]:
    counted, zoo = ImageCost(bench.sizes).count(a), bench.zoos["zoo_20"]
    return {
        "budget": budget,
        "found_by": by,
        **{name: int(value) for name, value in counted.items()},
        "block_zoo": f"{zoo.score(a):.6g}",
        "scratch": f"{bench.final(build(a, bench.sizes).to(bench.given.device)):.6g}",
        "distilled": f"{bench.final(zoo.assemble(a)):.6g}",
        "expansions": "|".join("-".join(map(str, stage)) for stage in a["expansions"]),  # type: ignore[union-attr]
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--budgets", default="0.15,0.3,0.6", help="shares of the reference's parameters")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--drawn", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    bench = Bench(given)
    whole = ImageCost(bench.sizes).count(bench.space.largest())["parameters"]
    path: Path = given.to / "search.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for budget in (float(share) for share in given.budgets.split(",")):
            networks = [("search", found(bench, budget * whole, given.trials))]
            networks += [("random", a) for a in drawn(bench, budget * whole, given.drawn)]
            for by, a in networks:
                writer.writerow(row(bench, budget, by, a))
                file.flush()


if __name__ == "__main__":
    main()
