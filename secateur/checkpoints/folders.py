"""Where a checkpoint lies, and what its config.json says. Nothing heavy loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from secateur.errors import ModelError, one_line


def local(name: str | Path) -> Path | None:
    """The file or folder of this name, or None where it can only be a name on the hub: `name` or `owner/name`.

    An existing path wins over a name. Raises ModelError for a path that is not there.
    """
    path, text = Path(name).expanduser(), str(name)
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
        raise ModelError(f"`{folder}` is no checkpoint folder: it has no config.json.")
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return {**found, "model_type": str(found["model_type"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"`{file}` is damaged: {one_line(error)}.") from error


def is_trained(folder: str | Path) -> bool:
    """Whether the folder holds a checkpoint of a network of this package, as `secateur train` writes them."""
    from secateur.decoders.decoders import is_decoder

    try:
        return is_decoder(described(folder)["model_type"])
    except ModelError:
        return False
