"""How a network is measured on this machine: latency, peak memory, and whether the machine was busy meanwhile."""

from secateur.devices.device import available_cores, describe_device, resolve_device
from secateur.devices.inputs import dummy_inputs
from secateur.devices.latency import Latency, measure_latency, measure_model
from secateur.devices.load import Load, LoadWatch, machine_load
from secateur.devices.memory import LiveStorages, Memory, peak_memory

__all__ = [
    "Latency",
    "LiveStorages",
    "Load",
    "LoadWatch",
    "Memory",
    "available_cores",
    "describe_device",
    "dummy_inputs",
    "machine_load",
    "measure_latency",
    "measure_model",
    "peak_memory",
    "resolve_device",
]
