"""The latency model of a design run: fitted to networks of the whole space, then to those that it would pick itself.

A search goes where its model is too optimistic. So the model's own front is measured and joins the fit, twice: what it had
underestimated is then known, and the next front is one of networks that are as fast as it says.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from secateur.architecture import Architecture
from secateur.devices.setup import Setup
from secateur.estimators.building import Build
from secateur.estimators.decoder_latency import DecoderLatency, DecoderParts
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_model import LatencyModel
from secateur.estimators.latency_sample import TURNS, Fitting, Measured, sample
from secateur.estimators.turns import measure_in_turns
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.search.exact import Solution
from secateur.search.layer_sums import LayerSums, told_by
from secateur.spaces.decoder import Decoder

#: How often the model's front is measured, how many of it, and the share of the time that they take.
ROUNDS, PICKS, SHARE = 2, 12, 0.4


def fit_model(
    build: Build,
    space: Decoder,
    setup: Setup,
    fitting: Fitting,
    counts: LayerSums,
    wanted: Sequence[Objective],
    progress: Callable[[int, int], None],
) -> LatencyModel:
    """A model fitted to random networks, and to some on its own front of decoder parameters against latency.

    `counts` tells what is counted, `wanted` has the run's objectives and bounds: the front is that within them.
    """
    began = time.perf_counter()
    rounds = 0 if setup.exported else ROUNDS  # an export takes longer than a measurement
    apart = replace(fitting, seconds=fitting.seconds * (1 - SHARE * rounds / ROUNDS))
    every = TURNS * (apart.networks + apart.held_out + rounds * PICKS)

    def advance(at: int) -> Callable[[int, int], None]:
        return lambda done, _: progress(min(at + done, every), every)

    parts = DecoderParts(space)
    found = sample(build, parts, setup, apart, advance(0))
    model, more = LatencyModel.of(found, parts, fitting.held_out, setup), list[Measured]()
    each = fitting.seconds * SHARE / (ROUNDS * PICKS * TURNS)
    estimator = LatencyEstimator(build, replace(setup, seconds=max(0.05, each)))
    error = math.nan
    for turn in range(rounds):
        known = {a.key for a, _ in (*found.measured, *more)}
        picks = [a for a in picked(model, space, counts, wanted, fitting.seed + turn) if a.key not in known]
        timed = measure_in_turns(
            estimator, picks, turns=TURNS, advance=advance(TURNS * (apart.networks + apart.held_out + turn * PICKS))
        )
        new = [(a, float(timed[a.key]["values"]["latency"])) for a in picks if "values" in timed[a.key]]
        error = float(model.errors(new).mean()) if new else error
        more += new
        model = LatencyModel.of(found, parts, fitting.held_out, setup, more)
    progress(every, every)
    report = replace(model.report, seconds=time.perf_counter() - began, front=None if math.isnan(error) else error)
    return replace(model, report=report)


def picked(
    model: LatencyModel, space: Decoder, counts: LayerSums, wanted: Sequence[Objective], seed: int
) -> list[Architecture]:
    """Some of the model's front of decoder parameters against latency, within the bounds on what is counted and on latency."""
    sums = [counts, DecoderLatency(model)]
    bounds = [o for o in wanted if o.name in told_by(sums)]
    objectives = [Objective("decoder_parameters", "max"), Objective("latency")]
    solution = Solution.of(space, sums, objectives, bounds)
    return [solution.architecture(place) for place in islice(solution.order(generator(seed, "picks")), PICKS)]
