"""How many learning curves a fitted surrogate tells in a second, in batch, with the noise of a training each.

Target: 10,000 a second, by the clock: trees use all cores. The surrogate is that of our trained decoders: LightGBM on five
numbers and on the seconds of a training.
"""

from __future__ import annotations

import time

import numpy as np
from measuring import Report, arguments, spread_of

from secateur.predictors.curves.model import Ways
from secateur.rng import generator
from secateur.tables.curves.material import Reading
from secateur.tables.curves.surrogate import CurveSurrogate
from secateur.tables.opening import open_table


def main() -> None:
    given = arguments(__doc__ or "")
    report = Report(given.quick)
    table = open_table("curves-wikitext2")
    surrogate = CurveSurrogate.fitted(table, Reading.of(table, ["loss"]), Ways(noise="seeds", components=5))
    asked = surrogate.space.sample_many(100 if given.quick else 20_000, generator(given.seed, "asked"))
    times = []
    for turn in range(1 if given.quick else 5):
        began = time.perf_counter()
        surrogate.answers(asked, turn)
        times.append(time.perf_counter() - began)
    low, high = (value * 10_000 / len(asked) for value in spread_of(times))
    name = f"{len(asked):,} curves told by a surrogate, for each 10,000 ÷ 1 s"
    report.add(name, float(np.median(times)) * 10_000 / len(asked), 1.0, lowest=low, highest=high)
    report.end()


if __name__ == "__main__":
    main()
