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
import fcntl
import json
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.checkpoints.tokenizers import load_tokenizer
from secateur.errors import ConfigurationError, EvaluationFailure, SecateurError
from secateur.rng import generator
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters, parameters
from secateur.spaces.decoder_sizes import Sizes
from secateur.tasks.text import TextTokens, Tokens, encode, load_text
from secateur.tasks.tokenizers import train_tokenizer
from secateur.training.settings import TrainingSettings

#: The scaled-down space.
SPACE: dict[str, Any] = {
    "layers": "1..8",
    "width": "32..256:32",
    "inner": "64..1024:64",
    "heads": (2, 4, 8),
    "embedding": (0, 128, 256),
    "factor": (1, 2, 4),
}
#: What `latency` measured.
LATENCY = "latency.json"
#: Shares of the steps at which the curve has a point: every 5 %, and two before.
SHARES = (0.0125, 0.025, *(k / 20 for k in range(1, 21)))


@dataclass(frozen=True)
class Protocol:
    """How every network of a table is trained. One folder holds rows of one protocol only."""

    backbone: str = "gpt2"
    vocabulary: int = 2048
    cutoffs: tuple[int, ...] = (1024, 1536)  # of WikiText-2's tokens, 90 % are in the first cluster and 7 % in the second
    length: int = 128
    memory: int = 128  # transformer_xl only
    batch: int = 64
    steps: int = 2500
    learning_rate: float = 5e-3  # of a network of the reference width; see `rate`
    reference_width: int = 128
    rate_exponent: float = 1.0
    warmup: float = 0.05
    weight_decay: float = 0.1
    dropout: float = 0.0
    initial: float = 0.02  # deviation of the initial weights
    curve_tokens: int = 32_768  # of the validation text, for the points of the curve
    final_tokens: int = 1_000_000  # of the validation and of the test text, for the final perplexities

    def rate(self, architecture: Architecture) -> float:
        """The learning rate of a network, inversely as its width (maximal-update parametrisation, Yang et al. 2021): one
        rate for all favours the widths that it happens to suit."""
        width = int(architecture["width"])  # type: ignore[call-overload]
        return self.learning_rate * (self.reference_width / width) ** self.rate_exponent

    def training(self, architecture: Architecture, seed: int) -> TrainingSettings:
        return TrainingSettings(
            steps=self.steps,
            learning_rate=self.rate(architecture),
            batch_size=self.batch,
            learning_rate_warmup=self.warmup,
            schedule="cosine",
            weight_decay=self.weight_decay,
            group_by_length=False,
            checkpoints=0,  # a network takes minutes: one that was stopped is trained anew
            seed=seed,
        )

    def build(self, architecture: Architecture, seed: int) -> Any:
        from secateur.decoders import build

        return build(architecture, self.sizes, dropout=self.dropout, seed=seed, initializer_range=self.initial)

    @property
    def sizes(self) -> Sizes:
        recurrence = self.memory if self.backbone == "transformer_xl" else 0
        return Sizes(vocabulary=self.vocabulary, cutoffs=self.cutoffs, positions=self.length, recurrence=recurrence)


@dataclass(frozen=True)
class Job:
    """One training to do."""

    architecture: Architecture
    source: str
    seed: int = 0

    @property
    def name(self) -> tuple[str, int]:
        return self.architecture.key, self.seed


