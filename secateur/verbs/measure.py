"""`secateur measure`: latency, peak memory and parameters of any checkpoint on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secateur.devices.measurement import Measurement, measure_checkpoint
from secateur.devices.setup import Setup
from secateur.errors import ModelError, first_line

if TYPE_CHECKING:
    from torch import nn

ABOUT = {name: option.about for name, option in Setup.options().items()}


def measure(
    model: Annotated[str, typer.Argument(help="Folder of a checkpoint, or a name on the hub.")],
    *,
    batch: Annotated[int, typer.Option(help=ABOUT["batch"])] = Setup.batch,
    length: Annotated[int, typer.Option(help=ABOUT["length"])] = Setup.length,
    threads: Annotated[int, typer.Option(help=ABOUT["threads"])] = Setup.threads,
    device: Annotated[str, typer.Option(help=ABOUT["device"])] = Setup.device,
    seconds: Annotated[float, typer.Option(help=ABOUT["seconds"])] = Setup.seconds,
    runtime: Annotated[str, typer.Option(help=ABOUT["runtime"])] = Setup.runtime,
    generate: Annotated[
        int, typer.Option(help="Tokens to write after a prompt of --length: prompt and token are timed apart. 0: none.")
    ] = 0,
) -> Measurement:
    """Measure latency and peak memory of a checkpoint on this machine.

    Raises ConfigurationError for sizes out of range, ModelError for a model that cannot be loaded, MeasurementError for
    one that cannot be run on token ids alone, MissingExtraError where the runtime's library is not installed.
    """
    setup = Setup(batch=batch, length=length, threads=threads, device=device, seconds=seconds, runtime=runtime)
    return measure_checkpoint(model, load_any, setup, generate)


def load_any(path: str) -> nn.Module:
    """The network of a checkpoint folder (stock, or exported by Secateur) or of a name on the hub. Raises ModelError.

    Runs no code that comes with a checkpoint.
    """
    folder = Path(path).expanduser()
    if not folder.exists():
        # A hub name is `name` or `owner/name`; anything else can only have been meant as a path.
        if folder.is_absolute() or path.startswith((".", "~")) or path.count("/") > 1 or "\\" in path:
            raise ModelError(f"`{path}` does not exist. Give the folder of a checkpoint, or a name on the hub.")
        return _load_stock(path, path)
    if not (folder / "config.json").is_file():
        raise ModelError(f"`{path}` is no checkpoint folder: it has no config.json.")
    try:
        family = str(json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type"))
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"`{folder / 'config.json'}` is damaged: {first_line(error)}") from error
    if family.startswith("secateur_"):
        from secateur.checkpoints import load

        pruned: nn.Module = load(folder)
        return pruned
    return _load_stock(path, str(folder))


def _load_stock(name: str, source: str) -> nn.Module:
    """A model that transformers has a class for. Missing weights are made up: they do not change what a pass costs."""
    import transformers
    from safetensors import SafetensorError

    from secateur.checkpoints.quiet import quiet

    try:
        with quiet():
            config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=False)
            architecture = (config.architectures or ["AutoModel"])[0]
            loader = getattr(transformers, architecture, None)
            if loader is None:
                raise ModelError(
                    f"`{name}` is a `{architecture}`, which transformers {transformers.__version__} does not have."
                )
            network: nn.Module = loader.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise ModelError(f"`{name}` could not be loaded: {first_line(error)}") from error
    return network
