"""The validation errors of all networks of `small` with units in steps of 128, for searchers.py.

python errors.py runs/demo > demo.jsonl      # of a finished run of `secateur prune`; preset.py and experiment.py have --errors
"""

from __future__ import annotations

import argparse
import itertools
import json
from typing import Any

STEP = 128


def all_errors(supernet: Any, data: Any) -> list[dict[str, Any]]:
    """One row per network: its heads, units, layers, error, and its share of the body's parameters."""
    from secateur.estimators.cost import Cost
    from secateur.estimators.shared_weights import SharedWeightsError
    from secateur.spaces.pruning import Small

    space = Small(supernet.shape, units=f":{STEP}")
    errors, cost = SharedWeightsError(supernet, space, data, batch_size=1024), Cost(supernet, space)
    whole = supernet.body_parameters(supernet.whole)
    rows: dict[str, dict[str, Any]] = {}
    for heads, units in itertools.product(range(space.shape.heads + 1), range(0, space.shape.units + 1, STEP)):
        deepest = space.make({"heads": heads, "units": units, "layers": space.shape.layers})
        found = errors.evaluate([deepest])[0]
        for architecture, values in [(deepest, found.values), *found.extra]:
            share = cost.evaluate([architecture])[0].values["body_parameters"] / whole
            rows[architecture.key] = {**dict(architecture.choices), "error": values["error"], "share": share}
    return list(rows.values())


def main() -> None:
    from secateur import open_run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    run = open_run(parser.parse_args().run)
    found = all_errors(run.supernet, run.configuration.task_data(run.tokenizer))
    row = {"method": run.configuration.preset, "task": run.task["name"], "seed": run.configuration.seed}
    print(json.dumps({**row, "errors": found}))


if __name__ == "__main__":
    main()
