"""The reference network of a block zoo: the largest of the space, trained once and kept."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from secateur.architecture import digest
from secateur.errors import StudyError, one_line
from secateur.images import MobileNetwork, build
from secateur.spaces.base import Space
from secateur.spaces.mobilenet_sizes import ImageSizes
from secateur.tasks.image_data import ImageData
from secateur.training.images import ImageTraining, train_images
from secateur.writing import whole


def reference(
    space: Space, sizes: ImageSizes, data: ImageData, training: ImageTraining, folder: Path | None = None
) -> MobileNetwork:
    """The space's largest network, trained on the data, in evaluation mode.

    In `folder` it is kept as a safetensors file under a name that says what it was trained on and how, and read from there
    the next time. Raises StudyError for a file there that cannot be read.
    """
    network = build(space.largest(), sizes, seed=training.seed)
    device = data.train.labels.device
    kept = None if folder is None else folder / f"reference-{_key(network, data, training)}.safetensors"
    if kept is not None and kept.is_file():
        load_tensors(network, kept)
        return network.to(device).eval()
    network.to(device)
    train_images(network, data, training)
    if kept is not None:
        save_tensors(network, kept)
    return network


def _key(network: MobileNetwork, data: ImageData, training: ImageTraining) -> str:
    return digest(
        "reference", network.architecture.key, str(network.sizes.as_dict()), data.fingerprint, str(training.as_dict())
    )


def save_tensors(module: nn.Module, path: Path) -> None:
    """Write a module's parameters and buffers, whole or not at all."""
    from safetensors.torch import save_file

    tensors = {name: t.detach().cpu().contiguous() for name, t in module.state_dict().items()}
    with whole(path) as draft:
        save_file(tensors, draft)


def load_tensors(module: nn.Module, path: Path) -> None:
    """Read what `save_tensors` wrote. Raises StudyError where the file is damaged or of another module."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        module.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise StudyError(f"`{path}` cannot be read: {one_line(error)}. Remove it, and it is made again.") from None


def state_digest(module: nn.Module) -> str:
    """A digest of a module's parameters and buffers."""
    parts: list[bytes] = []
    for name, tensor in module.state_dict().items():
        flat = tensor.detach().cpu().reshape(-1).contiguous()
        parts += [f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), flat.view(torch.uint8).numpy().tobytes()]
    return digest(*parts)
