"""How a network is measured on this machine: latency, peak memory, and whether the machine was busy meanwhile."""

from secateur.devices.contention import Load, LoadWatch
from secateur.devices.device import available_cores, describe_device, resolve_device
from secateur.devices.generation import Generation, measure_generation
from secateur.devices.inputs import dummy_inputs
from secateur.devices.latency import Latency, measure_latency, measure_model
from secateur.devices.memory import LiveStorages, Memory, peak_memory
from secateur.devices.runtime import RUNTIMES, check_runtime, runtime_version
from secateur.devices.steadiness import Steadiness, check_steady

__all__ = [
    "RUNTIMES",
    "Generation",
    "Latency",
    "LiveStorages",
    "Load",
    "LoadWatch",
    "Memory",
    "Steadiness",
    "available_cores",
    "check_runtime",
    "check_steady",
    "describe_device",
    "dummy_inputs",
    "measure_generation",
    "measure_latency",
    "measure_model",
    "peak_memory",
    "resolve_device",
    "runtime_version",
]
