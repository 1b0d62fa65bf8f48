"""The report of a design run, filled from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secateur import __version__
from secateur.report import DesignReportData, write_design_report
from secateur.runs.design.run import MEASURED, DesignMember, DesignRun
from secateur.runs.folder import REPORT
from secateur.runs.prune.run import now
from secateur.study import Journal, Trial

_BACKBONES = {"gpt2": "GPT-2", "transformer_xl": "Transformer-XL"}


def write(run: DesignRun) -> Path:
    return write_design_report(report_data(run), run.folder / REPORT)


def report_data(run: DesignRun) -> DesignReportData:
    """All that the report shows."""
    c = run.configuration
    return DesignReportData(
        title=f"{_BACKBONES[c.backbone]} decoders for this device",
        created=now(),
        version=__version__,
        settings={name: value for name, value in vars(c).items() if value is not None},
        device=run.store.get_meta("device", c.device),
        objectives=[str(o) for o in run.objectives],
        directions={o.name: o.direction for o in run.objectives},
        trials=[_trial(t) for t in run.trials if t.origin != MEASURED],
        front=[_member(m) for m in run.front],
        journal=[{"stage": s.name, "status": s.status, "seconds": s.seconds} for s in Journal(run.store).rows()],
        notes=list(run.store.get_meta("notes", [])),
        load_code=f"secateur train {run.folder} --key {{key}} --text my-text --to my-model",
        baselines=run.baselines,
        latency_model=_model(run),
    )


def _architecture(architecture: Any) -> dict[str, Any]:
    return {"key": architecture.key, "architecture": str(architecture), "choices": dict(architecture.choices)}


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        **_architecture(trial.architecture),
        "number": trial.number,
        "id": trial.id,
        "origin": trial.origin,
        "status": trial.status,
        "values": dict(trial.values),
        "details": dict(trial.details),
        "reason": trial.reason,
        "seconds": trial.finished - trial.started if trial.finished else None,
    }


def _member(member: DesignMember) -> dict[str, Any]:
    return {
        **_architecture(member.architecture),
        "values": dict(member.values),
        "details": dict(member.details),
        "measured": member.measured,
        "predicted_latency": member.details.get("predicted_latency"),
    }


def _model(run: DesignRun) -> dict[str, Any] | None:
    stored = run.latency_model
    if stored is None:
        return None
    report = stored["report"]
    return {
        "mean_error": report["mean"],
        "max_error": report["max"],
        "seconds": report["seconds"],
        "networks": report["networks"],
        "held_out": report["held_out"],
    }
