"""Where a checkpoint lies, and what its config.json says. Nothing heavy loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from secateur.anatomy import ANATOMIES
from secateur.checkpoints.foreign import size_fault
from secateur.errors import ModelError, one_line
from secateur.paths import checked, reason


def local(name: str | Path) -> Path | None:
    """The file or folder of this name, or None where it can only be a name on the hub: `name` or `owner/name`.

    An existing path wins over a name. Raises ModelError for a path that is not there.
    """
    path, text = checked(name, ModelError), str(name)
    if path.exists():
        return path
    meant = isinstance(name, Path) or path.is_absolute() or text.startswith((".", "~")) or text.count("/") > 1 or "\\" in text
    if meant:
        raise ModelError(f"`{name}` does not exist. Give the folder of a checkpoint, or a name on the hub.")
    return None


def described(folder: str | Path) -> dict[str, Any]:
    """What the config.json of a checkpoint says: a dict with a `model_type`. Raises ModelError."""
    file = Path(folder) / "config.json"
    if not file.is_file():
        raise ModelError(f"`{folder}` is not a checkpoint folder: it has no config.json.")
    try:
        found = json.loads(file.read_text(encoding="utf-8-sig"), parse_constant=_constant)
        if not isinstance(found, dict):
            raise ValueError("it contains no settings {…}")
        if not isinstance(found.get("model_type"), str):
            raise ValueError("it names no `model_type`")
        if fault := size_fault(found, found["model_type"] in ANATOMIES):
            raise ValueError(fault)
    except OSError as error:
        raise ModelError(f"`{file}` cannot be read: {reason(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"`{file}` is damaged: {one_line(error)}.") from error
    return found


def _constant(name: str) -> float:
    """A number that JSON has no digits for: some families have no upper limit."""
    if name == "NaN":
        raise ValueError("NaN is not a number")
    return float(name)


def is_trained(folder: str | Path) -> bool:
    """Whether the folder holds a checkpoint of a network of this package, as `secateur train` writes them."""
    from secateur.decoders.decoders import is_decoder

    try:
        return is_decoder(described(folder)["model_type"])
    except ModelError:
        return False
