"""The networks of run.py from scratch again, trained for longer: whether proxies rank them when they have learned more.

    python recipes/block-zoo/longer.py --data cifar10-8.npz --to runs/longer --images 4000 --factor 0.15 --batch 100 --flip \\
        --epochs 48

Rows are appended as they come; the same command goes on where it was stopped. tables.py keeps them as longer.csv.
"""

from __future__ import annotations

from functools import partial

import torch
from run import Rows, arguments, drawn, trained, training_of

from secateur.images import build
from secateur.spaces.mobilenet import Mobilenet


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--first", type=int, default=0, help="begin with this network: several processes share the work")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    data, sizes, training = training_of(given)
    rows = Rows(given.to / f"rows-from-{given.first}.csv")
    for number in range(given.first, given.networks):
        a = drawn(Mobilenet(), given.seed, number)
        fresh = partial(build, a, sizes, seed=0)
        rows.add(
            number, a.key, f"scratch_{given.epochs}", lambda fresh=fresh: trained(fresh().to(given.device), data, training)
        )


if __name__ == "__main__":
    main()
