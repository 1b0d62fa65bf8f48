"""The study: runs trials, stores them, resumes exactly, and gives the front."""

from secateur.study.executors import Executor, Inline, Processes, Ray, Recipe
from secateur.study.frames import Trials
from secateur.study.front import Front, Member
from secateur.study.journal import Journal
from secateur.study.lock import RunLock, holder
from secateur.study.log import RunLog
from secateur.study.loop import Stop, Study
from secateur.study.opening import create_store, open_store
from secateur.study.shared_store import SharedStore
from secateur.study.snapshot import snapshot
from secateur.study.store import StageRow, Store

__all__ = [
    "Executor",
    "Front",
    "Inline",
    "Journal",
    "Member",
    "Processes",
    "Ray",
    "Recipe",
    "RunLock",
    "RunLog",
    "SharedStore",
    "StageRow",
    "Stop",
    "Store",
    "Study",
    "Trials",
    "create_store",
    "holder",
    "open_store",
    "snapshot",
]
