"""`secateur measure`: latency, peak memory and parameters of any checkpoint on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from secateur.devices.setup import Setup, generation_fault
from secateur.errors import ConfigurationError

if TYPE_CHECKING:
    from secateur.devices.measurement import Measurement

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
    faults = setup.faults()
    if generate and (fault := generation_fault(generate, setup)):
        faults.append(fault)
    if faults:
        raise ConfigurationError(faults)
    from secateur.checkpoints.pretrained import load_any
    from secateur.devices.measurement import measure_network
    from secateur.devices.runtime import check_setup

    check_setup(setup)
    return measure_network(model, load_any(model), setup, generate)
