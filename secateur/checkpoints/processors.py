"""What makes a model's inputs, read from its folder: a tokenizer, or how images are prepared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from secateur.anatomy.inputs import image_size, read_length, reads_images
from secateur.checkpoints.folders import local
from secateur.checkpoints.pretrained import check_kind, reading
from secateur.checkpoints.tokenizers import tokenizer_of
from secateur.tasks.image_processor import FILE, ImageProcessor


def processor_of(model: str, kind: str | None = None) -> Any:
    """The tokenizer that comes with a model, or the `ImageProcessor` of one that reads images: as its preprocessor_config.json
    says, where there is one.

    Raises ModelError where there is no tokenizer, where the file is damaged, or for a family that cannot do this `kind`.
    """
    from transformers import AutoConfig

    with reading(model) as source:
        config = AutoConfig.from_pretrained(source)
        check_kind(model, config, kind)
        if reads_images(config):
            size, channels, length = image_size(config), config.num_channels, read_length(config, 1)
            return ImageProcessor.said(size, channels, length, _settings(source))
    return tokenizer_of(model)


def _settings(source: str) -> dict[str, Any] | None:
    """What the preprocessor_config.json of a folder, or of a name on the hub, says; None where there is none."""
    from transformers.utils.hub import cached_file

    folder = local(source)
    # of a name on the hub: None where it has no such file; that it cannot be reached is an error
    name = cached_file(source, FILE, _raise_exceptions_for_missing_entries=False) if folder is None else folder / FILE
    if name is None or not Path(name).is_file():
        return None
    found = json.loads(Path(name).read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{FILE} contains no settings {{…}}")
    return found
