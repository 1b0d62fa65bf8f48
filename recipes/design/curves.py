"""Our trained decoders with their learning curves, as a table: secateur/tables/data/curves-wikitext2.parquet.

    python recipes/design/benchmark.py latency --out runs/benchmark    # on a quiet machine, all networks in turns
    python recipes/design/curves.py runs/benchmark                     # with the trainings of benchmark.parquet

Each training of a network of the scaled-down space, whatever it was trained for, once: losses at every twentieth of the steps.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from benchmark import latencies
from protocol import SPACE, Protocol

from secateur.architecture import Architecture
from secateur.spaces.decoder import Decoder
from secateur.tables.searchable import write_searchable

HERE = Path(__file__).resolve().parent
TO = HERE.parents[1] / "secateur" / "tables" / "data" / "curves-wikitext2.parquet"
COLUMNS = ("perplexity", "test_perplexity", "parameters", "decoder_parameters")
#: The points after 1.25 and 2.5 % of the steps are left out: the others are evenly spaced.
EARLY = 2
#: A step reads each window forward and backward, which takes about as long as so many times forward.
PASSES = 3


def rows(table: pd.DataFrame, measured: Mapping[str, Mapping[str, float]], protocol: Protocol) -> list[dict[str, Any]]:
    """A row per training of a network of the space. Seconds are those of one core: trainings shared a GPU with others, so that
    what they took there says nothing; `latency` is that of one window, forward."""
    space, found = Decoder("gpt2", **SPACE), {}
    for row in table.to_dict("records"):
        architecture = Architecture.from_json(row["architecture"])
        if not space.contains(architecture) or (architecture.key, row["seed"]) in found:
            continue
        steps = [float(step) for step in row["steps"]][EARLY:]
        found[architecture.key, row["seed"]] = {
            "architecture": architecture,
            "seed": int(row["seed"]),
            "source": row["source"],
            **{name: float(row[name]) for name in COLUMNS},
            **measured[architecture.key],
            "budgets": steps,
            "loss": [float(loss) for loss in row["curve"]][EARLY:],
            "train_loss": [float(loss) for loss in row["train_curve"]][EARLY:],
            "seconds": PASSES * measured[architecture.key]["latency"] * protocol.batch * protocol.steps,
        }
    return list(found.values())


def main(folder: str) -> None:
    made = rows(pd.read_parquet(HERE / "benchmark.parquet"), latencies(Path(folder)), Protocol())
    networks = {row["architecture"].key for row in made}
    about = (
        f"{len(made)} trainings of {len(networks)} GPT-2 decoders of 1 to 8 layers on WikiText-2: losses in nats after every "
        "twentieth of 2,500 steps, perplexities, latency of a text of 128 tokens in seconds, and about the seconds that a "
        "training takes on one core"
    )
    said = {"space": "decoder", "options": SPACE, "objectives": ["loss"], "final": ["perplexity", "test_perplexity"]}
    write_searchable(TO, made, {**said, "about": about})


if __name__ == "__main__":
    main(*sys.argv[1:])
