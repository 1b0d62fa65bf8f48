"""Train many small decoders on one text and keep their learning curves: ground truth for proxies.

    python recipes/design/benchmark.py train --text wikitext-2 --out runs/benchmark       # as many side by side as you like
    python recipes/design/benchmark.py train --text wikitext-2 --out runs/benchmark --list topology.jsonl
    python recipes/design/benchmark.py latency --out runs/benchmark                                  # on a quiet machine
    python recipes/design/benchmark.py merge --out runs/benchmark --to recipes/design/benchmark.parquet
    python recipes/design/benchmark.py unpack --from recipes/design/benchmark.parquet --out runs/more    # to add to a table

Every trained network is one line of `rows-*.jsonl` in the folder, written when it is done: a stopped run goes on where it was.
Processes that work in one folder take different networks.
Only what was trained is there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jobs import Job, Unfinished, append, claimed, listed_jobs, name_of, random_jobs, rows_of
from protocol import PROTOCOLS, SHARES, SPACES, Protocol

from secateur.architecture import Architecture
from secateur.checkpoints.tokenizers import load_tokenizer
from secateur.errors import ConfigurationError, EvaluationFailure, SecateurError
from secateur.spaces.decoder_counts import decoder_parameters, parameters
from secateur.tasks.text import TextTokens, Tokens, encode, load_text
from secateur.tasks.tokenizers import train_tokenizer

if TYPE_CHECKING:
    from secateur.training.text_trainer import TextResult

#: What `latency` measured.
LATENCY = "latency.json"


def tokens_of(text: Path, folder: Path, protocol: Protocol) -> TextTokens:
    """The text as tokens of a tokenizer trained on its training part; both are kept in the folder."""
    cached = folder / "tokens.npz"
    if not cached.is_file():
        said = load_text(text)
        tokenizer = train_tokenizer(said.train, protocol.vocabulary)
        tokenizer.save_pretrained(folder / "tokenizer")
        found = encode(said, load_tokenizer(folder / "tokenizer"), length=protocol.length)
        part = folder / "tokens-part.npz"
        np.savez(part, **{name: value for name, value in vars(found).items() if value is not None})
        part.replace(cached)
    with np.load(cached) as arrays:
        return TextTokens(**{name: arrays[name] for name in arrays.files})


def stretches(tokens: Tokens, count: int, parts: int = 16) -> Tokens:
    """About `count` tokens, as `parts` stretches spread evenly over the text; all of it where it has no more."""
    if count >= len(tokens):
        return tokens
    size = count // parts
    starts = np.linspace(0, len(tokens) - size, parts).astype(int)
    return np.concatenate([tokens[start : start + size] for start in starts])


def train_one(job: Job, tokens: TextTokens, protocol: Protocol, scratch: Path, device: str) -> dict[str, Any]:
    """The row of one network. Raises EvaluationFailure where it diverges."""
    from secateur.training.text_trainer import train_text

    model = protocol.build(job.architecture, job.seed)
    began = time.process_time()
    result = train_text(
        model,
        tokens.train,
        stretches(tokens.validation, protocol.curve_tokens),
        protocol.training(job.architecture, job.seed),
        scratch,
        length=protocol.length,
        evaluations=SHARES,
        device=device,
    )
    return row_of(job, model, result, tokens, protocol, time.process_time() - began)


def row_of(
    job: Job, model: Any, result: TextResult, tokens: TextTokens, protocol: Protocol, used: float | None
) -> dict[str, Any]:
    """What is kept of a trained network."""
    from secateur.training.text_trainer import evaluate_text

    final = {
        split: evaluate_text(model, stretches(text, protocol.final_tokens), length=protocol.length, batch=protocol.batch)
        for split, text in (("validation", tokens.validation), ("test", tokens.test))
        if text is not None
    }
    return {
        "architecture": job.architecture.to_json(),
        "source": job.source,
        "seed": job.seed,
        "learning_rate": protocol.rate(job.architecture),
        "perplexity": final["validation"].perplexity,
        "test_perplexity": final["test"].perplexity if "test" in final else None,
        "parameters": parameters(job.architecture, protocol.sizes),
        "decoder_parameters": decoder_parameters(job.architecture),
        "steps": [point.step for point in result.curve],
        "curve": [round(point.validation_loss, 6) for point in result.curve],
        "train_curve": [round(point.train_loss, 6) for point in result.curve],
        "train_seconds": round(result.seconds, 3),
        "cpu_seconds": None if used is None else round(used, 3),
        "tokens_per_step": protocol.batch * (protocol.length - 1),
    }


def train(arguments: argparse.Namespace, protocol: Protocol) -> None:
    """Train the jobs that are not done yet and that no other process is at."""
    import torch

    torch.set_num_threads(arguments.threads)
    torch.set_float32_matmul_precision("high")  # TF32 on GPUs that have it
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    with claimed(folder / "claims" / "start", wait=True):  # the first of several makes what all need
        _same_protocol(folder, protocol)
        tokens = tokens_of(arguments.text, folder, protocol)
    if arguments.list:
        jobs = listed_jobs(arguments.list)
    else:
        counts = (arguments.count, arguments.repeat, arguments.homogeneous, arguments.seeds)
        jobs = random_jobs(protocol.backbone, *counts, space=protocol.space)
    unfinished = Unfinished(jobs, folder, uuid.uuid4().hex[:8])
    began = time.perf_counter()
    each = _one_by_one if arguments.at_once == 0 else _side_by_side
    try:
        for job, held, row in each(unfinished, tokens, protocol, arguments):
            with held:
                failed = "failure" in row
                row["half"] = arguments.half
                append(folder / f"{'failed' if failed else 'rows'}-{unfinished.own}.jsonl", row)
            said = row["failure"] if failed else f"perplexity {row['perplexity']:.2f}"
            print(f"{job.architecture}: {said}, after {time.perf_counter() - began:.0f} s", flush=True)
    except KeyboardInterrupt:
        raise SystemExit("benchmark: stopped; networks that were finished are kept, others begin anew.") from None
    if unfinished.taken:
        said = "Run this again when those have ended, in case one was stopped."
        print(f"{unfinished.taken} were in the hands of other processes. {said}")


#: A job that is done, its claim, and its row: what was trained, or why it failed.
Done = Iterator[tuple[Job, contextlib.ExitStack, dict[str, Any]]]


def _one_by_one(unfinished: Unfinished, tokens: TextTokens, protocol: Protocol, arguments: argparse.Namespace) -> Done:
    scratch = unfinished.folder / f"scratch-{unfinished.own}"
    for job, held in unfinished:
        try:
            row = train_one(job, tokens, protocol, scratch, arguments.device)
        except EvaluationFailure as failure:
            row = _failed(job, failure)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        yield job, held, row


def _side_by_side(unfinished: Unfinished, tokens: TextTokens, protocol: Protocol, arguments: argparse.Namespace) -> Done:
    import torch

    from secateur.training.side_by_side import Asked, train_side_by_side

    asked = (
        Asked(
            (job, held),
            protocol.build(job.architecture, job.seed),
            replace(protocol.training(job.architecture, job.seed), mixed_precision=arguments.half),
        )
        for job, held in unfinished
    )
    alone = arguments.at_once == 1 and arguments.device == "cpu"
    began = time.process_time()
    for done in train_side_by_side(
        asked,
        tokens.train,
        stretches(tokens.validation, protocol.curve_tokens),
        length=protocol.length,
        evaluations=SHARES,
        device=arguments.device,
        at_once=arguments.at_once,
    ):
        used = time.process_time() - began if alone else None
        job, held = done.name
        if isinstance(done.result, EvaluationFailure):
            row = _failed(job, done.result)
        else:
            with contextlib.nullcontext() if done.stream is None else torch.cuda.stream(done.stream):
                row = row_of(job, done.model, done.result, tokens, protocol, used)
        yield job, held, row
        began = time.process_time()


def _failed(job: Job, failure: EvaluationFailure) -> dict[str, Any]:
    return {"architecture": job.architecture.to_json(), "source": job.source, "seed": job.seed, "failure": str(failure)}


def _same_protocol(folder: Path, protocol: Protocol) -> None:
    file = folder / "protocol.json"
    said = json.loads(json.dumps(asdict(protocol)))
    if not file.is_file():
        file.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    elif json.loads(file.read_text(encoding="utf-8")) != said:
        raise ConfigurationError(f"`{folder}` holds networks of another protocol (`{file.name}`). Name another folder.")


def _protocol(folder: Path) -> Protocol:
    file = folder / "protocol.json"
    if not file.is_file():
        raise ConfigurationError(f"`{folder}` holds no networks: it has no {file.name}. Train some first.")
    said = json.loads(file.read_text(encoding="utf-8"))
    return Protocol(**{**said, "cutoffs": tuple(said["cutoffs"])})


def latency(arguments: argparse.Namespace) -> None:
    """Seconds of a forward pass, batch 1 × length, one thread, and its peak memory, of every trained or listed architecture.

    They are measured in turns; those of an earlier call are not measured again.
    """
    from secateur.decoders import Builder
    from secateur.devices.inputs import dummy_inputs
    from secateur.devices.memory import peak_memory
    from secateur.devices.setup import Setup
    from secateur.estimators.latency import LatencyEstimator
    from secateur.estimators.turns import measure_in_turns

    protocol = _protocol(arguments.out)
    file = arguments.out / LATENCY
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    known = {key: entry for key, entry in known.items() if "failure" not in entry}
    wanted = [Architecture.from_json(row["architecture"]) for row in rows_of(arguments.out)]
    wanted += [job.architecture for list_ in arguments.list for job in listed_jobs(list_)]
    builder = Builder(protocol.sizes)
    setup = Setup(length=protocol.length, kind="language_modelling", seconds=arguments.seconds / arguments.turns)
    estimator = LatencyEstimator(builder, setup)

    def save(found: dict[str, Any]) -> None:
        part = file.with_suffix(".part")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(file)

    networks = {architecture.key: architecture for architecture in wanted}
    found = measure_in_turns(
        estimator,
        list(networks.values()),
        turns=arguments.turns,
        found=known,
        save=save,
        advance=lambda done, total: print(f"{done}/{total}", flush=True) if done % len(networks) == 0 else None,
    )
    for key, architecture in networks.items():
        network = builder.meta(architecture)
        found[key]["memory"] = peak_memory(network, dummy_inputs(network, 1, protocol.length, "language_modelling")).peak
        if "failure" in found[key]:
            print(f"{architecture}: {found[key]['failure']}")
    save(found)


def latencies(folder: Path) -> dict[str, dict[str, float]]:
    """Key → what `latency` measured in a folder."""
    file = folder / LATENCY
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return {
        key: {"latency": entry["values"]["latency"], "memory": entry["memory"]}
        for key, entry in found.items()
        if "values" in entry and "memory" in entry
    }


def merge(arguments: argparse.Namespace) -> None:
    """All rows as one table, sorted, with latencies and the protocol's numbers."""
    import pandas as pd

    protocol = asdict(_protocol(arguments.out))
    measured = latencies(arguments.out)
    if arguments.more:  # those of two machines do not compare
        before = pd.read_parquet(arguments.to).to_dict("records")
        measured = {name_of(row)[0]: {name: row[name] for name in ("latency", "memory")} for row in before}
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in rows_of(arguments.out):
        key, seed = name_of(row)
        rows.setdefault((key, seed, row["source"]), {**row, **measured.get(key, {})})
    if not rows:
        raise ConfigurationError(f"`{arguments.out}` holds no finished networks.")
    table = pd.DataFrame(sorted(rows.values(), key=lambda row: (row["source"], row["seed"], row["architecture"])))
    for name in ("backbone", "vocabulary", "length", "batch"):
        table[name] = protocol[name]
    table["positions"] = protocol["length"]
    table["cutoffs"] = [list(protocol["cutoffs"])] * len(table)
    table.to_parquet(arguments.to, index=False)
    print(f"{len(table)} rows in {arguments.to}")


