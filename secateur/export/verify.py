"""Is the exported network the one that was searched? Largest differences of logits between its forms."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from secateur.anatomy.inputs import image_size, longest_text, reads_images
from secateur.errors import ExportError
from secateur.spaces.pruning.plan import Plan
from secateur.supernet import Supernet, evaluating

__all__ = ["TOLERANCE", "difference", "logits", "longest_text", "padded_batch", "verify", "verify_files"]

#: The largest absolute difference allowed, for logits of size 1 or less; it grows with the largest logit, as rounding does.
TOLERANCE = {"extracted": 1e-5, "reloaded": 1e-5, "onnx": 1e-4}


def verify(
    supernet: Supernet,
    plan: Plan,
    reloaded: Any,
    *,
    extracted: Any = None,
    polished: bool = False,
    batch: Mapping[str, Any],
) -> dict[str, float]:
    """Largest absolute differences of logits on `batch`, in eval mode.

    `extracted`: the extracted network against the selected one. `reloaded`: against `extracted` as given (when `polished`, that
    is another network than the selected one, and a new extraction is compared with that). Padded positions do not count.
    Raises ExportError when a difference is too large or no number.
    """
    carved = supernet.extract(plan) if extracted is None or polished else extracted
    exported = carved if extracted is None else extracted
    selected = _selected_logits(supernet, plan, batch)
    device = next(supernet.model.parameters()).device
    return {
        "extracted": difference("extracted", selected, logits(carved, batch, device), batch),
        "reloaded": difference("reloaded", logits(exported, batch, device), logits(reloaded, batch, device), batch),
    }


def verify_files(network: Any, files: Mapping[str, Path], batch: Mapping[str, Any]) -> dict[str, float]:
    """As `verify`, of ONNX files by their forms against the network; of quantised ones it is reported only."""
    from secateur.export.onnx import run_onnx

    # ONNX files hold float32 and run on the CPU: so must what they are compared with.
    single = network if network.dtype == torch.float32 else copy.deepcopy(network).float()
    reference = logits(single, batch, "cpu")
    return {
        name: difference(name, reference, torch.from_numpy(run_onnx(path, dict(batch))), batch) for name, path in files.items()
    }


def padded_batch(model: Any, kind: str = "classification", *, token_types: bool = False) -> dict[str, Any]:
    """Three texts of different lengths, padded at the right as tokenizers do: int64 (3, n), or (3, 2, n) for choices; or three
    images.

    A decoder without a padding id gets texts of one length; one that classifies gets a single text.
    """
    config = model.config
    if reads_images(config):
        shape = (3, config.num_channels, *image_size(config))
        return {"pixel_values": torch.randn(shape, generator=torch.Generator().manual_seed(0))}
    pad = getattr(config, "pad_token_id", None)
    pad = pad if isinstance(pad, int) and 0 <= pad < config.vocab_size else None
    length = min(24, longest_text(config))
    lengths = [length] * 3 if pad is None else [length, max(1, length * 2 // 3), max(1, length // 4)]
    if pad is None and type(model).__name__.endswith("ForSequenceClassification"):
        lengths = lengths[:1]
    rows = len(lengths) * (2 if kind == "multiple_choice" else 1)
    ids = torch.randint(config.vocab_size - (pad is not None), (rows, length), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    if pad is not None:
        ids = ids + (ids >= pad)  # never the padding id but where padding is
        for row in range(rows):
            mask[row, lengths[row % len(lengths)] :] = 0
        ids[mask == 0] = pad
    batch = {"input_ids": ids, "attention_mask": mask}
    if token_types:
        batch["token_type_ids"] = ((torch.arange(length) >= length // 3) & (mask > 0)).long()
    if kind == "multiple_choice":
        batch = {name: tensor.view(-1, 2, length) for name, tensor in batch.items()}
    return batch


def _selected_logits(supernet: Supernet, plan: Plan, batch: Mapping[str, Any]) -> Any:
    device = next(supernet.model.parameters()).device
    with evaluating(supernet.model), supernet.select(plan) as model:
        return model(**{name: tensor.to(device) for name, tensor in batch.items()}).logits.float().cpu()


def logits(model: Any, batch: Mapping[str, Any], device: Any) -> Any:
    """The model's logits, computed on `device`, so that forms are compared and not devices."""
    home = next(model.parameters()).device
    model.to(device)
    try:
        with evaluating(model):
            return model(**{name: tensor.to(device) for name, tensor in batch.items()}).logits.float().cpu()
    finally:
        model.to(home)


def difference(name: str, reference: Any, other: Any, batch: Mapping[str, Any]) -> float:
    """The largest difference of two forms' logits where there is no padding. Raises ExportError where it is too large."""
    if reference.shape != other.shape:
        raise ExportError(
            f"the {name} network's outputs have the shape {tuple(other.shape)} instead of {tuple(reference.shape)}."
        )
    if "attention_mask" in batch:
        mask = batch["attention_mask"].cpu().bool()
        if reference.ndim == 3 and reference.shape[:2] == mask.shape:  # a logit per token: what stands at padding is never read
            reference, other = reference[mask], other[mask]
    difference = float((reference - other).abs().max())
    allowed = TOLERANCE.get(name, float("inf")) * max(1.0, float(reference.abs().max()))
    if not difference <= allowed:  # a NaN is no agreement either
        raise ExportError(
            f"the {name} network's outputs differ from the sub-network's by {difference:.1e}, more than {allowed:.1e}. "
            "The export was not finished. Please report this, with the model's configuration."
        )
    return difference
