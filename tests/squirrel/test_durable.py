"""The squirrel with `--durable`: killed and started again, it goes on where it was."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from itertools import repeat
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest

from ixbackoff.durable import durable_command as commandline
from ixbackoff.live.resumable_downloads import OVERLAP
from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.file_seals import PREFIX
from ixbackoff.testing.web import Fault, Hang, Origin, Status

from ..support.kills.durable_squirrels import RECORDED, RESOURCES, KillingDurably
from ..support.servers.postgresql import Server
from ..support.squirrels.running import Squirrel, by_name, files_below, tidy
from ..support.ways.live import SECRETS, with_secrets

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

ROOT = Path(__file__).parent.parent.parent
ACORN = b"acorn" * 10_000
WALNUT = b"walnut" * 10_000
RUNS = ["runs.sqlite", "runs.sqlite.worker"]

# A process that a shell began in the background ignores SIGINT, and so do those that it begins.
INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:1] = ["squirrel"]
runpy.run_module("ixbackoff", run_name="__main__", alter_sys=True)
"""

AWAY = """
from ixbackoff import Upload
from ixbackoff.squirrel import durably

theirs = durably.answering

def around(command, handler):
    if isinstance(command, Upload):
        raise ConnectionError("the store is away")
    return handler(command)

durably.answering = lambda *parts: theirs(*parts).around(around)
"""

KILLED = AWAY.replace(
    'raise ConnectionError("the store is away")', "import os; os.kill(os.getpid(), 9)"
)


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


def begun(
    squirrel: Squirrel, *words: str, base: str = "600", before: str = ""
) -> subprocess.Popen[str]:
    """A durable squirrel in a process of its own, which runs other code before."""
    mine = ["-c", before + INTERRUPTIBLE, "--durable", *words, "--folder", str(squirrel.folder)]
    return subprocess.Popen(  # noqa: S603
        [sys.executable, *mine, "--base", base],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed_in_a_wait(squirrel: Squirrel, *words: str, base: str = "600", before: str = "") -> None:
    """Kill a durable squirrel in its first wait."""
    with begun(squirrel, *words, base=base, before=before) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        time.sleep(RECORDED)
        process.kill()
    assert "; on N" in line


def killed_before_its_upload(squirrel: Squirrel, *words: str) -> None:
    with begun(squirrel, *words, base="0.5", before=KILLED) as process:
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def look(squirrel: Squirrel, *words: str) -> str:
    squirrel.capture.readouterr()
    database = f"sqlite:///{squirrel.folder}/runs.sqlite"
    assert commandline.main(["--database", database, *words]) == 0
    return squirrel.capture.readouterr().out


def run_of(squirrel: Squirrel) -> str:
    """The id of the only run."""
    (line,) = look(squirrel, "runs").splitlines()[1:]
    return line.split()[0]


def test_it_keeps_resources_as_without(squirrel: Squirrel) -> None:
    faults: dict[str, list[Fault | None]] = {"GET /walnuts": [Status(503), Status(500)]}
    with Origin({"/nuts": ACORN, "/walnuts": WALNUT}, faults) as origin:
        urls = [origin.url + path for path in ("/nuts", "/walnuts", "/none", "/nuts")]
        ran = squirrel.run("--durable", *urls)
        assert ran.status == 1
        assert ran.results == [
            "copied",
            "copied",
            "client error 404: the same request will fail again",
            "hit",
        ]
        assert ran.tries == [1, 3, 1, 1]
        assert squirrel.run("--durable", urls[0]).results == ["hit"]  # a new run, which has asked
        assert origin.counts["HEAD /nuts"] == 3
        names = [tidy(url) for url in urls[:2]]
        assert files_below(squirrel.folder) == sorted({*RUNS, *names[0], *names[1]})
        assert look(squirrel, "runs").splitlines()[1:] == []
    assert (squirrel.folder / "runs.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    report = KillingDurably(tmp_path, seed=1).until(kills=6)
    assert report.broken == [], str(report)
    assert report.counts["waits"] > 0


@pytest.mark.slow
def test_killed_at_random_moments_with_a_bucket(
    tmp_path: Path, moto: str, aws: pytest.MonkeyPatch
) -> None:
    with closing(boto3.client("s3", endpoint_url=moto)) as client:
        client.create_bucket(Bucket="durable")

        def objects(number: int) -> dict[str, bytes]:
            found = client.list_objects_v2(Bucket="durable", Prefix=f"{number}/")
            keys = [each["Key"] for each in found["Contents"]]
            bodies = {key: client.get_object(Bucket="durable", Key=key)["Body"] for key in keys}
            return by_name({key.partition("/")[2]: body.read() for key, body in bodies.items()})

        def words(number: int) -> list[str]:
            return ["--store", f"s3://durable/{number}", "--endpoint", moto]

        report = KillingDurably(tmp_path, 2, words, objects).until(kills=3)
        assert report.broken == [], str(report)
        assert len(objects(1)) == len(RESOURCES)


@pytest.mark.slow
def test_interrupted_in_a_wait_it_says_how_to_go_on(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN, "/later": WALNUT}, {"GET /later": [Status(503)]}) as origin:
        urls = [origin.url + path for path in ("/nuts", "/later")]
        with begun(squirrel, *urls, "--jobs", "1", base="3") as process:
            assert process.stderr is not None
            assert "on N3 (3 waits left), waiting 3 s" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert err == "Interrupted; give the same command again to resume.\n"
        assert "copied" in out
        assert "/later" not in out
        ran = squirrel.run("--durable", *urls)
        assert (ran.status, ran.results, ran.tries) == (0, ["copied", "copied"], [1, 2])
        assert f"{urls[1]}: resuming" in ran.err
        requests = [one for one in origin.requests if one.path == "/later"]
        assert [one.method for one in requests] == ["HEAD", "GET", "HEAD", "GET"]
        assert requests[2].at - requests[1].at >= 3
        assert origin.counts["HEAD /nuts"] == 1


@pytest.mark.slow
def test_interrupted_in_a_download_it_ends_at_once(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}, {"GET /nuts": [Hang()]}) as origin:
        with begun(squirrel, origin.url + "/nuts") as process:
            while not origin.counts["GET /nuts"]:
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=25)
        assert process.returncode == 130
        assert squirrel.run("--durable", origin.url + "/nuts").results == ["copied"]
        assert files_below(squirrel.folder) == sorted([*RUNS, *tidy(origin.url + "/nuts")])


