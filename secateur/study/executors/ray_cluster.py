"""A Ray cluster: one that this process starts for itself, or one that is there already, by its address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from secateur.devices.cores import available_cores
from secateur.errors import ConfigurationError, MissingExtraError, StudyError, one_line
from secateur.study.executors.settings import address_fault, gpus_fault

#: Where Ray's own tools look for an address.
VARIABLE = "RAY_ADDRESS"
#: Bytes of the object store beside the arrays that are put there, and seconds that an address has to answer.
ROOM, PATIENCE = 200 * 2**20, 10.0


def load_ray() -> ModuleType:
    """The library. Raises MissingExtraError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # what a worker prints comes from each, not once for all
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 starves trials on a machine that does other work as well
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    found: ModuleType = ray
    return found


@dataclass(frozen=True)
class Place:
    """Where a worker may be: so many CPUs and GPUs of any node, or of a certain one."""

    cpus: float
    gpus: float = 0.0
    node: str | None = None

    def options(self) -> dict[str, Any]:
        """What Ray is told."""
        found: dict[str, Any] = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        if self.node is not None:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            found["scheduling_strategy"] = NodeAffinitySchedulingStrategy(self.node, soft=False)
        return found


class RayCluster:
    """A connection to Ray. What it has started ends with `leave`, and with this process, however that ends."""

    def __init__(self, address: str | None = None, *, workers: int = 1, memory: int = 0) -> None:
        """Join the cluster at `address` (or at RAY_ADDRESS), or start one here for so many workers, whose object store has
        room for `memory` bytes. A connection that this process has already is used.

        Raises ConfigurationError for an address where no cluster answers, MissingExtraError.
        """
        self.ray = load_ray()
        address = address or os.environ.get(VARIABLE) or None
        self.own = not self.ray.is_initialized()
        if not self.own:
            self._check_same(address)
        elif address is None:
            self._start(workers, memory)
        else:
            self._join(address)

    def _check_same(self, address: str | None) -> None:
        there = self.ray.get_runtime_context().gcs_address
        if address is not None and address != "auto" and self._resolved(address) != self._resolved(there):
            raise ConfigurationError(f"`address` is {address}, but this process is connected to Ray at {there} already.")

    def _resolved(self, address: str) -> tuple[str, str]:
        """Host, as a number, and port."""
        host, _, port = address.rpartition(":")
        with suppress(OSError):
            host = socket.gethostbyname(host)
        return self.ray.util.get_node_ip_address() if host.startswith("127.") else host, port

    def _start(self, workers: int, memory: int) -> None:
        options = {"num_cpus": max(workers, len(available_cores())), "object_store_memory": memory + ROOM}
        where = "Ray cannot be started on this machine"
        try:
            self._connect(where, address="local", include_dashboard=False, **options)
        except ConfigurationError as error:
            if "timed out" not in str(error):
                raise
            self._connect(where, address="local", include_dashboard=False, **options)  # a busy machine: once more

    def _join(self, address: str) -> None:
        if fault := address_fault(address):
            raise ConfigurationError(fault)
        if address != "auto":
            _check_answers(address)
        self._connect(f"`address` {address} cannot be used", address=address)

    def _connect(self, where: str, **options: Any) -> None:
        try:
            self.ray.init(logging_level="ERROR", log_to_driver=True, **options)
        except Exception as error:
            self.ray.shutdown()
            raise ConfigurationError(f"{where}: {one_line(error)}.") from error

    def leave(self) -> None:
        """End the connection, and what was started here."""
        if self.own and self.ray.is_initialized():
            self.ray.shutdown()

    # What there is.

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive, as Ray describes them."""
        return [node for node in self.ray.nodes() if node["Alive"]]

    def places(self, workers: int, gpus: float = 0.0) -> list[Place]:
        """A place for each worker: all get the same number of CPUs, as many as there are for each.

        Raises ConfigurationError where the cluster has no room for so many.
        """
        if fault := gpus_fault(gpus):
            raise ConfigurationError(fault)
        there = [node["Resources"] for node in self.nodes()]
        if gpus and not any(node.get("GPU", 0) for node in there):
            raise ConfigurationError(f"`gpus_per_trial` is {gpus:g}, but the cluster has no GPU. Leave it out.")
        most = int(max((node.get("CPU", 0) for node in there), default=0))
        cpus = next((c for c in range(most, 0, -1) if _room(there, c, gpus) >= workers), 1)
        room = _room(there, cpus, gpus)
        if room < workers:
            total = {name: sum(node.get(name, 0) for node in there) for name in ("CPU", "GPU")}
            each = f"1 CPU{f' and {gpus:g} of a GPU' * bool(gpus)}"
            raise ConfigurationError(
                f"`workers` must be at most {room} on this cluster, which has {total['CPU']:g} CPUs and {total['GPU']:g} GPUs "
                f"({each} for each worker), got {workers}."
            )
        return [Place(cpus, gpus)] * workers

    def still(self, place: Place) -> Place:
        """A place for the worker that takes over from one that died: where its node was the largest, on a smaller one."""
        most = max((node["Resources"].get("CPU", 0) for node in self.nodes()), default=1)
        return place if place.node is not None else replace(place, cpus=max(1, min(place.cpus, int(most))))

    def places_alike(self, workers: int, gpus: float, describe: Callable[..., str], given: Sequence[Any]) -> list[Place]:
        """A place for each worker on a node of its own, all alike: there `describe` says of the node what it says here.

        Raises ConfigurationError where there are not so many nodes like this one.
        """
        mine, described = describe(*given), self._described(describe, given, gpus)
        alike = [node for node, said in described.items() if said == mine]
        if len(alike) < workers:
            others = sorted(set(described.values()) - {mine})
            differ = f" Others differ: {'; '.join(others)}." if others else ""
            raise ConfigurationError(
                f"`workers` must be at most {max(1, len(alike))} when latency is measured: one on each node that is like "
                f"this one ({mine}), got {workers}.{differ}"
            )
        if gpus and not any(node["Resources"].get("GPU", 0) for node in self.nodes()):
            raise ConfigurationError(f"`gpus_per_trial` is {gpus:g}, but the cluster has no GPU. Leave it out.")
        return [Place(1, gpus, node) for node in alike[:workers]]

    def _described(self, describe: Callable[..., str], given: Sequence[Any], gpus: float) -> Mapping[str, str]:
        """Node → what it is; this process' own first, as a measurement there needs no network."""
        here = self.ray.get_runtime_context().get_node_id()
        nodes = sorted((node["NodeID"] for node in self.nodes()), key=lambda node: node != here)
        ask = self.ray.remote(describe)
        asked = {node: ask.options(**{**Place(0, 0, node).options(), "num_gpus": gpus}).remote(*given) for node in nodes}
        found = {}
        for node, reference in asked.items():
            try:
                found[node] = str(self.ray.get(reference, timeout=60))
            except Exception as error:  # a node that cannot say it, because it lacks a library or is gone, is not like this one
                found[node] = f"a node that cannot be asked ({one_line(error, 100)})"
        return found


