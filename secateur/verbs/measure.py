"""`secateur measure`: latency, peak memory and parameters of any checkpoint on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from secateur.devices.setup import Setup
from secateur.verbs.signature import Model, takes, tells

if TYPE_CHECKING:
    from secateur.devices.measurement import Measurement

Generate = Annotated[
    int, typer.Option(help="Tokens to generate after a prompt of --length; prompt and tokens are timed separately. 0: none.")
]


@tells
@takes(Setup, without=("kind",))
def measure(setup: Setup, model: Model, *, generate: Generate = 0) -> Measurement:
    """Measure the latency and peak memory of a checkpoint on this machine.

    Raises ConfigurationError for sizes out of range, ModelError for a model that cannot be loaded, MeasurementError for
    one that cannot be run on token ids alone, MissingExtraError where the runtime's library is not installed.
    """
    from secateur.checkpoints.pretrained import load_any
    from secateur.devices.measurement import measure_checkpoint

    return measure_checkpoint(model, load_any, setup, generate)