@pytest.mark.slow
def test_killed_in_a_wait_before_its_upload_it_fetches_nothing_again(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN, "/walnuts": WALNUT}) as origin:
        url = origin.url + "/nuts"
        killed_in_a_wait(squirrel, url, base="2", before=AWAY)
        begin = origin.requests[-1].at
        assert squirrel.run(origin.url + "/walnuts").results == ["copied"]  # and sweeps nothing
        ran = squirrel.run("--durable", url)
        assert (ran.status, ran.results, ran.tries) == (0, ["copied"], [2])
        assert origin.requests[-1].at - begin >= 2
        assert origin.requests[-1].headers["range"] == f"bytes={max(0, len(ACORN) - OVERLAP)}-"
        assert squirrel.run("--durable", url).results == ["hit"]
        assert (origin.counts["HEAD /nuts"], origin.counts["GET /nuts"]) == (3, 2)
        assert squirrel.objects[Resource(url).name] == ACORN
    assert list(squirrel.folder.glob(f"{PREFIX}*")) == []


@pytest.mark.slow
def test_killed_before_its_upload_it_asks_nothing_again(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        killed_before_its_upload(squirrel, url)
        ran = squirrel.run("--durable", url)
        assert (ran.status, ran.results, ran.tries) == (0, ["copied"], [1])
        assert (origin.counts["HEAD /nuts"], origin.counts["GET /nuts"]) == (1, 1)
    assert files_below(squirrel.folder) == sorted([*RUNS, *tidy(url)])


@pytest.mark.slow
@pytest.mark.parametrize("change", ["gone", "changed", "no folder"])
def test_without_its_file_it_begins_anew(change: str, squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        killed_before_its_upload(squirrel, url)
        (file,) = squirrel.folder.glob(f"{PREFIX}*/*/.{Resource(url).name}.part")
        if change == "gone":
            file.unlink()
        elif change == "changed":
            file.write_bytes(ACORN[:-1])
        else:
            shutil.rmtree(file.parent.parent)
        origin.resources["/nuts"] = WALNUT
        ran = squirrel.run("--durable", url)
        assert (ran.status, ran.results, ran.tries) == (0, ["copied"], [1])
        assert f"{url}: The file that was downloaded is gone" in ran.err
        assert ran.err.endswith("The run begins anew.\n")
        assert squirrel.objects == {Resource(url).name: WALNUT}
    assert files_below(squirrel.folder) == sorted([*RUNS, *tidy(url)])


@pytest.mark.slow
def test_what_another_squirrel_has_kept_meanwhile_stays(squirrel: Squirrel) -> None:
    """An old file is put beside a newer object: it is not swapped in, and nothing of it stays."""
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        killed_before_its_upload(squirrel, url)
        origin.resources["/nuts"] = WALNUT
        assert squirrel.run(url).results == ["copied"]
        ran = squirrel.run("--durable", url)
        assert (ran.results, ran.tries) == (["hit"], [2])
        assert "another squirrel has stored a copy meanwhile" in ran.err
        assert squirrel.objects == {Resource(url).name: WALNUT}
    assert files_below(squirrel.folder) == sorted([*RUNS, *tidy(url)])


@pytest.mark.slow
def test_what_an_earlier_command_has_left_is_brought_to_its_end(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN, "/walnuts": WALNUT}, {"GET /nuts": [Status(503)]}) as origin:
        urls = [origin.url + path for path in ("/nuts", "/walnuts")]
        killed_in_a_wait(squirrel, urls[0], base="6")
        ran = squirrel.run("--durable", urls[1])
        assert (ran.results, ran.tries) == (["copied", "copied"], [1, 2])
        assert f"{urls[0]}: server error 503; on N3 (3 waits left), waiting the rest of 6 s" in (
            ran.err
        )
        assert squirrel.objects == {Resource(urls[0]).name: ACORN, Resource(urls[1]).name: WALNUT}
    assert list(squirrel.folder.glob(f"{PREFIX}*")) == []


def test_a_run_that_was_cancelled_begins_anew_and_its_files_are_removed(
    squirrel: Squirrel,
) -> None:
    with Origin({"/nuts": ACORN, "/walnuts": WALNUT}) as origin:
        urls = [origin.url + path for path in ("/nuts", "/walnuts")]
        killed_in_a_wait(squirrel, urls[0], before=AWAY)
        look(squirrel, "cancel", run_of(squirrel))
        assert len(list(squirrel.folder.glob(f"{PREFIX}*/*"))) == 1
        assert squirrel.run("--durable", urls[1]).results == ["copied"]
        assert list(squirrel.folder.glob(f"{PREFIX}*")) == []
        assert squirrel.run("--durable", urls[0]).results == ["copied"]
        assert origin.counts["GET /nuts"] == 2


def test_secrets_are_not_shown(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}, {"GET /nuts": repeat(Status(503))}) as origin:
        url = with_secrets(origin.url, "/nuts")
        killed_in_a_wait(squirrel, url)
        run = run_of(squirrel)
        shown = look(squirrel, "runs") + look(squirrel, "show", run)
        origin.script("GET /nuts", [])
        look(squirrel, "pause", run)
        look(squirrel, "cancel", run)
        ran = squirrel.run("--durable", url, "--verbose")
    assert ran.status == 0
    assert "Fetch(resource=Resource('http://127.0.0.1" in shown
    assert [secret for secret in SECRETS if secret in shown + ran.out + ran.err] == []