def _room(nodes: Sequence[Mapping[str, float]], cpus: int, gpus: float) -> int:
    """How many workers the nodes have room for."""
    return sum(
        min(int(node.get("CPU", 0) // cpus), _shares(node.get("GPU", 0), gpus) if gpus else sys.maxsize) for node in nodes
    )


def _shares(there: float, gpus: float) -> int:
    """How many workers share a node's GPUs: one is never split between the parts of two."""
    return int(there // gpus) if gpus >= 1 else int(there) * int(1 / gpus + 1e-9)


def _check_answers(address: str) -> None:
    """Raise ConfigurationError where no Ray cluster answers at host:port, within seconds."""
    host, _, port = address.rpartition(":")
    hint = "Start Ray there with `ray start --head`, or leave `address` out to use this machine alone."
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE / 2).close()
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"`address` {address} does not answer: {one_line(error)}. {hint}") from error
    # Ray itself would go on asking for a minute: a process that may be ended asks first.
    asking = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    try:
        asked = subprocess.run(asking, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        asked = None
    except OSError as error:
        raise StudyError(f"`{sys.executable}` cannot be started: {one_line(error)}.") from error
    if asked is None or asked.returncode:
        raise ConfigurationError(f"`address` {address} does not answer as a Ray cluster does. {hint}")
