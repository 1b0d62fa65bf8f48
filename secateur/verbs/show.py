"""What the commands print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from secateur.report.numbers import shown_as
from secateur.report.rows import Column, Table
from secateur.report.terminal import console, print_table
from secateur.runs.folder import REPORT, RunFolder
from secateur.runs.prune.run import Run, RunMember, scores_on_test

if TYPE_CHECKING:
    from secateur.export import Exported
    from secateur.runs.design.run import DesignMember


def shown_run(run: RunFolder) -> None:
    """The front of a finished run, and where to go on."""
    front_table(list(run.front))
    terminal = console()
    terminal.print(f"\nReport: {run.folder / REPORT}", soft_wrap=True)
    if isinstance(run, Run):
        terminal.print(f"Export: secateur export {run.folder} --under body_parameters=50% --to pruned", soft_wrap=True)
    else:
        terminal.print(f"Train:  secateur train {run.folder} --pick KEY --text my-text --to my-model", soft_wrap=True)


def front_table(members: Sequence[Any]) -> None:
    """A table of what a run found."""
    if not members:
        console().print("The front is empty: the search has not got so far yet.")
    elif isinstance(members[0], RunMember):
        _pruned_table(members)
    else:
        _designed_table(members)


#: Headings that fit a terminal of 80 columns.
_SHORT = {"decoder_parameters": "decoder", "parameters": "all"}


def _designed_table(members: Sequence[DesignMember]) -> None:
    """A table of decoders: what stands for quality, costs, and how well latency was predicted."""
    run = members[0].run
    assert run is not None
    names = list(dict.fromkeys([*(o.name for o in run.objectives), "parameters"]))
    columns = [Column("key", "key"), Column("shape", "layers × width")]
    columns += [Column(name, _SHORT.get(name, name.replace("_", " ")), shown_as(name)) for name in names]
    if any("predicted_latency" in m.details for m in members):
        columns.append(Column("predicted_latency", "predicted", "seconds"))
    rows = [
        {
            "key": member.key[:8],
            "shape": f"{len(member.architecture['heads'])} × {member.architecture['width']}",  # type: ignore[arg-type]
            **member.values,
            "predicted_latency": member.details.get("predicted_latency"),
        }
        for member in members
    ]
    many = f"{len(members)} architectures on the front of {run.folder}" if len(members) > 1 else f"The best of {run.folder}"
    print_table(Table(columns, rows), f"{many}; parameters of the decoder and in all")


def _pruned_table(members: Sequence[RunMember]) -> None:
    """A table of sub-networks: scores on validation and test data, polished ones beside, and costs."""
    run = members[0].run
    assert run is not None
    # polished networks are shown even where their shared weights are not on the front
    rows = {m.key: m for m in members}
    if len(members) > 1:
        rows.update({m.key: m for m in run.front.pool if m.polished is not None})
    ordered = sorted(rows.values(), key=lambda m: m.values["body_parameters"])
    costs = [name for name in ("latency", "memory") if any(name in m.values for m in ordered)]
    if console().width >= 100:  # a narrow terminal shows the body's share only
        costs = ["parameters", *costs]
    columns = [Column("key", "key"), Column("architecture", "architecture"), Column("body", "body", "share")]
    columns += [Column(name, name, shown_as(name)) for name in costs]
    scores = {"validation": "valid.", "test": "test", "polished_validation": "polished", "polished_test": "its test"}
    columns += [Column(name, title, "score") for name, title in scores.items()]
    last = {"architecture": "unpruned", "body": "100 %", **run.unpruned, **_scores(run.unpruned, run.unpruned_test)}
    print_table(Table(columns, [_row(run, member) for member in ordered]), _title(members, run), last)


def _title(members: Sequence[RunMember], run: Run) -> str:
    what = f"{len(members)} sub-networks on the front of {run.folder}" if len(members) > 1 else f"The best of {run.folder}"
    return f"{what}; scores are {run.task.get('main', 'score').replace('_', ' ')}"


def _row(run: Run, member: RunMember) -> dict[str, Any]:
    share = member.values["body_parameters"] / (run.unpruned["body_parameters"] or 1)
    row = {"key": member.key[:8], "architecture": _text(member), "body": f"{100 * share:.1f} %", **member.values}
    row |= _scores(member.values, member.test)
    if member.polished is not None and member.polished.status == "complete":
        row |= _scores(member.polished.values, scores_on_test(member.polished), "polished_")
    return row


def _scores(values: Mapping[str, Any], test: Mapping[str, Any] | None, prefix: str = "") -> dict[str, float | None]:
    return {f"{prefix}validation": 1 - values["error"], f"{prefix}test": 1 - test["error"] if test else None}


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
    terminal = console()
    how = (
        "a plain checkpoint"
        if exported.kind == "plain"
        else "a checkpoint with its own modelling file (trust_remote_code=True)"
    )
    terminal.print(f"{exported.folder}: {how}", soft_wrap=True)
    for name, value in exported.differences.items():
        terminal.print(f"  largest difference, {name}: {value:.1e}")
    terminal.print(f"  files: {', '.join(exported.files)}", soft_wrap=True)