@pytest.mark.slow
def test_runs_in_postgresql(squirrel: Squirrel, roomy_postgresql: Server) -> None:
    url = roomy_postgresql.url
    database = ["--index", url, "--database", url.replace("/postgres", "/squirrel")]
    with Origin({"/nuts": ACORN}, {"GET /nuts": [Status(503)]}) as origin:
        url = origin.url + "/nuts"
        killed_in_a_wait(squirrel, url, *database, base="3")
        ran = squirrel.run("--durable", url, *database)
        assert (ran.status, ran.results, ran.tries) == (0, ["copied"], [2])
        requests = origin.requests
        assert [one.method for one in requests] == ["HEAD", "GET", "HEAD", "GET"]
        assert requests[2].at - requests[1].at >= 3
        assert squirrel.run("--durable", url, *database).results == ["hit"]
    assert files_below(squirrel.folder) == tidy(url)[1:]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--store", "memory://"], "the store is in memory: give another --store."),
        (["--index", "sqlite://"], "the index is in memory: give another --index."),
        (["--database", "mysql://sesame@localhost/runs"], "sqlite:///runs.sqlite or postgresql:"),
        (["--database", "sqlite:////nowhere/runs.sqlite"], "/nowhere/runs.sqlite"),
        (["--database", "postgresql://sesame:hush@127.0.0.1:1/runs"], "127.0.0.1:1/runs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_places_that_cannot_be_used(words: list[str], told: str, squirrel: Squirrel) -> None:
    ran = squirrel.run("--durable", "http://127.0.0.1:1/nuts", *words)
    assert (ran.status, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert ran.err.endswith(".\n")
    assert "sesame" not in ran.err
    assert not list(squirrel.folder.glob("runs*"))


def test_two_at_a_time_on_one_file(squirrel: Squirrel) -> None:
    with (
        Origin({"/nuts": ACORN}, {"GET /nuts": repeat(Status(503))}) as origin,
        begun(squirrel, origin.url + "/nuts") as process,
    ):
        assert process.stderr is not None
        process.stderr.readline()
        ran = squirrel.run("--durable", origin.url + "/nuts")
        process.kill()
    assert (ran.status, ran.out) == (2, "")
    assert f"Another process performs the runs in {squirrel.folder}/runs.sqlite" in ran.err


@pytest.mark.parametrize("name", ["100%", "a?b", "a#b", "two words"])
def test_folders_of_any_name(name: str, squirrel: Squirrel) -> None:
    there = Squirrel(squirrel.folder / name, squirrel.capture)
    with Origin({"/nuts": ACORN}) as origin:
        assert there.run("--durable", origin.url + "/nuts").results == ["copied"]
    assert files_below(there.folder) == sorted([*RUNS, *tidy(origin.url + "/nuts")])


def test_a_missing_package(squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    ran = squirrel.run("--durable", "http://127.0.0.1:1/nuts")
    assert (ran.status, ran.out) == (2, "")
    assert (
        ran.err
        == "Not installed: dbos; pip install '.[squirrel,durable]' in a checkout of ixbackoff.\n"
    )


@pytest.mark.parametrize(
    "words", [["--database", "sqlite:///a", "http://localhost/nuts"], ["--demo", "--durable"]]
)
def test_words_that_do_not_go_together(words: list[str], squirrel: Squirrel) -> None:
    ran = squirrel.run(*words)
    assert ran.status == 2
    assert "--durable" in ran.err
