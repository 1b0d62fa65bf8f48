"""A sub-network as a folder that stock transformers loads.

A *plain* checkpoint where the family's own configuration can say the sizes; else one that is *carried* by a small modelling
file of its own, a copy of `anatomy/carving.py`. The folder appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.checkpoints.quiet import quiet
from secateur.errors import ExportError, disk_fault
from secateur.paths import checked
from secateur.spaces.pruning.plan import Plan
from secateur.writing import aside, open_weights, remove

if TYPE_CHECKING:
    from secateur.supernet.supernet import Supernet

PLAIN, CARRIED = "plain", "carried"


def save_checkpoint(supernet: Supernet, plan: Plan, folder: str | Path, *, tokenizer: Any = None, model: Any = None) -> str:
    """Write the plan's sub-network to a new folder; returns its form, `plain` or `carried` (loads with `trust_remote_code`).

    `model` is a network of the plan's sizes (an extracted one, perhaps polished); by default the sub-network is extracted here.
    Raises ExportError when the folder holds something already or cannot be written.
    """
    with new_folder(folder) as unfinished:
        return write_checkpoint(supernet, plan, unfinished, tokenizer=tokenizer, model=model)


def write_checkpoint(supernet: Supernet, plan: Plan, folder: Path, *, tokenizer: Any = None, model: Any = None) -> str:
    """Write the files of a checkpoint into an existing folder; returns its form."""
    if model is None:
        model = supernet.extract(plan)
    config = plain_config(supernet, plan, model)
    form = CARRIED if config is None else PLAIN
    fresh = rebuilt(model, carried_config(supernet, plan, model) if config is None else config)
    with quiet():
        fresh.save_pretrained(folder)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)
    open_weights(folder)
    return form


def plain_config(supernet: Supernet, plan: Plan, model: Any) -> Any | None:
    """The family's own configuration of the sub-network, or None where it cannot say these sizes."""
    anatomy, shape, old = supernet.anatomy, supernet.shape, model.config
    layers = anatomy.stack(plan)
    heads, units = {p.heads.count for p in layers}, {p.units.count for p in layers}
    if len(heads) != 1 or len(units) != 1 or 0 in heads | units:
        return None
    (head,), (unit,) = heads, units
    if head != shape.heads and not anatomy.plain:
        return None
    # Attention that is scaled by a layer's place needs its place in the unpruned network.
    if getattr(old, "scale_attn_by_inverse_layer_idx", False) and [p.index for p in plan.layers] != list(
        range(len(plan.layers))
    ):
        return None
    config = copy.deepcopy(old)
    config.num_hidden_layers = len(plan.layers)
    if unit != shape.units:
        setattr(config, anatomy.units_field, unit)
    if head != shape.heads:
        whole = supernet.model.config
        config.head_dim = getattr(whole, "head_dim", None) or whole.hidden_size // whole.num_attention_heads
        config.num_attention_heads = whole.num_attention_heads * head // shape.heads
        if anatomy.groups_field:
            setattr(config, anatomy.groups_field, head)
    try:
        said = type(config).from_dict(_settings(config))
        return (
            said if _sizes(type(model), said) == {name: tensor.shape for name, tensor in model.state_dict().items()} else None
        )
    except Exception:  # the family's own checks refuse it (Llama: width must be a multiple of heads); their error types vary
        return None


def _sizes(model_class: Any, config: Any) -> dict[str, Any]:
    """The weights that a network of this configuration has. Its first layer may lack some (ModernBERT), or a size of theirs is
    derived from another (Phi's norms of queries)."""
    import torch

    with quiet(), torch.device("meta"):
        return {name: tensor.shape for name, tensor in model_class(copy.deepcopy(config)).state_dict().items()}


def carried_config(supernet: Supernet, plan: Plan, model: Any) -> Any:
    """The configuration that `carving` builds the sub-network from."""
    config_class = _carved("Secateur" + type(model.config).__name__)
    settings = _settings(model.config)
    settings["num_hidden_layers"] = len(supernet.anatomy.stack(plan))
    return config_class.from_dict({**settings, "secateur": supernet.anatomy.describe(plan, supernet.shape)})


def _settings(config: Any) -> dict[str, Any]:
    """All of a configuration but what names its class and version."""
    said = config.to_dict()
    for name in ("model_type", "architectures", "auto_map", "transformers_version"):
        said.pop(name, None)
    return dict(said)


def _carved(name: str) -> Any:
    from secateur.anatomy import carving

    try:
        return getattr(carving, name)
    except AttributeError as error:
        raise ExportError(f"only classes of transformers can be exported: {error}.") from None


def rebuilt(model: Any, config: Any) -> Any:
    """A fresh network of this configuration with the model's weights, on the CPU.

    Fresh, because a live model that is handed another configuration loses its attention implementation.
    """
    from secateur.anatomy import carving

    model_class = type(model)
    if config.model_type.startswith("secateur_") and not model_class.__name__.startswith("Secateur"):
        model_class = _carved("Secateur" + model_class.__name__)
        if carving.auto_class(model_class.__name__) is None:
            raise ExportError(f"no Auto class of transformers loads a `{type(model).__name__}`: it cannot be exported.")
    state = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    with quiet():
        fresh, info = model_class.from_pretrained(
            None, config=config, state_dict=state, output_loading_info=True, ignore_mismatched_sizes=True
        )
    wrong = sorted(map(str, [*info["missing_keys"], *info["unexpected_keys"], *info["mismatched_keys"]]))
    if wrong:
        raise ExportError(
            f"`model` does not match the plan: {', '.join(wrong[:3])} differ. Pass what `extract(plan)` returned."
        )
    if getattr(model, "generation_config", None) is not None:
        fresh.generation_config = copy.deepcopy(model.generation_config)
        if not getattr(fresh.config, "use_cache", True):
            fresh.generation_config.use_cache = False
    return fresh


@contextlib.contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """A folder beside the wanted one that takes its name once all is written; removed when anything fails.

    Raises ExportError when the wanted folder is not empty or the disk does not take it.
    """
    wanted = checked(folder, ExportError)
    if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        raise ExportError(f"`{wanted}` already exists and is not an empty folder. Name a new one.")
    # Absolute, so that a change of directory meanwhile does no harm.
    wanted = Path(os.path.abspath(wanted))
    unfinished = aside(wanted)
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(wanted)
    except BaseException as error:
        remove(unfinished)
        reason = disk_fault(error)
        if reason is None and isinstance(error, OSError) and error.errno is not None:
            reason = os.strerror(error.errno).lower()
        if reason:
            raise ExportError(f"`{folder}` could not be written: {reason}. Nothing was left there.") from error
        raise
