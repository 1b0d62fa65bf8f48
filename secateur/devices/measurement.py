"""What one network costs on this machine: parameters, latency, peak memory, and where asked for the time to generate.

Imports torch only when it measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar

from secateur.anatomy.inputs import read_length, reads_images
from secateur.devices.setup import Setup, generation_fault
from secateur.errors import ConfigurationError, MeasurementError, SecateurError, first_line
from secateur.tasks.task import IMAGES

if TYPE_CHECKING:
    from torch import nn

    from secateur.devices.generation import Generation
    from secateur.devices.latency import Latency
    from secateur.devices.memory import Memory

Found = TypeVar("Found")
#: Columns beside the figures' names: with these, 60.
WIDTH = 46


@dataclass(frozen=True)
class Measurement:
    """What one checkpoint costs on one machine: `latency` in seconds, `memory` in bytes (that of the
    runtime itself), `parameters` as a count. `generation`, where asked for, has prompt and token apart."""

    model: str
    parameters: int
    latency: Latency
    memory: Memory
    generation: Generation | None = None

    def as_dict(self) -> dict[str, Any]:
        """The figures as nested dictionaries, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        timed = {"latency": self.latency}
        if self.generation is not None:
            timed |= {"prompt": self.generation.prompt, "per token": self.generation.token}
        told = {"parameters": [f"{self.parameters:,}"], **{name: time.figures() for name, time in timed.items()}}
        told["memory"] = [str(self.memory)]
        if self.generation is not None:
            told["generation"] = [str(self.generation)]
        note = next((time.note for time in timed.values() if time.note), "")
        told["measured"] = [self.latency.setup, self.latency.device, note]
        wrapped = {name: [line for text in texts for line in wrap(text, WIDTH)] for name, texts in told.items()}
        lines = [(name if i == 0 else "", line) for name, found in wrapped.items() for i, line in enumerate(found)]
        return "\n".join([self.model, *(f"  {name:<12}{line}" for name, line in lines)])


def measure_checkpoint(name: str, load: Callable[[str], nn.Module], setup: Setup, generate: int = 0) -> Measurement:
    """Measure the transformers model that `load` loads, on token ids of the kind that its head is for.

    `generate` tokens are written after a prompt; 0: none. Raises ConfigurationError for a setup that does not fit, before
    anything is loaded, and MeasurementError for a network that cannot be run on token ids alone.
    """
    faults = setup.faults()
    if generate and (fault := generation_fault(generate, setup)):
        faults.append(fault)
    if faults:
        raise ConfigurationError(faults)
    from secateur.devices.generation import measure_generation
    from secateur.devices.inputs import dummy_inputs
    from secateur.devices.latency import measure_model
    from secateur.devices.runtime import check_setup
    from secateur.devices.runtime_memory import runtime_memory

    where = check_setup(setup)
    network = load(name).to(where).eval()
    setup = replace(setup, kind=kind_of(network), length=read_length(network.config, setup.length))
    what = "images" if setup.kind == IMAGES else "token ids"
    inputs = dummy_inputs(network, setup.batch, setup.length, setup.kind)

    def run(measure: Callable[[], Found]) -> Found:
        try:
            return measure()
        except SecateurError:
            raise
        except Exception as error:  # it is a stranger's network: what its pass raises can be anything
            said = f"`{type(network).__name__}` could not be run on {what}: {first_line(error)}"
            raise MeasurementError(said) from error

    memory = run(lambda: runtime_memory(network, inputs, setup))
    latency = run(lambda: measure_model(network, setup))
    generation = run(lambda: measure_generation(network, generate, setup)) if generate else None
    return Measurement(name, sum(p.numel() for p in network.parameters()), latency, memory, generation)


def kind_of(network: nn.Module) -> str:
    """The kind of task that the network's head is for, as far as it changes what it is fed."""
    name = type(network).__name__
    if name.endswith("ForMultipleChoice"):
        return "multiple_choice"
    if reads_images(network.config):
        return IMAGES
    return "language_modelling" if name.endswith(("ForCausalLM", "LMHeadModel")) else "classification"
