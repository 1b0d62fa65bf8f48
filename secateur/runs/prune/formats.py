"""The networks that a run names, and the unpruned one, in every format that can be shipped: how good, quick and large."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from secateur.errors import BoundError, ExportError
from secateur.export import export
from secateur.export.forms import need_onnx
from secateur.export.scored import Forms, Judge
from secateur.runs.progress import Progress
from secateur.runs.prune.efforts import EXAMPLES
from secateur.runs.prune.forms import judging
from secateur.runs.prune.run import PruneMember, PruneRun

#: Parameters up to which a run compares formats by itself: exporting larger networks takes long.
MOST = 300_000_000


def picks(run: PruneRun) -> list[PruneMember]:
    """The network named first, and the best at each size that was polished; those no better than chance are left out."""
    front, first = run.front, run.headline
    found = {} if first is None else {first.key: first}
    for bound in run.configuration.levels():
        with suppress(BoundError):
            best = front.best(under={"body_parameters": bound})
            found.setdefault(best.key, best)
    return [member for member in found.values() if member.above_chance]


def formats_of(run: PruneRun) -> dict[str, Forms]:
    """Key → the formats of the networks that the run names, and of the unpruned one (`unpruned`), where they were compared."""
    return {key: Forms.from_dict(forms) for key, forms in run.store.get_meta("formats", {}).items()}


def compare_formats(run: PruneRun, progress: Progress, most: int | None = EXAMPLES, *, anew: bool = False) -> list[str]:
    """Export the picks and the unpruned network in all formats, score them on at most so many validation examples, time them,
    and keep that with the run; why some could not be. What was compared before a stop is skipped; with `anew`, all
    networks are compared again where none is left.

    Raises MissingExtraError where a library is missing.
    """
    need_onnx()
    beside, whole = judging(run, progress, most), judging(run, progress, most, beside=False)
    several: dict[str, PruneMember | None] = {"unpruned": None, **{member.key: member for member in picks(run)}}
    left = {key: member for key, member in several.items() if key not in formats_of(run)}
    said = []
    for key, member in (several if anew and not left else left).items():
        known = formats_of(run)
        with TemporaryDirectory(prefix="secateur-formats-") as scratch:
            try:
                forms = _forms(run, member, Path(scratch) / "network", whole if member is None else beside)
            except ExportError as error:
                said.append(f"The formats of {key[:8]} could not be compared: {error}")
                continue
        run.store.set_meta("formats", {**{k: f.as_dict() for k, f in known.items()}, key: forms.as_dict()})
    return said


def _forms(run: PruneRun, member: PruneMember | None, folder: Path, judge: Judge) -> Forms:
    if member is None:
        kind, whole = run.task["kind"], run.supernet.whole
        exported = export(run.supernet, whole, folder, tokenizer=run.tokenizer, int8=True, int4=True, kind=kind, judge=judge)
    else:
        exported = member.save(folder, int8=True, int4=True, judge=judge)
    assert exported.forms is not None  # there is a judge
    return exported.forms
