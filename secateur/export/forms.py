"""A finished export, and the ONNX forms that a folder may have beside its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.export.scored import Forms


@dataclass(frozen=True)
class Exported:
    """A finished export. `differences` are the largest absolute differences of logits: extracted, reloaded, onnx, int8."""

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
    network: Any, folder: Path, *, onnx: bool, int8: bool, kind: str, token_types: bool = False
) -> tuple[dict[str, float], float | None]:
    """Write model.onnx and model.int8.onnx into the folder as asked; `int8` includes `onnx`.

    Returns their largest differences of logits from the network's, and the int8 file's share of the other's size. Raises
    ExportError where a difference is too large.
    """
    if not (onnx or int8):
        return {}, None
    from secateur.export.onnx import export_onnx
    from secateur.export.quantise import quantise_int8
    from secateur.export.verify import padded_batch, verify_files

    files, ratio = {"onnx": export_onnx(network, folder / "model.onnx", kind=kind, token_types=token_types)}, None
    if int8:
        small = quantise_int8(files["onnx"], folder / "model.int8.onnx")
        files["int8"], ratio = small.path, small.ratio
    return verify_files(network, files, padded_batch(network, kind, token_types=token_types)), ratio
