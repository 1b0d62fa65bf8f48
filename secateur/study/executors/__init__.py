"""Who evaluates the trials of a study: this process, or others."""

from secateur.study.executors.base import Executor, Recipe
from secateur.study.executors.inline import Inline
from secateur.study.executors.processes import Processes
from secateur.study.executors.ray_executor import Ray

__all__ = ["Executor", "Inline", "Processes", "Ray", "Recipe"]
