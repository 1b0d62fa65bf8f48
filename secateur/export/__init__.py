"""From a sub-network to a folder that loads anywhere: checkpoint, ONNX, quantisation, verification and model card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.anatomy.inputs import reads_images
from secateur.checkpoints import load
from secateur.export.forms import Exported, need_onnx, write_forms
from secateur.export.scored import Judge
from secateur.spaces.pruning.plan import Plan

if TYPE_CHECKING:
    from secateur.supernet.supernet import Supernet

__all__ = ["Exported", "export"]


def export(
    supernet: Supernet,
    plan: Plan,
    folder: str | Path,
    *,
    tokenizer: Any = None,
    model: Any = None,
    onnx: bool = False,
    int8: bool = False,
    int4: bool = False,
    kind: str = "classification",
    facts: dict[str, Any] | None = None,
    judge: Judge | None = None,
) -> Exported:
    """Write the plan's sub-network to a new folder, compare its forms, and describe it in a README.md.

    `model` is the polished network, where there is one. `int8` and `int4` include `onnx`. `facts` go to the model card, and
    so does what `judge` says of the ONNX forms. The folder appears only when all is written and every difference is small
    enough. Raises ExportError, or MissingExtraError before anything is written.
    """
    from secateur.export.card import model_card
    from secateur.export.checkpoint import new_folder, write_checkpoint
    from secateur.export.verify import longest_text, padded_batch, verify

    if onnx or int8 or int4:
        need_onnx()
    extracted = supernet.extract(plan) if model is None else model
    token_types = "token_type_ids" in getattr(tokenizer, "model_input_names", ()) and (
        getattr(extracted.config, "type_vocab_size", 0) > 1
    )
    with new_folder(folder) as unfinished:
        form = write_checkpoint(supernet, plan, unfinished, tokenizer=tokenizer, model=extracted)
        reloaded = load(unfinished)
        batch = padded_batch(reloaded, kind, token_types=token_types)
        differences = verify(supernet, plan, reloaded, extracted=extracted, polished=model is not None, batch=batch)
        asked: dict[str, Any] = {"onnx": onnx, "int8": int8, "int4": int4}
        more, ratios = write_forms(reloaded, unfinished, **asked, kind=kind, token_types=token_types)
        differences |= more
        forms = judge(reloaded, unfinished) if judge is not None and more else None
        length = min(128, longest_text(reloaded.config))
        described = {
            "name": Path(folder).name,
            "form": form,
            "model_class": type(reloaded).__name__,
            **_counts(supernet, plan, length),
            **{f"unpruned_{name}": count for name, count in _counts(supernet, supernet.whole, length).items()},
            "macs_length": length,
            "images": reads_images(reloaded.config),
            "plan": plan.as_dict(),
            "shape": {"layers": supernet.shape.layers, "heads": supernet.shape.heads, "units": supernet.shape.units},
            "differences": differences,
            "onnx": "onnx" in differences,
            "ratios": ratios,
            "forms": forms,
            **(facts or {}),
        }
        (unfinished / "README.md").write_text(model_card(described), encoding="utf-8")
    return Exported.found(Path(folder), form, differences, described.get("warning") or "", forms)


def _counts(supernet: Supernet, plan: Plan, length: int) -> dict[str, int]:
    return {
        "parameters": supernet.parameters(plan),
        "body_parameters": supernet.body_parameters(plan),
        "macs": supernet.macs(plan, 1, length),
    }