def unpack(arguments: argparse.Namespace) -> None:
    """A table's rows as a folder that `train` goes on in. Latencies are left out: those of two machines do not compare."""
    import pandas as pd

    table = pd.read_parquet(arguments.table)
    protocol = Protocol()
    said = {name: getattr(protocol, name) for name in ("backbone", "vocabulary", "length", "batch")}
    if any((table[name] != value).any() for name, value in said.items()):
        raise ConfigurationError(f"`{arguments.table}` was made by another protocol than this script's.")
    arguments.out.mkdir(parents=True, exist_ok=True)
    _same_protocol(arguments.out, protocol)
    for row in table.drop(columns=[*said, "positions", "cutoffs", "latency", "memory"], errors="ignore").to_dict("records"):
        whole = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in row.items()}
        append(arguments.out / "rows-unpacked.jsonl", whole)
    print(f"{len(table)} rows in {arguments.out}")


def _arguments(asked: list[str] | None) -> tuple[argparse.Namespace, Protocol]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train architectures")
    training.add_argument("--text", type=Path, required=True, help="folder with train, valid and test text")
    training.add_argument("--count", type=int, default=150, help="random architectures")
    training.add_argument("--repeat", type=int, default=15, help="how many of them are trained again with another seed")
    training.add_argument("--homogeneous", type=int, default=40, help="random architectures whose layers are all equal")
    training.add_argument("--seeds", type=int, default=2, help="how many seeds these have in all")
    training.add_argument("--at-once", type=int, default=0, help="train so many side by side on one GPU; 0: one, with Trainer")
    training.add_argument("--list", type=Path, help="JSON Lines with `architecture` and `source`, instead of random ones")
    training.add_argument("--half", choices=["bf16"], help="matrix products in training side by side; losses are told without")
    training.add_argument("--threads", type=int, default=1)
    training.add_argument("--device", default="cpu")
    training.add_argument("--protocol", choices=PROTOCOLS, default="wikitext2", help="what of the following is not given")
    for name, value in asdict(Protocol()).items():
        if name == "cutoffs":
            training.add_argument("--cutoffs", type=int, nargs="*")
        else:
            training.add_argument("--" + name.replace("_", "-"), type=type(value), choices=SPACES if name == "space" else None)
    timing = commands.add_parser("latency", help="measure the trained architectures on this machine, which should be quiet")
    timing.add_argument("--list", type=Path, nargs="*", default=[], help="further architectures, as JSON Lines")
    timing.add_argument("--seconds", type=float, default=2.0, help="at most so long for each, in all its turns")
    timing.add_argument("--turns", type=int, default=5, help="how often each is measured; the quickest counts")
    merging = commands.add_parser("merge", help="write the table")
    merging.add_argument("--to", type=Path, required=True, help="the Parquet file")
    merging.add_argument("--more", action="store_true", help="add rows to that file, whose latencies stay as they are")
    unpacking = commands.add_parser("unpack", help="make a table into a folder that `train` goes on in")
    unpacking.add_argument("--from", dest="table", type=Path, required=True, help="the Parquet file")
    for command in (training, timing, merging, unpacking):
        command.add_argument("--out", type=Path, required=True, help="the folder in which the work is kept")
    found = parser.parse_args(asked)
    if found.command == "train" and found.half and not found.at_once:
        parser.error("--half goes with --at-once")
    if found.command != "train":
        return found, Protocol()
    given = {name: getattr(found, name) for name in asdict(Protocol()) if getattr(found, name) is not None}
    if "cutoffs" in given:
        given["cutoffs"] = tuple(given["cutoffs"])
    return found, replace(PROTOCOLS[found.protocol], **given)


def main(given: list[str] | None = None) -> None:
    arguments, protocol = _arguments(given)
    try:
        if arguments.command == "train":
            train(arguments, protocol)
        else:
            {"latency": latency, "merge": merge, "unpack": unpack}[arguments.command](arguments)
    except SecateurError as error:
        raise SystemExit(f"benchmark: {error}") from None


if __name__ == "__main__":
    main()
