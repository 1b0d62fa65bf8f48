"""The networks of run.py from scratch again, trained for longer: whether proxies rank them when they have learned more.

    python recipes/block-zoo/longer.py --data cifar10-8.npz --to runs/longer --images 4000 --factor 0.15 --batch 100 --flip \\
        --epochs 48

Rows are appended as they come; the same command goes on where it was stopped. `--first 50` begins with that network, so that
several processes share the work. tables.py keeps them as longer.csv.
"""

from __future__ import annotations

from functools import partial

import torch
from run import Rows, arguments, networks, trained, training_of

from secateur.images import build


def main() -> None:
    given = arguments(__doc__ or "").parse_args()
    torch.set_num_threads(given.threads)
    data, sizes, training = training_of(given)
    rows = Rows(given.to / f"rows-from-{given.first}.csv")
    for number, a in networks(given).items():
        fresh = partial(build, a, sizes, seed=0)
        rows.add(
            number, a.key, f"scratch_{given.epochs}", lambda fresh=fresh: trained(fresh().to(given.device), data, training)
        )


if __name__ == "__main__":
    main()
