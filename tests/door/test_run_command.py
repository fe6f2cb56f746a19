"""`ixbackoff run N4 -- COMMAND`: statuses, signals, stops, and the time that it has."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ixbackoff.__main__ import main
from ixbackoff._door.shell_command import PERMANENT, TRANSIENT, statuses
from ixbackoff._door.stderr_log import LOGGER

from ..support import jobs
from ..support.processes import Child

JOBS = jobs.__name__
QUICK = ["--schedule", f"{JOBS}:quick"]
TRIES = 'echo try; echo >> tries; test $(wc -l < tries) -ge 3 || exit "$1"'
SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"]


@pytest.fixture(autouse=True, scope="module")
def heard() -> Generator[None]:
    """Let SIGHUP end what is begun here, also where the tests run below `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Overlook the handlers of pytest, and keep files in a folder of the test."""
    monkeypatch.setattr(LOGGER, "hasHandlers", lambda: False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, list[str]]:
    """The exit status, and what is written on standard output and error."""
    try:
        status = main(["run", *words])
    except SystemExit as ended:
        status = int(ended.code or 0)
    out, err = capfd.readouterr()
    return status, out, err.splitlines()


def test_it_is_tried_again_until_it_is_well(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capfd, "N4", *QUICK, "--", "sh", "-c", TRIES, "sh", "75")
    assert (status, out) == (0, "try\ntry\ntry\n")
    assert err == [
        "sh: try 1 of 5 failed (CommandFailed: exit status 75); waiting 0.01 s",
        "sh: try 2 of 5 failed (CommandFailed: exit status 75); waiting 0.01 s",
    ]


def test_the_last_status_is_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capfd, "N1", *QUICK, "--", "sh", "-c", "exit 9")
    assert status == 9
    assert err == [
        "sh: try 1 of 2 failed (CommandFailed: exit status 9); waiting 0.01 s",
        "sh: gave up after 2 tries and 0.01 s of waits (CommandFailed: exit status 9)",
    ]


@pytest.mark.parametrize("status", [1, 3, 69, 71, 74, 75, 76, 99, 125])
def test_what_may_pass_is_tried_again(status: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert ran(capfd, "N2", *QUICK, "--", "sh", "-c", TRIES, "sh", f"{status}")[0] == 0


@pytest.mark.parametrize("status", [2, 64, 65, 66, 67, 70, 72, 73, 77, 78, 126, 127, 130, 255])
def test_what_lasts_is_not_tried_again(status: int, capfd: pytest.CaptureFixture[str]) -> None:
    ended, out, err = ran(capfd, "N2", *QUICK, "--", "sh", "-c", TRIES, "sh", f"{status}")
    assert (ended, out) == (status, "try\n")
    assert err == [f"sh: exit status {status} is not retried; see --on."]


def test_on_chooses_which_statuses_are_tried_again(capfd: pytest.CaptureFixture[str]) -> None:
    tries = ["--", "sh", "-c", TRIES, "sh"]
    assert ran(capfd, "N2", *QUICK, "--on", "2,60-70", *tries, "64")[0] == 0
    Path("tries").unlink()
    assert ran(capfd, "N2", *QUICK, "--on", "any", *tries, "255")[0] == 0
    Path("tries").unlink()
    assert ran(capfd, "N2", *QUICK, "--on", "69", *tries, "75")[:2] == (75, "try\n")


@pytest.mark.parametrize(
    "given", ["1-99999999999", "3-1", "1,3-1", "0-2", "1-256", "9" * 5000, "1-", "-1"]
)
def test_a_range_outside_the_statuses_is_refused(
    given: str, capfd: pytest.CaptureFixture[str]
) -> None:
    began = time.process_time()
    status, _, err = ran(capfd, "N1", f"--on={given}", "--", "true")
    assert time.process_time() - began < 1
    assert status == 2
    assert err == [
        f"argument --on: {given}: give exit statuses, 1 to 255, such as 75 or 1-10,75,SIGKILL; or "
        "any; --help tells more."
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "N0", "--", "a\x1b[31mb"],
        ["run", "N0", "--on", "a\x1b[31mb", "--", "true"],
        ["run", "os:a\x1b[31mb"],
        ["a\x1b[31mb"],
        ["explain", "a\x1b[31mb"],
        ["fleet", "a\x1b[31mb"],
        ["plan", "a\x1b[31mb"],
    ],
)
def test_words_are_shown_without_control_characters(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with suppress(SystemExit):
        main(words)
    _, err = capfd.readouterr()
    assert "a\\x1b[31mb" in err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["3", "--", "true"], "argument RUNG: 3 is not a rung: write N3, which waits 3 times at"),
        (["3", "true"], "argument RUNG: 3 is not a rung: write N3, which waits 3 times at"),
        (
            ["99", "--", "true"],
            "argument RUNG: 99 is not a rung: give one of N0 to N20, or FOREVER",
        ),
        (["N3", "sh", "-c", "true"], "write -- before the command: ixbackoff run N3 -- sh ...;"),
        (["N3", "--wrong", "--", "true"], "unrecognized arguments: --wrong;"),
        (["N3", "--within", "1 day", "--", "true"], "argument --within: 1 day: give seconds, 0.00"),
    ],
)
def test_what_a_newcomer_writes_is_answered(
    words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, [err] = ran(capfd, *words)
    assert (status, out) == (2, "")
    assert err.startswith(said)


def test_seconds_are_a_schedule_and_a_limit(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["N1", "--schedule", "0.01", "--within", "5s", "--", "sh", "-c", "exit 3"]
    status, _, err = ran(capfd, *words)
    assert status == 3
    assert err[0].endswith("waiting 0.01 s")


def test_the_statuses_that_may_pass() -> None:
    assert {*range(1, 128)} == TRANSIENT | PERMANENT
    assert statuses("any") == {*range(1, 256)}
    assert statuses("SIGKILL, 7") == {137, 7}


def test_a_command_that_a_signal_ended(capfd: pytest.CaptureFixture[str]) -> None:
    killed = ["--", "sh", "-c", "kill -KILL $$"]
    assert ran(capfd, "N1", *QUICK, *killed) == (
        137,
        "",
        ["sh: ended by SIGKILL is not retried; see --on."],
    )
    status, _, err = ran(capfd, "N1", *QUICK, "--on", "SIGKILL", *killed)
    assert status == 137
    assert err[0] == "sh: try 1 of 2 failed (CommandFailed: ended by SIGKILL); waiting 0.01 s"


@pytest.mark.skipif(sys.platform != "linux", reason="real-time signals")
def test_a_command_that_a_signal_without_a_name_ended(capfd: pytest.CaptureFixture[str]) -> None:
    killed = ["--", "sh", "-c", "kill -40 $$"]
    said = ["sh: ended by signal 40 is not retried; see --on."]
    assert ran(capfd, "N1", *QUICK, *killed) == (168, "", said)


def test_a_command_that_is_not_found(capfd: pytest.CaptureFixture[str]) -> None:
    said = ["no-such-command: command not found"]
    assert ran(capfd, "N9", "--on", "any", "--", "no-such-command") == (127, "", said)


def test_a_command_that_is_not_executable(capfd: pytest.CaptureFixture[str]) -> None:
    Path("text").write_text("hello")
    said = ["./text: Permission denied"]
    assert ran(capfd, "N9", "--on", "any", "--", "./text") == (126, "", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["N4"], "give the command: ixbackoff run N4 -- COMMAND ..."),
        (["N4", "--"], "give the command: ixbackoff run N4 -- COMMAND ..."),
        (
            ["N21", "--", "ls"],
            "argument RUNG: N21 is not a rung: give one of N0 to N20",
        ),
        (
            ["4", "--", "ls"],
            "argument RUNG: 4 is not a rung: write N4, which waits 4 times",
        ),
        (["--", "ls"], "the following arguments are required: RUNG"),
        (["N4", "ls", "--", "x"], "write -- before the command: ixbackoff run N4 -- ls ..."),
        (["N4", "--on", "0", "--", "ls"], "argument --on: 0: give exit statuses, 1 to 255"),
        (["N4", "--on", "1-300", "--", "ls"], "argument --on: 1-300: give exit statuses"),
        (["N4", "--on", "SIGX", "--", "ls"], "argument --on: SIGX: give exit statuses"),
        (["N4", "--within", "0", "--", "ls"], "argument --within: 0: give seconds, 0.001 to"),
    ],
)
def test_wrong_words(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, out, [told] = ran(capfd, *words)
    assert (status, out) == (2, "")
    assert told.startswith(said)


def test_its_time_is_over_while_it_runs(capfd: pytest.CaptureFixture[str]) -> None:
    begin = time.monotonic()
    status, out, [told] = ran(capfd, "N4", "--within", "0.3", "--", "sh", "-c", "exec sleep 9")
    assert (status, out) == (124, "")
    assert "no time left" in told
    assert time.monotonic() - begin < 5


def test_no_wait_is_begun_that_would_end_too_late(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, [told] = ran(capfd, "N4", "--within", "0.9", "--", "sh", "-c", "exit 7")
    assert status == 7
    assert "no time left" in told


def test_a_command_that_ignores_the_end_of_its_time_is_killed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ixbackoff._door.shell_child.GRACE", 0.2)
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    assert ran(capfd, "N4", "--within", "0.3", "--", "sh", "-c", stubborn)[0] == 124


def test_signals_are_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handlers = [signal.getsignal(getattr(signal, name)) for name in SIGNALS]
    ran(capfd, "N0", "--within", "9", "--", "true")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    assert [signal.getsignal(getattr(signal, name)) for name in SIGNALS] == handlers
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("limit", [[], ["--within", "60"]], ids=["no limit", "a limit"])
def test_an_alarm_of_others_is_passed_on(limit: list[str]) -> None:
    script = "trap 'echo alarm; exit 3' ALRM; echo begun; while :; do sleep 0.05; done"
    with begun("N0", *limit, "--", "sh", "-c", script) as process:
        assert line(process) == "begun"
        process.send_signal(signal.SIGALRM)
        assert line(process) == "alarm"
        assert process.wait(10) == 3


@contextmanager
def begun(*words: str) -> Generator[subprocess.Popen[str]]:
    """The command line in a process group of its own, as a shell would begin it."""
    with Child(
        [sys.executable, "-m", "ixbackoff", "run", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the command that it runs, too


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_is_passed_on_and_then_ours(name: str) -> None:
    with begun("N9", "--", "sh", "-c", "echo begun; exec sleep 30") as process:
        assert line(process) == "begun"
        process.send_signal(signal.Signals[name])
        assert process.wait(10) == -signal.Signals[name]


@pytest.mark.parametrize("name", [*SIGNALS, "SIGQUIT"])
def test_a_command_that_answers_a_signal_has_the_last_word(name: str) -> None:
    script = f"trap 'echo got it; exit 75' {name[3:]}; echo begun; while :; do sleep 0.02; done"
    with begun("N9", "--", "sh", "-c", script) as process:
        assert line(process) == "begun"
        process.send_signal(signal.Signals[name])
        assert line(process) == "got it"
        assert process.wait(10) == 75  # which is not tried again, since we were told to end


def test_a_signal_that_does_not_end_anything_is_passed_on_and_no_more() -> None:
    script = "trap 'echo used' USR1; echo begun; while :; do sleep 0.02; done"
    with begun("N9", "--", "sh", "-c", script) as process:
        assert line(process) == "begun"
        process.send_signal(signal.SIGUSR1)
        assert line(process) == "used"
        assert process.poll() is None


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_in_a_wait_is_ours(name: str) -> None:
    with begun("N9", "--", "false") as process:
        assert process.stderr is not None
        assert "waiting 1 s" in process.stderr.readline()
        process.send_signal(signal.Signals[name])
        assert process.wait(10) == -signal.Signals[name]
        assert process.stderr.read() == ""


def test_a_signal_that_was_ignored_stays_so() -> None:
    words = [sys.executable, "-m", "ixbackoff", "run", "N9", "--"]
    script = "echo begun; sleep 0.5; echo ended"
    with Child(
        ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words, "sh", "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert line(process) == "begun"
        process.send_signal(signal.SIGHUP)
        assert line(process) == "ended"
        assert process.wait(10) == 0


def until(condition: Callable[[], bool]) -> None:
    """Look again and again, until it is so."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)  # in real time: it is about other processes


def state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at states")
def test_a_command_that_is_stopped_stops_us_and_both_go_on() -> None:
    with begun("N9", "--", "sh", "-c", "echo $$; kill -TSTP $$; exit 2") as process:
        child = int(line(process))
        until(lambda: state(process.pid) == "T")
        assert state(child) == "T"
        process.send_signal(signal.SIGCONT)
        assert process.wait(10) == 2


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at states")
def test_when_we_are_stopped_the_command_is_stopped_as_well() -> None:
    with begun("N9", "--", "sh", "-c", "echo $$; read x; sleep 0.5; exit 2") as process:
        child = int(line(process))
        process.send_signal(signal.SIGTSTP)
        until(lambda: state(process.pid) == "T" and state(child) == "T")
        process.send_signal(signal.SIGCONT)
        assert process.wait(10) == 2


COUNTING = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"got it"))  # it may come inside of a print
print("begun", flush=True)
time.sleep(1)
sys.exit(3)
"""


@pytest.mark.slow
def test_ctrl_c_of_a_terminal_reaches_the_command_once() -> None:
    words = [sys.executable, "-m", "ixbackoff", "run", "N9", "--", sys.executable, "-c", COUNTING]
    process, terminal = pty.fork()
    if not process:
        os.execv(words[0], words)  # noqa: S606
    told = b""

    def read_until(word: bytes) -> None:
        nonlocal told
        while word not in told:
            part = os.read(terminal, 1024)
            if not part:
                raise OSError("the terminal is closed")
            told += part

    read_until(b"begun")
    os.kill(process, signal.SIGSTOP)  # so that the command answers first
    os.write(terminal, b"\x03")
    read_until(b"got it")
    os.kill(process, signal.SIGCONT)
    with suppress(OSError):
        read_until(b"no such word")
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 3
    assert told.count(b"got it") == 1
    os.close(terminal)


@pytest.mark.slow
def test_what_it_writes_is_seen_at_once_and_it_reads_our_input() -> None:
    with Child(
        [sys.executable, "-m", "ixbackoff", "run", "N1", "--", "sh", "-c", "read x; echo $x; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        print("first", file=process.stdin, flush=True)
        assert line(process) == "first"
        print("second", file=process.stdin, flush=True)
        process.stdin.close()
        assert line(process) == "second"
        assert process.wait(10) == 0


BESIDE_A_THREAD = """
import os, threading, time
from ixbackoff._door import shell_child
next_signal = shell_child.next_signal
def late(watched):
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    time.sleep(0.2)
    return next_signal(watched)
shell_child.next_signal = late
threading.Thread(target=threading.Event().wait, daemon=True).start()
print(shell_child.performed(("sh", "-c", "sleep 0.2; exit 3"), None).status)
"""


def test_a_child_whose_signal_another_thread_has_taken_is_noticed() -> None:
    words = [sys.executable, "-c", BESIDE_A_THREAD]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    assert done.stdout == "3\n"