def random_jobs(backbone: str, count: int, repeat: int, homogeneous: int) -> list[Job]:
    """`count` different random architectures, `repeat` of them, evenly spread, once more with another seed, then `homogeneous`
    different ones whose layers are all equal."""
    jobs = _drawn(Decoder(backbone, **SPACE), "random", count)
    repeat = min(repeat, count)
    jobs += [replace(jobs[k * count // repeat], seed=1) for k in range(repeat)]
    return jobs + _drawn(Decoder(backbone, **SPACE, homogeneous=True), "homogeneous", homogeneous)


def _drawn(space: Decoder, source: str, count: int) -> list[Job]:
    found: dict[str, Job] = {}
    draw = 0
    while len(found) < count:
        architecture = space.sample(generator(0, "benchmark", source, draw))
        found.setdefault(architecture.key, Job(architecture, source))
        draw += 1
    return list(found.values())


def listed_jobs(file: Path) -> list[Job]:
    """Jobs from JSON Lines: `architecture` (as an object or as JSON text), `source`, and a `seed` where it is not 0."""
    jobs = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            said = row["architecture"]
            architecture = Architecture.from_json(said) if isinstance(said, str) else Architecture.from_dict(said)
            jobs.append(Job(architecture, str(row["source"]), int(row.get("seed", 0))))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"`{file}` line {number} is not an architecture with a `source`: {error!r}.") from error
    return jobs


def rows_of(folder: Path, kind: str = "rows") -> list[dict[str, Any]]:
    """All finished rows in a folder; a line that was cut off when a process died does not count."""
    rows = []
    for file in sorted(folder.glob(f"{kind}-*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    return rows


def append(file: Path, row: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


@contextlib.contextmanager
def claimed(file: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether no other process holds this claim, or has let go of it; a process that dies lets go of what it held."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


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
    from secateur.training.text_trainer import evaluate_text, train_text

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
    used = time.process_time() - began
    batch = 64 if protocol.backbone == "gpt2" else protocol.batch
    final = {
        split: evaluate_text(model, stretches(text, protocol.final_tokens), length=protocol.length, batch=batch)
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
        "cpu_seconds": round(used, 3),
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
        jobs = random_jobs(protocol.backbone, arguments.count, arguments.repeat, arguments.homogeneous)
    own, taken = uuid.uuid4().hex[:8], 0
    for number, job in enumerate(jobs, start=1):
        with claimed(folder / "claims" / f"{job.architecture.key}-{job.seed}") as free:
            taken += not free
            if free:
                said = _done(job, tokens, protocol, folder, own, arguments.device)
                if said:
                    print(f"{number}/{len(jobs)} {job.architecture}: {said}", flush=True)
    if taken:
        print(f"{taken} were in the hands of other processes. Run this again when those have ended, in case one was stopped.")


def _done(job: Job, tokens: TextTokens, protocol: Protocol, folder: Path, own: str, device: str) -> str:
    """Have this job's row written, and say what was done for it; nothing where it is there.

    What was trained under another source is only written again.
    """
    earlier = [row for row in rows_of(folder) + rows_of(folder, "failed") if _name(row) == job.name]
    if any(row["source"] == job.source for row in earlier):
        return ""
    if earlier:
        append(folder / f"{'failed' if 'failure' in earlier[0] else 'rows'}-{own}.jsonl", {**earlier[0], "source": job.source})
        return f"done already, as {earlier[0]['source']}"
    began = time.perf_counter()
    scratch = folder / f"scratch-{own}"
    try:
        row = train_one(job, tokens, protocol, scratch, device)
    except KeyboardInterrupt:
        raise SystemExit("benchmark: stopped; networks that were finished are kept, this one begins anew.") from None
    except EvaluationFailure as failure:
        row = {"architecture": job.architecture.to_json(), "source": job.source, "seed": job.seed, "failure": str(failure)}
        append(folder / f"failed-{own}.jsonl", row)
        return str(failure)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    append(folder / f"rows-{own}.jsonl", row)
    return f"perplexity {row['perplexity']:.2f}, {time.perf_counter() - began:.0f} s"


def _name(row: dict[str, Any]) -> tuple[str, int]:
    return Architecture.from_json(row["architecture"]).key, row["seed"]


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


def merge(arguments: argparse.Namespace) -> None:
    """All rows as one table, sorted, with latencies and the protocol's numbers."""
    import pandas as pd

    protocol = asdict(_protocol(arguments.out))
    file = arguments.out / LATENCY
    measured = {
        key: {"latency": entry["values"]["latency"], "memory": entry["memory"]}
        for key, entry in (json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}).items()
        if "values" in entry and "memory" in entry
    }
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in rows_of(arguments.out):
        key, seed = _name(row)
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


def _arguments(given: list[str] | None) -> tuple[argparse.Namespace, Protocol]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train architectures")
    training.add_argument("--text", type=Path, required=True, help="folder with train, valid and test text")
    training.add_argument("--count", type=int, default=150, help="random architectures")
    training.add_argument("--repeat", type=int, default=15, help="how many of them are trained again with another seed")
    training.add_argument("--homogeneous", type=int, default=40, help="random architectures whose layers are all equal")
    training.add_argument("--list", type=Path, help="JSON Lines with `architecture` and `source`, instead of random ones")
    training.add_argument("--threads", type=int, default=1)
    training.add_argument("--device", default="cpu")
    changed = {name: value for name, value in asdict(Protocol()).items() if name != "cutoffs"}
    for name, value in changed.items():
        training.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    training.add_argument("--cutoffs", type=int, nargs="*", default=Protocol().cutoffs)
    timing = commands.add_parser("latency", help="measure the trained architectures on this machine, which should be quiet")
    timing.add_argument("--list", type=Path, nargs="*", default=[], help="further architectures, as JSON Lines")
    timing.add_argument("--seconds", type=float, default=2.0, help="at most so long for each, in all its turns")
    timing.add_argument("--turns", type=int, default=5, help="how often each is measured; the quickest counts")
    merging = commands.add_parser("merge", help="write the table")
    merging.add_argument("--to", type=Path, required=True, help="the Parquet file")
    unpacking = commands.add_parser("unpack", help="make a table into a folder that `train` goes on in")
    unpacking.add_argument("--from", dest="table", type=Path, required=True, help="the Parquet file")
    for command in (training, timing, merging, unpacking):
        command.add_argument("--out", type=Path, required=True, help="the folder in which the work is kept")
    found = parser.parse_args(given)
    if found.command != "train":
        return found, Protocol()
    return found, Protocol(**{name: getattr(found, name) for name in changed}, cutoffs=tuple(found.cutoffs))


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
