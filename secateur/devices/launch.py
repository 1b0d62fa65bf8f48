"""Which of how many processes this one is, where a launcher (torchrun, accelerate) started several; and how they speak."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

from secateur.errors import EvaluationFailure, SecateurError, StudyError, one_line
from secateur.training.settings import ALONE

#: What launchers tell a process, beside addresses: a process that has left its group is told none of it.
_TOLD = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "GROUP_WORLD_SIZE",
)
#: Seconds between two looks for what the first process says, and those that a process which fails has to say why.
_LOOK, _GRACE = 0.1, 3.0
#: How libraries that exchange gradients say that a process is gone.
_GONE = ("connection closed", "connection reset", "broken pipe", "socket", "gloo", "nccl", "timed out", "peer")


@dataclass(frozen=True)
class Launch:
    """This process is number `rank` of `processes`; on its machine number `local_rank` of `local`."""

    rank: int
    processes: int
    local_rank: int
    local: int

    @classmethod
    def here(cls, told: Mapping[str, str] | None = None) -> Self | None:
        """The launch that this process belongs to; None where it is the only one."""
        told = os.environ if told is None else told
        processes = int(told.get("WORLD_SIZE", "1"))
        if processes < 2:
            return None
        rank = int(told.get("RANK", "0"))
        return cls(rank, processes, int(told.get("LOCAL_RANK", rank)), int(told.get("LOCAL_WORLD_SIZE", processes)))


class LaunchEnded(KeyboardInterrupt):
    """The launcher ends its processes: one of them has failed, or the user has stopped it."""


class Group:
    """The processes of a launch: those that train together. The first one says what is done, the others listen.

    What is said goes through the launch's own store, which waits for nobody: no process is kept in an exchange of gradients
    while another reads data.
    """

    def __init__(self, launch: Launch, device: str) -> None:
        from accelerate import PartialState
        from torch.distributed.distributed_c10d import PrefixStore, _get_default_store

        self.launch = launch
        PartialState(cpu=device == "cpu")  # as transformers' Trainer does it: it will find the group that is there
        self._store: Any = PrefixStore("secateur", _get_default_store())
        self._said = 0
        self.joined = True
        self._before = signal.signal(signal.SIGTERM, _ended) if launch.rank == 0 else None

    def say(self, what: Mapping[str, str] | None) -> None:
        """Tell the other processes what to do next; None: nothing more."""
        self._store.set(str(self._said), json.dumps(what))
        self._said += 1

    def hear(self) -> dict[str, str] | None:
        """What the first process says next; waits for it. Raises StudyError where it is gone."""
        try:
            while not self._store.check([str(self._said)]):
                time.sleep(_LOOK)
            said = json.loads(self._store.get(str(self._said)))
        except RuntimeError as error:
            raise StudyError(f"the first process of the launch has ended: {one_line(error)}.") from error
        self._said += 1
        found: dict[str, str] | None = said
        return found

    def give_up(self, error: BaseException) -> None:
        """Tell the first process why this one ends."""
        with suppress(RuntimeError):
            self._store.set("fault", json.dumps(f"process {self.launch.rank}: {one_line(error)}"))

    @contextmanager
    def training(self, again: str) -> Iterator[None]:
        """Within the context all processes train. Where another is gone, raise a StudyError that ends with `again`."""
        try:
            yield
        except (SecateurError, EvaluationFailure):
            raise
        except Exception as error:
            said = self._fault()
            if said is None and not any(word in str(error).lower() for word in _GONE):
                raise
            reason = said or "it was killed, or its machine is gone"
            raise StudyError(f"another of the {self.launch.processes} processes has ended ({reason}). {again}") from error

    def _fault(self) -> str | None:
        """What another process gave as its reason to end, if it does so in a moment."""
        until = time.monotonic() + _GRACE
        with suppress(RuntimeError):
            while time.monotonic() < until:
                if self._store.check(["fault"]):
                    return str(json.loads(self._store.get("fault")))
                time.sleep(_LOOK)
        return None

    def let_go(self) -> None:
        """Tell the other processes, if this is the first, that there is nothing more to do."""
        if self.joined and self.launch.rank == 0:
            with suppress(RuntimeError):
                self.say(None)

    def leave(self) -> None:
        """From now on this process works for itself: what it trains it trains alone, as do the processes that it starts."""
        if not self.joined:
            return
        import torch.distributed
        from accelerate.state import AcceleratorState, GradientState

        self.let_go()
        self.joined = False
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()
        for name in _TOLD:
            os.environ.pop(name, None)
        os.environ[ALONE] = "1"
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)


def _ended(number: int, frame: FrameType | None) -> None:
    raise LaunchEnded


def gpus_of_workers(device: str, count: int) -> list[dict[str, str]]:
    """What each of `count` processes on this machine is told, so that it sees one GPU only, each another; empty on a CPU."""
    import torch

    if device == "cpu" or not torch.cuda.is_available():
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    seen = named.split(",") if named else [str(i) for i in range(torch.cuda.device_count())]
    return [{"CUDA_VISIBLE_DEVICES": seen[i % len(seen)]} for i in range(count)]
