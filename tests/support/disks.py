"""Small disks that can be filled."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PIECE = bytes(4096)


class Disk:
    """A small disk.

    Args:
        folder: where it is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room on it."""
        with self.ballast.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(PIECE)
            except OSError:
                pass

    def make_room(self) -> None:
        self.ballast.unlink()


@contextmanager
def small_disk(folder: Path, size: str) -> Generator[Disk]:
    """A disk of a size such as `4m` in memory, while the block lasts."""
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() or mount is None or unmount is None:
        pytest.skip("only root can mount a small disk")
    folder.mkdir()
    words = [mount, "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("no small disk can be mounted here")
    try:
        yield Disk(folder)
    finally:
        subprocess.run([unmount, "-l", str(folder)], check=True)  # noqa: S603
