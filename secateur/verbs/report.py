"""`secateur report`: one page that shows a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from secateur import __version__
from secateur.objectives import QUANTITIES
from secateur.report import ReportData, write_report
from secateur.runs.folder import REPORT
from secateur.runs.opening import open_run
from secateur.runs.prune.run import ORDER, SUPERNET, Run, RunMember, now, scores_on_test
from secateur.study import Journal, Trial


def report(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    *,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> Path:
    """Write a run's report anew: one HTML file that works offline."""
    opened = open_run(run)
    if isinstance(opened, Run):
        path = write(opened)
    else:
        from secateur.runs.design.report import write as write_design

        path = write_design(opened)
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return path


def write(run: Run) -> Path:
    return write_report(report_data(run), run.folder / REPORT)


def report_data(run: Run) -> ReportData:
    """All that the report shows, read from the run's folder."""
    front = run.front
    measured = run.measured
    shown = {m.key: m for m in front}
    shown.update({m.key: m for m in front.pool if m.polished is not None})
    return ReportData(
        title=f"{run.model_name} on {run.task.get('name', run.configuration.data)}",
        created=now(),
        version=__version__,
        settings={name: value for name, value in vars(run.configuration).items() if value is not None},
        task=run.task,
        device=run.store.get_meta("device", run.configuration.device),
        objectives=[str(o) for o in run.objectives],
        shape=run.shape,
        unpruned={"values": {**run.unpruned, **measured.get("unpruned", {})}, "test": run.unpruned_test},
        trials=[_trial(run, t) for t in run.trials if t.origin != "polish"],
        front=[_member(m, measured.get(m.key, {})) for m in sorted(shown.values(), key=lambda m: m.values["body_parameters"])],
        journal=[{"stage": s.name, "status": s.status, "seconds": s.seconds} for s in Journal(run.store).rows()],
        curves={name: [{"step": step, **values} for step, values in run.store.curve(name)] for name in run.store.curves()},
        importance=_importance(run),
        notes=_notes(run),
        load_code=_load_code(run),
    )


def _trial(run: Run, trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "id": trial.id,
        "origin": trial.origin,
        "status": trial.status,
        "key": trial.architecture.key,
        "architecture": str(trial.architecture),
        "plan": run.space.plan(trial.architecture).as_dict(),
        "values": dict(trial.values),
        "details": dict(trial.details),
        "reason": trial.reason,
        "seconds": trial.finished - trial.started if trial.finished else None,
    }


def _member(member: RunMember, measured: dict[str, float]) -> dict[str, Any]:
    done = member.polished
    return {
        "key": member.key,
        "architecture": str(member.architecture),
        "plan": member.plan.as_dict(),
        "values": {**measured, **member.values},
        "details": dict(member.details),
        "test": member.test,
        "polished": {"values": dict(done.values), "test": scores_on_test(done)} if done and done.status == "complete" else None,
    }


def _importance(run: Run) -> dict[str, Any] | None:
    path = run.folder / SUPERNET / ORDER
    if not path.is_file():
        return None
    from safetensors.numpy import load_file

    arrays = load_file(path)
    return {
        "heads": arrays["importance.heads"].tolist(),
        "units": arrays["importance.units"].tolist(),
        "order_heads": arrays["order.heads"].tolist(),
        "order_units": arrays["order.units"].tolist(),
    }


def _notes(run: Run) -> list[str]:
    notes = list(run.store.get_meta("notes", []))
    busy = sum(bool(t.details.get("latency_loaded")) for t in run.trials)
    if busy:
        notes.append(f"The machine was busy with other work while {busy} trials' latencies were measured.")
    if any(QUANTITIES[o.name][0] == "s" for o in run.objectives):
        notes.append("Latency was measured, so another run with the same seed may find another front.")
    return notes


def _load_code(run: Run) -> str:
    classes = {"multiple_choice": "AutoModelForMultipleChoice", "language_modelling": "AutoModelForCausalLM"}
    auto = classes.get(run.task.get("kind", ""), "AutoModelForSequenceClassification")
    return (
        f"secateur export {run.folder} --key {{key}} --to pruned\n\n"
        f"from transformers import {auto}\n"
        f'model = {auto}.from_pretrained("pruned", trust_remote_code=True)'
    )
