"""What errors of a disk mean, whatever library raises them."""

from __future__ import annotations

import errno

import pytest

from secateur.errors import disk_fault, disk_is_full


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk is full"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full"),
        (OSError(errno.EROFS, "Read-only file system", "a/b"), "`a/b`: read-only file system"),
        (RuntimeError("I/O error: Read-only file system (os error 30)"), "read-only file system"),
        (
            RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 77120 vs 77008"),
            "a file could not be written whole",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a"), None),
        (RuntimeError("I/O error: No such file or directory (os error 2)"), None),
        (ValueError("a fault of ours"), None),
    ],
)
def test_why_the_disk_refused(error: Exception, means: str | None) -> None:
    assert disk_fault(error) == means
    assert disk_is_full(error) == (means == "the disk is full")
