"""What the commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from secateur.report.data import kind
from secateur.report.numbers import show
from secateur.runs.folder import REPORT, RunFolder
from secateur.runs.prune.run import Run, RunMember, scores_on_test

if TYPE_CHECKING:
    from secateur.export import Exported
    from secateur.runs.design.run import DesignMember


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def shown_run(run: RunFolder) -> None:
    """The front of a finished run, and where to go on."""
    front_table(list(run.front))
    console = _console()
    console.print(f"\nReport: {run.folder / REPORT}", soft_wrap=True)
    if isinstance(run, Run):
        console.print(f"Export: secateur export {run.folder} --under body_parameters=50% --to pruned", soft_wrap=True)
    else:
        console.print(f"Train:  secateur train {run.folder} --key KEY --text my-text --to my-model", soft_wrap=True)


def front_table(members: Sequence[Any]) -> None:
    """A table of what a run found."""
    if not members:
        _console().print("The front is empty: the search has not got so far yet.")
    elif isinstance(members[0], RunMember):
        _pruned_table(members)
    else:
        _designed_table(members)


#: Headings that fit a terminal of 80 columns.
_SHORT = {"decoder_parameters": "decoder", "parameters": "all"}


def _designed_table(members: Sequence[DesignMember]) -> None:
    """A table of decoders: what stands for quality, costs, and how well latency was predicted."""
    from rich.box import SIMPLE
    from rich.table import Table

    run = members[0].run
    assert run is not None
    names = list(dict.fromkeys([*(o.name for o in run.objectives), "parameters"]))
    many = f"{len(members)} architectures on the front of {run.folder}" if len(members) > 1 else f"The best of {run.folder}"
    table = Table(title=f"{many}; parameters of the decoder and in all", title_justify="left", box=SIMPLE)
    table.add_column("key", no_wrap=True)
    table.add_column("layers × width", no_wrap=True)
    modelled = any("predicted_latency" in m.details for m in members)
    for name in (*(_SHORT.get(name, name.replace("_", " ")) for name in names), *["predicted"] * modelled):
        table.add_column(name, justify="right", no_wrap=True)
    for member in members:
        predicted = member.details.get("predicted_latency")
        shape = f"{len(member.architecture['heads'])} × {member.architecture['width']}"  # type: ignore[arg-type]
        cells = [show(member.values[name], kind(name)) if name in member.values else "" for name in names]
        cells += [show(float(predicted), "seconds") if predicted is not None else ""] * modelled
        table.add_row(member.key[:8], shape, *cells)
    _console().print(table)


def _pruned_table(members: Sequence[RunMember]) -> None:
    """A table of sub-networks: scores on validation and test data, polished ones beside, and costs."""
    from rich.box import SIMPLE
    from rich.table import Table

    run = members[0].run
    assert run is not None
    # polished networks are shown even where their shared weights are not on the front
    rows = {m.key: m for m in members}
    if len(members) > 1:
        rows.update({m.key: m for m in run.front.pool if m.polished is not None})
    ordered = sorted(rows.values(), key=lambda m: m.values["body_parameters"])
    measured = [name for name in ("latency", "memory") if any(name in m.values for m in ordered)]
    console = _console()
    counts = ["parameters"] if console.width >= 100 else []  # a narrow terminal shows the body's share only
    table = Table(title=_title(members, run), title_justify="left", box=SIMPLE)
    table.add_column("key", no_wrap=True)
    table.add_column("architecture", no_wrap=True)
    for title in ("body", *counts, *measured, "valid.", "test", "polished", "its test"):
        table.add_column(title, justify="right", no_wrap=True)
    for member in ordered:
        table.add_row(*_row(run, member, [*counts, *measured]))
    whole, test = run.unpruned, run.unpruned_test
    table.add_section()
    costs = [show(whole[name], _KINDS[name]) for name in (*counts, *measured)]
    scores = [show(1 - whole["error"], "score"), show(1 - test["error"], "score") if test else ""]
    table.add_row("", "unpruned", "100 %", *costs, *scores, "", "")
    console.print(table)


def _title(members: Sequence[RunMember], run: Run) -> str:
    what = f"{len(members)} sub-networks on the front of {run.folder}" if len(members) > 1 else f"The best of {run.folder}"
    return f"{what}; scores are {run.task.get('main', 'score').replace('_', ' ')}"


_KINDS = {"parameters": "count", "latency": "seconds", "memory": "bytes"}


def _row(run: Run, member: RunMember, costs: Sequence[str]) -> list[str]:
    share = member.values["body_parameters"] / (run.unpruned["body_parameters"] or 1)
    cells = [member.key[:8], _text(member), f"{100 * share:.1f} %"]
    cells += [show(member.values[name], _KINDS[name]) if name in member.values else "" for name in costs]
    test, polished = member.test, member.polished
    cells += [show(1 - member.values["error"], "score"), show(1 - test["error"], "score") if test else ""]
    if polished is not None and polished.status == "complete":
        tested = scores_on_test(polished)
        return [*cells, show(1 - polished.values["error"], "score"), show(1 - tested["error"], "score") if tested else ""]
    return [*cells, "", ""]


def _text(member: RunMember) -> str:
    """The architecture in a few words: layers × (heads, units), or totals where layers differ."""
    plan = member.plan
    heads = {p.heads.count for p in plan.layers}
    units = {p.units.count for p in plan.layers}
    if not plan.layers:
        return "no layers"
    if len(heads) == len(units) == 1:
        return f"{len(plan.layers)} × ({heads.pop()}, {units.pop()})"
    heads_kept, units_kept = (sum(getattr(p, by).count for p in plan.layers) for by in ("heads", "units"))
    return f"{len(plan.layers)} layers, {heads_kept} heads, {units_kept} units"


def shown_export(exported: Exported) -> None:
    """Where an export lies, and how far its forms differ."""
    console = _console()
    how = (
        "a plain checkpoint"
        if exported.form == "plain"
        else "a checkpoint with its own modelling file (trust_remote_code=True)"
    )
    console.print(f"{exported.folder}: {how}", soft_wrap=True)
    for name, value in exported.differences.items():
        console.print(f"  largest difference, {name}: {value:.1e}")
    console.print(f"  files: {', '.join(exported.files)}", soft_wrap=True)
