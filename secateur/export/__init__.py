"""From a sub-network to a folder that loads anywhere: checkpoint, ONNX, int8, verification and model card."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.checkpoints import load
from secateur.spaces.pruning.plan import Plan

if TYPE_CHECKING:
    from secateur.supernet.supernet import Supernet


@dataclass(frozen=True)
class Exported:
    """A finished export. `differences` are the largest absolute differences of logits: extracted, reloaded, onnx, int8."""

    folder: Path
    #: `plain`, or `carried` by its own modelling file.
    kind: str
    differences: dict[str, float]
    #: File names in the folder, sorted.
    files: tuple[str, ...]


def export(
    supernet: Supernet,
    plan: Plan,
    folder: str | Path,
    *,
    tokenizer: Any = None,
    model: Any = None,
    onnx: bool = False,
    int8: bool = False,
    kind: str = "classification",
    facts: dict[str, Any] | None = None,
) -> Exported:
    """Write the plan's sub-network to a new folder, compare its forms, and describe it in a README.md.

    `model` is the polished network, where there is one. `int8` includes `onnx`. `facts` go to the model card. The folder
    appears only when all is written and every difference is small enough. Raises ExportError, or MissingExtraError
    before anything is written.
    """
    from secateur.export.card import model_card
    from secateur.export.checkpoint import new_folder, write_checkpoint
    from secateur.export.onnx import export_onnx, need
    from secateur.export.quantise import quantise_int8
    from secateur.export.verify import longest_text, padded_batch, verify

    onnx = onnx or int8
    if onnx:
        need("onnx", "onnxscript", "onnxruntime")
    extracted = supernet.extract(plan) if model is None else model
    token_types = "token_type_ids" in getattr(tokenizer, "model_input_names", ()) and hasattr(
        extracted.config, "type_vocab_size"
    )
    token_types = token_types and extracted.config.type_vocab_size > 1
    with new_folder(folder) as unfinished:
        saved = write_checkpoint(supernet, plan, unfinished, tokenizer=tokenizer, model=extracted)
        reloaded = load(unfinished)
        graph = export_onnx(reloaded, unfinished / "model.onnx", kind=kind, token_types=token_types) if onnx else None
        small = quantise_int8(graph, unfinished / "model.int8.onnx") if graph and int8 else None
        differences = verify(
            supernet,
            plan,
            reloaded,
            extracted=extracted,
            polished=model is not None,
            onnx=graph,
            int8=small.path if small else None,
            batch=padded_batch(reloaded, kind, token_types=token_types),
        )
        length = min(128, longest_text(reloaded.config))
        described = {
            "name": Path(folder).name,
            "kind": saved,
            "task_kind": kind,
            "model_class": type(reloaded).__name__,
            "parameters": supernet.parameters(plan),
            "body_parameters": supernet.body_parameters(plan),
            "whole_parameters": supernet.parameters(supernet.whole),
            "whole_body_parameters": supernet.body_parameters(supernet.whole),
            "macs": supernet.macs(plan, 1, length),
            "whole_macs": supernet.macs(supernet.whole, 1, length),
            "macs_length": length,
            "plan": plan.as_dict(),
            "shape": {"layers": supernet.shape.layers, "heads": supernet.shape.heads, "units": supernet.shape.units},
            "differences": differences,
            "onnx": graph is not None,
            "int8_ratio": small.ratio if small else None,
            **(facts or {}),
        }
        (unfinished / "README.md").write_text(model_card(described), encoding="utf-8")
        files = tuple(sorted(str(f.relative_to(unfinished)) for f in unfinished.rglob("*") if f.is_file()))
    return Exported(Path(folder), saved, differences, files)


__all__ = ["Exported", "export"]
