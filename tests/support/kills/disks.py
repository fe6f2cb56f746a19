"""Small disks: one that can be filled, and one whose power can be cut."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PIECE = bytes(4096)
SHUTDOWN = 0x8004587D
"""The request of ext4 that ends a file system at once."""
NO_FLUSH = struct.pack("I", 2)
"""It says that neither data nor the journal are to be written before."""


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


def command(name: str, *words: str) -> bool:
    """Run a command of the system; return whether it is there and was well."""
    path = shutil.which(name)
    if path is None:
        return False
    done = subprocess.run([path, *words], capture_output=True, check=False)  # noqa: S603
    return not done.returncode


@contextmanager
def small_disk(folder: Path, size: str) -> Generator[Disk]:
    """A disk of a size such as `4m` in memory, while the block lasts."""
    if os.getuid():
        pytest.skip("only root can mount a small disk")
    folder.mkdir()
    options = f"size={size},mode=0777"
    if not command("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)):
        pytest.skip("no small disk can be mounted here")
    try:
        yield Disk(folder)
    finally:
        assert command("umount", "-l", str(folder))


class Powered:
    """A disk with ext4 on a loop device.

    Args:
        folder: where it is mounted.
        image: the file that the loop device stands for.
        options: how it is mounted.
    """

    def __init__(self, folder: Path, image: Path, options: str) -> None:
        self.folder = folder
        self.image = image
        self.options = f"loop,{options}" if options else "loop"

    def mount(self) -> bool:
        return command("mount", "-o", self.options, str(self.image), str(self.folder))

    def cut_power(self) -> None:
        """Lose all that is not on the disk now; nothing can be read or written any more."""
        import fcntl

        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, NO_FLUSH)
        finally:
            os.close(descriptor)

    def restart(self) -> None:
        """Mount it again, as after a restart of the machine; no process may use it now."""
        assert command("umount", str(self.folder)), "somebody uses it"
        assert self.mount()


@contextmanager
def powered_disk(folder: Path, size: str, options: str = "") -> Generator[Powered]:
    """A disk of a size such as `64m` whose power can be cut, while the block lasts."""
    if os.getuid():
        pytest.skip("only root can mount a loop device")
    folder.mkdir()
    image = folder.with_name(f"{folder.name}.ext4")
    disk = Powered(folder, image, options)
    with image.open("wb") as file:
        file.truncate(int(size.removesuffix("m")) * 2**20)
    if not (command("mkfs.ext4", "-q", "-F", str(image)) and disk.mount()):
        pytest.skip("ext4 on a loop device cannot be made or mounted here")
    try:
        yield disk
    finally:
        assert command("umount", "-l", str(folder))
        image.unlink()
