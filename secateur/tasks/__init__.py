"""Data and metrics: what a network is asked to do, on what, and how its answers are scored."""

from secateur.tasks.check import check_data
from secateur.tasks.examples import Examples, TaskData
from secateur.tasks.glue import TASKS
from secateur.tasks.image_reading import load_image_task, load_images
from secateur.tasks.metrics import Scorer
from secateur.tasks.reading import load_task
from secateur.tasks.task import ERRORS, KINDS, PAPERS, Task

__all__ = [
    "ERRORS",
    "KINDS",
    "PAPERS",
    "TASKS",
    "Examples",
    "Scorer",
    "Task",
    "TaskData",
    "check_data",
    "load_image_task",
    "load_images",
    "load_task",
]
