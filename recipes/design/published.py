"""Decoder parameters as a proxy, on the tables that the authors of LiteTransformerSearch published (GPT-2 backbone).

python published.py gpt2_tables.json.gz     # write published.csv, print the tables of published.md

The file holds 521 rows of the authors' repository (microsoft/archai, MIT): see published.md. Only correlations are kept here.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.pareto import non_dominated
from secateur.rng import generator
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.tables import SHARES, front_accuracy, rank, spearman

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "published.csv"
COLUMNS = ("table", "measure", "proxy", "share", "networks", "value", "low", "high")
RANDOM = {"random_GPT2_wt103": "WikiText-103", "random_GPT2_lm1b": "LM1B"}
DEVICES = {
    "pareto_GPT2_lm1b_arm": "ARM",
    "pareto_GPT2_lm1b_corei7": "Core i7",
    "pareto_GPT2_lm1b_titanxp": "TITAN Xp",
}
PROXIES = ("decoder_parameters", "parameters")

Row = dict[str, Any]


def read(path: Path) -> dict[str, list[Row]]:
    """The published rows by table."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = json.load(file)
    tables: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        tables[row["bench"]].append(row)
    return dict(tables)


def architecture_of(row: Row) -> Architecture:
    """The architecture of a published row; an embedding of −1 is as wide as the model."""
    embedding = row["d_model"] if row["d_embed"] < 0 else row["d_embed"]
    return architecture("gpt2", row["d_model"], row["n_head"], row["d_inner"], embedding, row["div_val"])


def counts(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Both proxies of each row. Decoder parameters from the configuration; the total is the published one, with the published
    decoder parameters replaced: the published ones of LM1B were computed with Transformer-XL's formula."""
    decoder = np.array([decoder_parameters(architecture_of(row)) for row in rows], dtype=float)
    outside = np.array([row["p_total"] - row["p_nonembedding"] for row in rows])
    return {"decoder_parameters": decoder, "parameters": decoder + outside}


def measure(tables: dict[str, list[Row]]) -> Iterator[Row]:
    """The rows of published.csv."""
    for table in RANDOM:
        rows = tables[table]
        perplexity = np.array([row["valid_ppl"] for row in rows])
        for proxy, scores in counts(rows).items():
            for found in rank(perplexity, scores, rng=generator(0, table, proxy)):
                for name in ("spearman", "kendall", "common_ratio"):
                    interval = getattr(found, f"{name}_interval")
                    low, high = (interval.low, interval.high) if interval else (None, None)
                    place = {"table": table, "proxy": proxy, "share": found.share, "networks": found.count}
                    yield {**place, "measure": name, "value": getattr(found, name), "low": low, "high": high}
    for table in (*RANDOM, *DEVICES):
        rows = tables[table]
        same = counts(rows)["decoder_parameters"] == [row["p_nonembedding"] for row in rows]
        yield {"table": table, "measure": "count_agrees", "networks": len(rows), "value": float(same.mean())}
    for table in DEVICES:
        rows = tables[table]
        perplexity = np.array([row["valid_ppl"] for row in rows])
        latency = np.array([row["latency_ms"] for row in rows])
        memory = np.array([row["memory_mb"] for row in rows])
        place = {"table": table, "networks": len(rows)}
        yield {**place, "measure": "spearman", "proxy": "latency", "value": spearman(perplexity, latency)}
        # The sets were chosen by decoder parameters, latency and memory: how many are also non-dominated by perplexity?
        truly = non_dominated(np.column_stack([perplexity, latency, memory]))
        yield {**place, "measure": "non_dominated", "value": int(truly.sum())}
        for proxy, scores in counts(rows).items():
            yield {**place, "measure": "spearman", "proxy": proxy, "value": spearman(perplexity, scores)}
            accuracy = front_accuracy(perplexity, scores, latency)
            assert accuracy is not None
            for name, value in vars(accuracy).items():
                yield {**place, "measure": f"front_{name}", "proxy": proxy, "value": value}


def write(rows: Iterator[Row], path: Path = MEASURED) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items() if v is not None})


def figures() -> dict[tuple[str, str, str, str], Row]:
    """published.csv by (table, measure, proxy, share)."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        return {(r["table"], r["measure"], r["proxy"], r["share"]): r for r in csv.DictReader(file)}


def _cell(row: Row, interval: bool = False) -> str:
    if not row["value"]:
        return "–"
    return f"{float(row['value']):.3f}" + (f" ({float(row['low']):.3f}…{float(row['high']):.3f})" if interval else "")


def top_table(table: str) -> str:
    """One table: the best k % by validation perplexity, both proxies."""
    found = figures()
    header = ["best by perplexity", "networks", "Spearman: decoder (95 %)", "total", "Kendall: decoder", "total"]
    header += ["common ratio: decoder", "total"]
    lines = [f"### {RANDOM[table]}", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for share in SHARES:
        at = f"{share:.6g}"
        cells = [
            _cell(found[table, name, proxy, at], interval=(name, proxy) == ("spearman", PROXIES[0]))
            for name in ("spearman", "kendall", "common_ratio")
            for proxy in PROXIES
        ]
        networks = found[table, "spearman", PROXIES[0], at]["networks"]
        lines.append(f"| {share * 100:.0f} % | {networks} | {' | '.join(cells)} |")
    return "\n".join(lines)


def device_table() -> str:
    """The published Pareto sets: how well the proxies order them, and the front that each picks over latency."""
    found = figures()
    header = ["device", "models", "non-dominated", "Spearman: decoder", "total", "latency", "front found: decoder", "total"]
    header += ["perplexity gap: decoder", "total"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for table, name in DEVICES.items():
        cells = [found[table, "non_dominated", "", ""]["value"]]
        cells += [_cell(found[table, "spearman", proxy, ""]) for proxy in (*PROXIES, "latency")]
        for proxy in PROXIES:
            share, members = (float(found[table, f"front_{part}", proxy, ""]["value"]) for part in ("found", "members"))
            cells.append(f"{round(share * members)} of {members:.0f}")
        cells += [f"{float(found[table, 'front_gap', proxy, '']['value']) * 100:.2f} %" for proxy in PROXIES]
        lines.append(f"| {name} | {found[table, 'spearman', PROXIES[0], '']['networks']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def everything() -> str:
    return "\n\n".join([*(top_table(table) for table in RANDOM), device_table()])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path, help="gpt2_tables.json.gz")
    write(measure(read(parser.parse_args().tables)))
    print(everything())
