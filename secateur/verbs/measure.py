"""`secateur measure`: latency, peak memory and parameters of any checkpoint on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from secateur.errors import ConfigurationError, MeasurementError, one_line

if TYPE_CHECKING:
    from torch import nn

    from secateur.devices import Generation, Latency, Memory

Found = TypeVar("Found")


@dataclass(frozen=True)
class Measurement:
    """What one checkpoint costs on one machine: `latency` in seconds, `memory` in bytes (by torch, in the checkpoint's own
    precision, whatever the runtime), `parameters` as a count. `generation`, where asked for, has prompt and token apart."""

    model: str
    parameters: int
    latency: Latency
    memory: Memory
    generation: Generation | None = None

    def as_dict(self) -> dict[str, Any]:
        """The figures as nested dictionaries, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"parameters  {self.parameters:,}", f"latency     {self.latency}", f"memory      {self.memory}"]
        if self.generation is not None:
            prompt, token = self.generation.prompt, self.generation.token
            lines += [f"prompt      {prompt}", f"per token   {token}", f"generation  {self.generation}"]
        return "\n  ".join([self.model, *lines])


def measure(
    model: Annotated[str, typer.Argument(help="Folder of a checkpoint, or a name on the hub.")],
    *,
    batch: Annotated[int, typer.Option(help="Sequences per forward pass.")] = 1,
    length: Annotated[int, typer.Option(help="Tokens per sequence.")] = 128,
    threads: Annotated[int, typer.Option(help="CPU threads to compute with.")] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto for a GPU where there is one.")] = "cpu",
    seconds: Annotated[float, typer.Option(help="Stop repeating after this many seconds, steady or not.")] = 5.0,
    runtime: Annotated[str, typer.Option(help="torch, torch-int8, onnx or onnx-int8 (the last three on the CPU).")] = "torch",
    generate: Annotated[
        int, typer.Option(help="Tokens to write after a prompt of --length: prompt and token are timed apart. 0: none.")
    ] = 0,
) -> Measurement:
    """Measure latency and peak memory of a checkpoint on this machine.

    Raises ConfigurationError for sizes out of range, ModelError for a model that cannot be loaded, MeasurementError for
    one that cannot be run on token ids alone, MissingExtraError where the runtime's library is not installed.
    """
    sizes = (("batch", batch), ("length", length), ("threads", threads))
    faults = [f"`{name}` must be at least 1, got {value}." for name, value in sizes if value < 1]
    if seconds <= 0:
        faults.append(f"`seconds` must be above 0, got {seconds}.")
    if generate < 0 or generate == 1:
        faults.append(f"`generate` must be 0 or at least 2 tokens (the prompt's pass yields the first), got {generate}.")
    if generate and runtime.startswith("onnx"):
        faults.append(f"`generate` needs a cache, which the ONNX export leaves out: use runtime torch, got {runtime}.")
    if faults:
        raise ConfigurationError(faults)

    from secateur.checkpoints.pretrained import load_any
    from secateur.devices import check_runtime, dummy_inputs, measure_generation, measure_model, peak_memory, resolve_device

    where = resolve_device(device)
    check_runtime(runtime, where)
    network = load_any(model).to(where).eval()
    kind = _kind(network)
    inputs = dummy_inputs(network, batch, length, kind)
    memory = _run(network, lambda: peak_memory(network, inputs))
    latency = _run(
        network,
        lambda: measure_model(
            network, device=where, threads=threads, batch=batch, length=length, kind=kind, max_seconds=seconds, runtime=runtime
        ),
    )
    generation = None
    if generate:
        options: dict[str, Any] = {
            "threads": threads,
            "batch": batch,
            "length": length,
            "max_seconds": seconds,
            "runtime": runtime,
        }
        generation = _run(network, lambda: measure_generation(network, tokens=generate, device=where, **options))
    return Measurement(model, sum(p.numel() for p in network.parameters()), latency, memory, generation)


def _kind(network: nn.Module) -> str:
    """The kind of task that the network's head is for, as far as it changes what it is fed."""
    name = type(network).__name__
    if name.endswith("ForMultipleChoice"):
        return "multiple_choice"
    return "language_modelling" if name.endswith(("ForCausalLM", "LMHeadModel")) else "classification"


def _run(network: nn.Module, measurement: Callable[[], Found]) -> Found:
    try:
        return measurement()
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError) as error:
        raise MeasurementError(f"`{type(network).__name__}` could not be run on token ids: {one_line(error)}.") from error
