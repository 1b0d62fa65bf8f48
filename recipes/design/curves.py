"""Our trained decoders with their learning curves, as tables: secateur/tables/data/curves-*.parquet.

    python recipes/design/benchmark.py latency --out runs/more         # on a quiet machine, all networks in turns
    python recipes/design/curves.py wikitext2 runs/more                # with the trainings of benchmark.parquet
    python recipes/design/curves.py shakespeare runs/shakespeare       # with the trainings of that folder

Each training of a network of the space, whatever it was trained for, once: losses at every twentieth of the steps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from benchmark import latencies
from jobs import rows_of
from protocol import PROTOCOLS, SPACES, Protocol

from secateur.architecture import Architecture
from secateur.spaces.decoder import Decoder
from secateur.tables.searchable import write_searchable

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "secateur" / "tables" / "data"
COLUMNS = ("perplexity", "test_perplexity", "parameters", "decoder_parameters")
#: The points after 1.25 and 2.5 % of the steps are left out: the others are evenly spaced.
EARLY = 2
#: A step reads each window forward and backward, which takes about as long as so many times forward.
PASSES = 3


def rows(
    trained: Iterable[Mapping[str, Any]], protocol: Protocol, measured: Mapping[str, Mapping[str, float]] | None = None
) -> list[dict[str, Any]]:
    """A row per training of a network of the space. Seconds are those of one core. Where trainings shared a GPU with others,
    what they took there says nothing: `measured` latencies of one window, forward, tell them."""
    space, found = Decoder(protocol.backbone, **SPACES[protocol.space]), {}
    for row in trained:
        architecture = Architecture.from_json(row["architecture"])
        if not space.contains(architecture) or (architecture.key, row["seed"]) in found:
            continue
        told = dict(measured[architecture.key]) if measured is not None else {}
        seconds = PASSES * told["latency"] * protocol.batch * protocol.steps if told else float(row["cpu_seconds"])
        found[architecture.key, row["seed"]] = {
            "architecture": architecture,
            "seed": int(row["seed"]),
            "source": row["source"],
            **{name: float(row[name]) for name in COLUMNS},
            **told,
            "budgets": [float(step) for step in row["steps"]][EARLY:],
            "loss": [float(loss) for loss in row["curve"]][EARLY:],
            "train_loss": [float(loss) for loss in row["train_curve"]][EARLY:],
            "seconds": seconds,
        }
    return list(found.values())


def main(text: str, folder: str) -> None:
    protocol = PROTOCOLS[text]
    if text == "wikitext2":
        trained = pd.read_parquet(HERE / "benchmark.parquet").to_dict("records")
        made = rows(trained, protocol, latencies(Path(folder)))
        what = "WikiText-2"
        more = (
            "perplexities, latency of a text of 128 tokens in seconds, and about the seconds that a training takes on one core"
        )
    else:
        made = rows(sorted(rows_of(Path(folder)), key=lambda row: (row["seed"], row["architecture"])), protocol)
        what = "tiny Shakespeare"
        more = "perplexities, and the seconds that a training took one core"
    networks, space = {row["architecture"].key for row in made}, SPACES[protocol.space]
    layers = space["layers"].replace("..", " to ")
    about = (
        f"{len(made)} trainings of {len(networks)} GPT-2 decoders of {layers} layers on {what}: losses in nats after every "
        f"twentieth of {protocol.steps:,} steps, {more}"
    )
    said = {"space": "decoder", "options": space, "objectives": ["loss"], "final": ["perplexity", "test_perplexity"]}
    write_searchable(DATA / f"curves-{text}.parquet", made, {**said, "about": about})


if __name__ == "__main__":
    main(*sys.argv[1:])
