"""Load an exported folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from secateur.checkpoints.carried import carried
from secateur.checkpoints.folders import described
from secateur.checkpoints.foreign import check_weights, parsing
from secateur.checkpoints.quiet import quiet
from secateur.errors import ModelError
from secateur.paths import checked


def load(folder: str | Path, weights: Mapping[str, np.ndarray] | None = None) -> Any:
    """The model in an exported folder, in eval mode on the CPU; its class is the one the folder's configuration names.
    Files that are among the `weights` (see `carried`) are not read.

    Runs no code from the folder: a pruned model's class is made here, a designed one's is in this package. Raises ModelError
    when the folder is missing or damaged.
    """
    folder = checked(folder, ModelError)
    with parsing(f"`{folder}` could not be loaded, it may be damaged"), quiet():
        model_class = _class_of(folder)
        config = model_class.config_class.from_pretrained(folder, local_files_only=True)
        check_weights(folder, lambda: model_class._from_config(config))
        known = carried(folder, weights or {})
        given: dict[str, Any] = {"config": config, "state_dict": known} if known else {"local_files_only": True}
        model, info = model_class.from_pretrained(
            None if known else folder, output_loading_info=True, ignore_mismatched_sizes=True, **given
        )
        model.config.name_or_path = str(folder)
    # transformers would give a missing weight random values and only warn.
    wrong = sorted({*info["missing_keys"], *(key if isinstance(key, str) else key[0] for key in info["mismatched_keys"])})
    if wrong:
        raise ModelError(f"`{folder}` is damaged: {len(wrong)} of its weights are missing or have another size (`{wrong[0]}`).")
    return model.eval()


def _class_of(folder: Path) -> Any:
    if not folder.is_dir():
        raise ModelError(f"`{folder}` is not a folder. `load` takes a folder that an export wrote.")
    said = described(folder)
    family, listed = said["model_type"], said.get("architectures")
    name = listed[0] if isinstance(listed, list) and listed else None
    import transformers

    from secateur.anatomy import carving
    from secateur.catalogue import names
    from secateur.decoders.decoders import is_decoder, model_class

    found = None
    if is_decoder(family):
        classes = [model_class(backbone) for backbone in names("backbone")]
        found = next((known for known in classes if known.config_class.model_type == family and known.__name__ == name), None)
    elif isinstance(name, str):
        source = carving if family.startswith("secateur_") else transformers
        found = getattr(source, name, None)
    if not hasattr(found, "_from_config"):
        raise ModelError(f"`{folder / 'config.json'}` names the unknown class `{name}`.")
    return found
