"""Search under budgets by the block zoo and by other proxies: local search in a Study; what is found is trained.

    python recipes/block-zoo/search.py --data cifar10-8.npz --to runs/block-zoo-search --images 4000 --factor 0.15 \\
        --reference-epochs 40 --batch 100 --flip --seed 0                                   # and the other options of run.py

For each budget, a share of the reference's parameters, and each proxy, `trials` networks within it are scored. The best by the
proxy is trained from scratch and from its blocks; so are `drawn` random networks within the budget. Adds to `search.csv`, a
row per network; the same command goes on where it was stopped, another seed has other searches, random networks and batches.
"""

from __future__ import annotations

from pathlib import Path

import torch
from run import Bench, arguments
from tables import SEARCHED, is_known, replace_rows

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator
from secateur.estimators.block_zoo.estimator import BlockZooEstimator
from secateur.estimators.image_cost import ImageCost
from secateur.estimators.proxies import ProxyEstimator
from secateur.images import build
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.runs.bounds import check_bounds
from secateur.search import LocalSearch
from secateur.study import Stop, Study, create_store

ZOO, REMAPPED, RANDOM = "zoo_20", "remapped", "random"
#: What searches go by: the zoo, its blocks before distillation, the best zero-cost proxy (README), the number of operations.
GUIDES = (ZOO, REMAPPED, "naswot", "macs")


def guide(bench: Bench, name: str) -> list[Estimator]:
    """What scores networks: beside the counts, where it is not one of them."""
    if name in bench.zoos:
        return [BlockZooEstimator(bench.zoos[name])]
    if name == "macs":
        return []
    batches = bench.batches[: bench.given.proxy_batches]
    return [ProxyEstimator(lambda a: build(a, bench.sizes, seed=0).to(bench.given.device), batches, name)]


def found(bench: Bench, limit: float, trials: int, by: str) -> Architecture:
    """The network within the budget that a guide scores best. Raises BoundError for a budget that nothing meets."""
    cost, name = ImageCost(bench.sizes), f"parameters<={limit:.0f}"
    bounded, scored = Objective.parse(name), Objective("block_zoo" if by in bench.zoos else by, "max")
    least, most = cost.count(bench.space.smallest()), cost.count(bench.space.largest())
    check_bounds(bench.space.name, [(bounded, name)], least, most, most)
    objectives = [scored, bounded]
    searcher = LocalSearch(bench.space, objectives, seed=bench.given.seed)
    study = Study(create_store("memory://"), searcher, [cost, *guide(bench, by)], objectives)
    study.run(Stop(trials=trials))
    within = [t for t in study.trials() if t.status == "complete"]
    return max(within, key=lambda t: t.values[scored.name]).architecture


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


def trained(bench: Bench, a: Architecture) -> dict[str, object]:
    """What the table says of a network: its costs, the zoo's score, and its accuracies after training."""
    counted, zoo = ImageCost(bench.sizes).count(a), bench.zoos[ZOO]
    return {
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
    data = Path(given.data).stem
    known: dict[Architecture, dict[str, object]] = {}
    for budget in (float(share) for share in given.budgets.split(",")):
        for by in (*GUIDES, RANDOM):
            which = dict(zip(SEARCHED, (data, given.seed, budget, by), strict=True))
            if is_known(path, **which):
                continue
            limit = budget * whole
            networks = drawn(bench, limit, given.drawn) if by == RANDOM else [found(bench, limit, given.trials, by)]
            for a in networks:
                known[a] = known.get(a) or trained(bench, a)
            replace_rows(path, [{**which, **known[a]} for a in networks], tuple(which))


if __name__ == "__main__":
    main()
