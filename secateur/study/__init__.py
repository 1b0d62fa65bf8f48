"""The study: runs trials, stores them, resumes exactly, and gives the front."""

from secateur.study.front import Front, Member
from secateur.study.journal import STAGES, Journal, Stage
from secateur.study.lock import RunLock
from secateur.study.log import RunLog, read_log
from secateur.study.loop import Study
from secateur.study.protocol import POLISH, SWEEP, Trial
from secateur.study.store import Store

__all__ = [
    "POLISH",
    "STAGES",
    "SWEEP",
    "Front",
    "Journal",
    "Member",
    "RunLock",
    "RunLog",
    "Stage",
    "Store",
    "Study",
    "Trial",
    "read_log",
]
