"""A program that hides what Windows lacks from the modules of the package."""

HIDE = """
import builtins, os, signal, sys
import anyio, httpcore2, httpx2, obstore.store, portalocker, trio  # the others' systems are theirs
import anyio._backends._asyncio, anyio._backends._trio, asyncio

lacking = {"fcntl", "pwd", "grp", "resource", "termios", "posix", "tty", "pty", "syslog"}
load = builtins.__import__

def loaded(name, globals=None, *rest, **more):
    if name in lacking and str((globals or {}).get("__name__", "")).startswith("ixbackoff"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return load(name, globals, *rest, **more)

builtins.__import__ = loaded
for module, names in {
    os: '''O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_SYNC O_DSYNC O_NOCTTY geteuid getuid
        getegid getgid seteuid setuid fork forkpty register_at_fork mkfifo mknod chown fchown lchown
        chroot getpgid getpgrp killpg setsid statvfs fstatvfs pread pwrite posix_fallocate
        posix_fadvise
        sendfile sync fdatasync lockf uname wait waitid WIFEXITED''',
    signal: "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGQUIT alarm pthread_sigmask setitimer",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""
