"""A finished export, and the ONNX forms that a folder may have beside its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.export.scored import FILES, Forms


@dataclass(frozen=True)
class Exported:
    """A finished export. `differences` are the largest absolute differences of logits: extracted, reloaded, and each form's."""

    folder: Path
    #: `plain`, or `carried` by its own modelling file.
    form: str
    differences: dict[str, float]
    #: File names in the folder, sorted.
    files: tuple[str, ...]
    #: What to say of it before anyone uses it.
    warning: str = ""
    #: What its forms score, take and weigh, where ONNX was asked for.
    forms: Forms | None = None
    #: Where it lies on a hub, once it was pushed.
    url: str | None = None

    def __str__(self) -> str:
        lines = [self.url or str(self.folder), f"files: {', '.join(self.files)}"]
        lines += [f"largest difference, {name}: {value:.1e}" for name, value in self.differences.items()]
        lines += [] if self.forms is None else str(self.forms).splitlines()
        return "\n  ".join([*lines, *([self.warning] if self.warning else [])])

    @classmethod
    def found(
        cls, folder: Path, form: str, differences: dict[str, float], warning: str = "", forms: Forms | None = None
    ) -> Exported:
        """What lies in the folder."""
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return cls(folder, form, differences, tuple(files), warning, forms)


def need_onnx() -> None:
    """Raise MissingExtraError where a library is not installed that the ONNX forms need."""
    from secateur.export.onnx import need

    need("onnx", "onnxscript", "onnxruntime")


def write_forms(
    network: Any, folder: Path, *, onnx: bool, int8: bool, int4: bool = False, kind: str, token_types: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Write model.onnx, model.int8.onnx and model.int4.onnx into the folder as asked; the smaller ones include the first.

    Returns their largest differences of logits from the network's, and the share of model.onnx's size that each smaller file
    has. Raises ExportError where a difference is too large.
    """
    asked = [name for name, wanted in (("int8", int8), ("int4", int4)) if wanted]
    if not (onnx or asked):
        return {}, {}
    from secateur.export.onnx import export_onnx
    from secateur.export.quantise import QUANTISERS
    from secateur.export.verify import padded_batch, verify_files

    files = {"onnx": export_onnx(network, folder / FILES["onnx"], kind=kind, token_types=token_types)}
    small = {name: QUANTISERS[name](files["onnx"], folder / FILES[name]) for name in asked}
    files |= {name: made.path for name, made in small.items()}
    differences = verify_files(network, files, padded_batch(network, kind, token_types=token_types))
    return differences, {name: made.ratio for name, made in small.items()}
