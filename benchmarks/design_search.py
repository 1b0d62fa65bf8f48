"""A search for decoders: on a latency model with its front measured, against measuring every candidate.

The search is `secateur design` as it comes: the model's fit, the exact front's 2,500 candidates, and the members of it that
are measured. Baselines are left out. Target: at most 10 minutes of wall-clock time (a ratio is the time ÷ the time allowed).
Measuring every candidate is what the paper does: build the network in the ordinary way, one pass for its memory, one to warm
it up, and ten that are timed. A sample of the search's own candidates is measured so, and their mean stands for all. Target:
the search is at least 10 × faster.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import Report, arguments, spread_of

from secateur.architecture import Architecture
from secateur.decoders import build
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import peak_memory
from secateur.rng import generator
from secateur.runs.design.run import DesignRun
from secateur.runs.folder import open_run
from secateur.study import Journal
from secateur.trial import MEASURED
from secateur.verbs.design import design

ALLOWED = 600.0
SAMPLE = 16
TOY: dict[str, Any] = {
    "layers": "1..2",
    "width": "16..32:16",
    "inner": "32..64:16",
    "heads": "2",
    "embedding": "8",
    "vocabulary": 60,
    "positions": 16,
    "length": 8,
    "trials": 20,
    "seconds": 0.05,
    "fit_seconds": 1.0,
}


def measured_one_by_one(run: DesignRun, architecture: Architecture) -> float:
    """Seconds that the paper's way takes for one candidate."""
    import torch

    c = run.configuration
    began = time.perf_counter()
    network = build(architecture, c.sizes())
    inputs = dummy_inputs(network, c.batch, c.length, "language_modelling")
    peak_memory(network, inputs)
    with torch.inference_mode():
        for _ in range(11):
            network(**inputs)
    return time.perf_counter() - began


def searched(folder: Path, seed: int, **options: Any) -> DesignRun:
    return design(to=folder, baselines=False, unsteady=True, seed=seed, progress=not options, **options)


def main() -> None:
    import torch

    given = arguments(__doc__ or "", lambda parser: parser.add_argument("--run", type=Path, help="a finished run to judge"))
    torch.set_num_threads(1)
    report = Report(given.quick)
    with tempfile.TemporaryDirectory() as folder:
        options = TOY if given.quick else {}
        run = open_run(given.run) if given.run else searched(Path(folder) / "run", given.seed, **options)
        stages = {row.name: float(row.seconds or 0) for row in Journal(run.store).rows() if row.name in ("fit", "search")}
        front = {t.key for t in run.trials if t.origin == MEASURED}  # baselines have their turns among them
        stages["measure"] = sum(found["seconds"] for key, found in run.store.get_meta("timed").items() if key in front)
        total = sum(stages.values())
        trials = [t for t in run.trials if t.id is not None]
        checked = [t for t in run.trials if t.origin == MEASURED and t.status == "complete"]
        errors = [abs(float(t.details["predicted_latency"]) / t.values["latency"] - 1) for t in checked]
        print(", ".join(f"{name} {seconds:.0f} s" for name, seconds in stages.items()), flush=True)
        print(
            f"{len(checked)} measured; predictions off by {statistics.mean(errors):.1%}, {max(errors):.1%} at most", flush=True
        )
        report.add(
            "a design search ÷ 10 minutes",
            total / ALLOWED,
            1.0,
            seconds=total,
            **{f"{name}_seconds": taken for name, taken in stages.items()},
            trials=len(trials),
            measured=len(checked),
        )
        places = generator(given.seed, "sample").permutation(len(trials))[: 3 if given.quick else SAMPLE]
        each = [measured_one_by_one(run, trials[int(place)].architecture) for place in places]
        ratio, lowest, highest = (taken * len(trials) / total for taken in (statistics.mean(each), *spread_of(each)))
        report.add(
            "measuring every candidate ÷ the search",
            ratio,
            10.0,
            at_least=True,
            lowest=lowest,
            highest=highest,
            seconds_each=statistics.mean(each),
            sample=len(each),
        )
        run.close()
    report.end()


if __name__ == "__main__":
    main()
