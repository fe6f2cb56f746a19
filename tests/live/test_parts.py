"""Downloads that go on where they stopped: across breaks, tries, kills and runs; never wrong."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import N0, N2, ClientError, Download, Exponential, ServerError, at
from ixbackoff.live import Limits, TooLarge, live
from ixbackoff.live.resumable_downloads import GAIN, OVERLAP, validator_of
from ixbackoff.testing.web import (
    Answer,
    Connection,
    Document,
    Fault,
    Origin,
    Status,
    Truncated,
)

from ..support.kills.disks import small_disk
from ..support.ways.live import PATIENT, SYNC, Way, each_way

OLD = bytes(range(256)) * 4000
NEW = bytes(reversed(range(256))) * 4100
HALF = len(OLD) // 2
FIRST = HALF - OVERLAP
"""Where the range begins that goes on with the first half."""


def asked_for(origin: Origin) -> list[str | None]:
    """Return the ranges of the requests."""
    return [request.headers.get("range") for request in origin.requests]


@dataclass(frozen=True)
class Breaks(Fault):
    """Breaks off after so many bytes of each answer, whichever part it is."""

    after: int

    def answer(self, connection: Connection) -> None:
        connection.send_answer(connection.carry_out(), self.after)


@dataclass(frozen=True)
class Says(Fault):
    """Answers with another status, other headers or another body than it should."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    without: tuple[str, ...] = ()
    body: Callable[[bytes], bytes] = lambda body: body

    def answer(self, connection: Connection) -> None:
        usual = connection.carry_out()
        headers = {name: value for name, value in usual.headers.items() if name not in self.without}
        status = usual.status if self.status is None else self.status
        connection.send_answer(Answer(status, headers | dict(self.headers), self.body(usual.body)))


@dataclass(frozen=True)
class Whole(Fault):
    """Answers a request for a part with the whole, as servers do that know no parts."""

    def answer(self, connection: Connection) -> None:
        connection.request = replace(connection.request, headers={})
        connection.send_answer(connection.carry_out())


@each_way
def test_a_link_that_breaks_again_and_again_loses_nothing(way: Way, tmp_path: Path) -> None:
    large = os.urandom(1024) * 4000
    with Origin({"/a": large}, {"GET /a": repeat(Breaks(GAIN + OVERLAP))}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == large
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    assert len(origin.requests) == -(-(len(large) - OVERLAP) // GAIN)


FAR = 50_000_000
EVERY = 700_000


@dataclass
class Far(Fault):
    """Sends the part that is asked for, and breaks off after 700 kB; counts what it sends."""

    body: bytes
    sent: int = 0

    def answer(self, connection: Connection) -> None:
        asked = connection.request.headers.get("range", "bytes=0-")
        first = int(asked.removeprefix("bytes=").removesuffix("-"))
        place = {"Content-Range": f"bytes {first}-{FAR - 1}/{FAR}"} if first else {}
        length = {"Content-Length": str(FAR - first), "ETag": '"v1"'}
        connection.send_head(206 if first else 200, length | place)
        piece = self.body[first : first + EVERY]
        connection.send(piece)
        self.sent += len(piece)


@pytest.mark.slow
@each_way
def test_fifty_megabytes_over_a_link_that_breaks_every_700_kilobytes(
    way: Way, tmp_path: Path
) -> None:
    link = Far(os.urandom(1000) * (FAR // 1000))
    with Origin(faults={"GET /a": repeat(link)}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == link.body
    assert len(origin.requests) == -(-(FAR - OVERLAP) // (EVERY - OVERLAP))
    assert link.sent == FAR + OVERLAP * (len(origin.requests) - 1)


@each_way
def test_connections_that_bring_little_are_tries_of_their_own(way: Way, tmp_path: Path) -> None:
    with Origin({"/a": OLD}, {"GET /a": repeat(Breaks(GAIN - 1))}) as origin:
        for _ in range(4):
            with pytest.raises(ConnectionError):
                way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == OLD
    assert len(origin.requests) == 5


@each_way
@pytest.mark.parametrize("useless", [Says(416), Says(body=lambda body: bytes(len(body)))])
def test_bytes_that_are_lost_again_bring_no_more_requests(
    useless: Says, way: Way, tmp_path: Path
) -> None:
    script = {"GET /a": cycle([Breaks(GAIN + OVERLAP), useless])}
    with Origin({"/a": OLD}, script) as origin, pytest.raises(ConnectionError):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
    assert len(origin.requests) == 3


def test_the_next_try_of_a_program_goes_on(tmp_path: Path) -> None:
    script = [Truncated(HALF), Status(503), Status(503)]
    with Origin({"/a": OLD}, {"GET /a": script}) as origin:
        copy = at(N2).retry(Download(f"{origin.url}/a", str(tmp_path / "a")))
        copy.run(live(), schedule=Exponential(base=0.01))
    assert (tmp_path / "a").read_bytes() == OLD
    assert asked_for(origin) == [None, *[f"bytes={FIRST}-"] * 3]


@pytest.mark.parametrize("moment", [1, 100_000, len(OLD) - 1, len(OLD)])
def test_the_next_process_goes_on_after_a_kill(moment: int, tmp_path: Path) -> None:
    program = """
import os, signal, sys
from ixbackoff import Download, N0, at
from ixbackoff.live import live

def progress(command, received, expected):
    if received >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

at(N0).do(Download(*sys.argv[1:3])).run(live(progress=progress))
"""
    with Origin({"/a": OLD}) as origin:
        command = Download(f"{origin.url}/a", str(tmp_path / "a"))
        arguments = (command.url, command.path, str(moment))
        killed = subprocess.run([sys.executable, "-c", program, *arguments], check=False)  # noqa: S603
        assert killed.returncode == -signal.SIGKILL
        there = (tmp_path / ".a.part").stat().st_size
        assert there >= moment
        SYNC.perform(command, limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    assert asked_for(origin) == [None, f"bytes={max(0, there - OVERLAP)}-"]


def half_of(old: bytes, origin: Origin, way: Way, target: Path) -> Download:
    """Download the first half, and leave it."""
    command = Download(f"{origin.url}/a", str(target))
    origin.resources["/a"] = old
    origin.script("GET /a", [Truncated(HALF), Status(503)])
    with pytest.raises(ServerError):
        way.perform(command, limits=PATIENT)
    assert target.with_name(".a.part").stat().st_size == HALF
    return command


PLACE = f"bytes {FIRST}-{len(OLD) - 1}/{len(OLD)}"
ODD: dict[str, Fault] = {
    "the whole": Whole(),
    "no such part": Status(416),
    "a part without its place": Says(without=("Content-Range",)),
    "a part from elsewhere": Says(headers={"Content-Range": f"bytes 0-{HALF}/{len(OLD)}"}),
    "a part that ends before it begins": Says(
        headers={"Content-Range": f"bytes {FIRST}-{FIRST - 1}/{len(OLD)}"}
    ),
    "a part beyond the end": Says(headers={"Content-Range": f"bytes {FIRST}-{len(OLD)}/9"}),
    "a part of another length": Says(headers={"Content-Range": PLACE.replace("/", "0/")}),
    "a part of another whole": Says(headers={"Content-Range": f"{PLACE}0"}),
    "a part in other units": Says(headers={"Content-Range": PLACE.replace("bytes", "lines")}),
    "a place of 5,000 digits": Says(headers={"Content-Range": f"{PLACE}{'0' * 5_000}"}),
    "a place that is not a number": Says(headers={"Content-Range": "bytes x-y/z"}),
    "several parts": Says(
        headers={"Content-Type": "multipart/byteranges; boundary=b"}, without=("Content-Range",)
    ),
    "a part of another version": Says(headers={"ETag": '"another"'}),
    "a part of a weak version": Says(headers={"ETag": 'W/"another"'}),
    "an encoded part": Says(headers={"Content-Encoding": "gzip"}),
    "a part of no version": Says(without=("ETag",)),
    "a part that ends before what is there": Says(
        headers={"Content-Range": f"bytes {FIRST}-{HALF - 2}/{len(OLD)}"},
        body=lambda body: body[: OVERLAP - 1],
    ),
    "other bytes than were there": Says(body=lambda body: b"?" + body[1:]),
    "the same last byte behind others": Says(
        body=lambda body: b"?" * (OVERLAP - 1) + body[OVERLAP - 1 :]
    ),
    "another byte before the last one": Says(
        body=lambda body: body[: OVERLAP - 2] + b"?" + body[OVERLAP - 1 :]
    ),
    "too few bytes": Says(headers={"Content-Range": PLACE}, body=lambda body: body[:-1]),
}


@each_way
@pytest.mark.parametrize("fault", ODD.values(), ids=ODD)
def test_an_odd_answer_for_a_part_makes_it_begin_anew(
    way: Way, fault: Fault, tmp_path: Path
) -> None:
    with Origin() as origin:
        command = half_of(OLD, origin, way, tmp_path / "a")
        origin.script("GET /a", [fault])
        way.perform(command, limits=PATIENT)
        assert (tmp_path / "a").read_bytes() == OLD
        assert list(tmp_path.iterdir()) == [tmp_path / "a"]
        ranges = asked_for(origin)[2:]
        assert ranges == [f"bytes={FIRST}-", None][: len(ranges)]


NEXT = bytes(reversed(OLD[1:])) + OLD[-1:]
"""Another version of the same length, with the same last byte in each half."""


@each_way
def test_a_server_that_ignores_if_range_does_not_mix_two_versions(way: Way, tmp_path: Path) -> None:
    dated = Document(OLD, etag=None, headers={"Last-Modified": "Fri, 01 Jan 2010 00:00:00 GMT"})
    for old, left_out in (Document(OLD), "ETag"), (dated, "Last-Modified"):
        mixed = Says(
            206, {"Content-Range": PLACE}, (left_out,), lambda _: OLD[FIRST:HALF] + NEXT[HALF:]
        )
        with Origin({"/a": old}, {"GET /a": [Truncated(HALF), Status(503), mixed]}) as origin:
            command = Download(f"{origin.url}/a", str(tmp_path / "a"))
            with pytest.raises(ServerError):
                way.perform(command, limits=PATIENT)
            origin.resources["/a"] = NEXT
            way.perform(command, limits=PATIENT)
        assert (tmp_path / "a").read_bytes() == NEXT


@each_way
def test_a_part_of_a_whole_of_unknown_length_is_not_taken_for_its_rest(
    way: Way, tmp_path: Path
) -> None:
    end = HALF + 100
    place = {"Content-Range": f"bytes {FIRST}-{end - 1}/*"}
    with Origin({"/a": OLD}) as origin:
        command = half_of(OLD, origin, way, tmp_path / "a")
        note = tmp_path / ".a.part.json"
        source, validator, _, boot = json.loads(note.read_text())
        note.write_text(json.dumps([source, validator, None, boot]))
        origin.script("GET /a", [Says(headers=place, body=lambda body: body[: end - FIRST])])
        way.perform(command, limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == OLD


@each_way
def test_a_resource_that_changed_begins_anew(way: Way, tmp_path: Path) -> None:
    with Origin() as origin:
        command = half_of(OLD, origin, way, tmp_path / "a")
        origin.resources["/a"] = NEW
        way.perform(command, limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == NEW


@each_way
def test_another_url_does_not_go_on_with_the_part(way: Way, tmp_path: Path) -> None:
    with Origin({"/b": Document(NEW, etag='"same"')}) as origin:
        half_of(OLD, origin, way, tmp_path / "a")
        way.perform(Download(f"{origin.url}/b", str(tmp_path / "a")), limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == NEW
    assert asked_for(origin)[-1] is None


WITHOUT_A_VALIDATOR: dict[str, Document] = {
    "none": Document(OLD, etag=None),
    "a weak one": Document(OLD, etag='W/"v1"'),
    "one that is not quoted": Document(OLD, etag="v1"),
    "an empty one": Document(OLD, etag='""'),
    "two": Document(OLD, etag='"v1", "v2"'),
    "one of other letters": Document(OLD, etag='"é"'),
    "one with an escape": Document(OLD, etag='"\x1b"'),
    "a date that may be too young": Document(
        OLD, etag=None, headers={"Last-Modified": "Fri, 01 Jan 2038 00:00:00 GMT"}
    ),
    "an encoding": Document(OLD, headers={"Content-Encoding": "gzip"}),
    "a server that refuses parts": Document(OLD, headers={"Accept-Ranges": "none"}),
}


@each_way
@pytest.mark.parametrize("resource", WITHOUT_A_VALIDATOR.values(), ids=WITHOUT_A_VALIDATOR)
def test_without_a_strong_validator_nothing_stays(
    way: Way, resource: Document, tmp_path: Path
) -> None:
    with (
        Origin({"/a": resource}, {"GET /a": [Truncated(HALF)]}) as origin,
        pytest.raises(ConnectionError),
    ):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
    assert list(tmp_path.iterdir()) == []


@each_way
def test_a_date_that_is_old_enough_is_a_validator(way: Way, tmp_path: Path) -> None:
    dated = Document(OLD, etag=None, headers={"Last-Modified": "Fri, 01 Jan 2010 00:00:00 GMT"})
    with Origin({"/a": dated}, {"GET /a": [Truncated(HALF)]}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == OLD
    assert origin.requests[1].headers["if-range"] == "Fri, 01 Jan 2010 00:00:00 GMT"


@each_way
def test_nothing_stays_of_what_another_try_would_not_help(way: Way, tmp_path: Path) -> None:
    with Origin() as origin:
        command = half_of(OLD, origin, way, tmp_path / "a")
        origin.script("GET /a", [Status(410)])
        with pytest.raises(ClientError):
            way.perform(command, limits=PATIENT)
        assert list(tmp_path.iterdir()) == []
        command = half_of(OLD, origin, way, tmp_path / "a")
        with pytest.raises(TooLarge):
            way.perform(command, limits=Limits(max_size=HALF))
    assert list(tmp_path.iterdir()) == []


HUGE = 10 * 2**30


@dataclass(frozen=True)
class OfHuge(Fault):
    """Sends the beginning of 10 GiB of zeros and breaks off, or the part that is asked for."""

    def answer(self, connection: Connection) -> None:
        asked = connection.request.headers.get("range", "")
        first = int(asked.removeprefix("bytes=").removesuffix("-") or 0)
        place = {"Content-Range": f"bytes {first}-{HUGE - 1}/{HUGE}"} if asked else {}
        headers = {"ETag": '"v1"', "Content-Length": str(HUGE - first), **place}
        body = bytes(min(HUGE - first, 2**17))
        connection.send_answer(Answer(206 if asked else 200, headers, body))


@each_way
def test_ten_gibibytes_are_not_too_many(way: Way, tmp_path: Path) -> None:
    target, part = tmp_path / "a", tmp_path / ".a.part"
    with Origin(faults={"GET /a": repeat(OfHuge())}) as origin:
        command = Download(f"{origin.url}/a", str(target))
        with pytest.raises(ConnectionError):
            way.perform(command, limits=PATIENT)
        assert part.stat().st_size == 2**17
        os.truncate(part, HUGE - 1000)  # as if they had come: they take no room on the disk
        way.perform(command, limits=PATIENT)
    assert target.stat().st_size == HUGE
    assert list(tmp_path.iterdir()) == [target]
    target.unlink()


@each_way
def test_a_full_disk_is_told_and_the_room_is_given_back(way: Way, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk, Origin({"/a": OLD}) as origin:
        target = disk.folder / "a"
        with pytest.raises(OSError, match="No space left on device") as caught:
            way.perform(Download(f"{origin.url}/a", str(target)), limits=PATIENT)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(target))
        assert os.listdir(disk.folder) == []


@pytest.mark.parametrize(
    "note",
    [
        *("", "{}", "[]", "[1, 2, 3, 4]", '["a", "b", -1, "c"]', "null", '"' * 1000, "[[]]"),
        *("[" * 100_000, '{"a":' * 100_000, "[" * 10**6 + "]" * 10**6, "1" * 10_000),
        *("{source}, Infinity, {boot}", "{source}, -Infinity, {boot}", "{source}, NaN, {boot}"),
        *("{source}, 1e999, {boot}", "{source}, 1.5, {boot}", "{source}, true, {boot}"),
        *("{source}, [" + "[" * 100_000, '{source}, "7", {boot}'),
        '{place}, "\\"a\\"\\r\\nRange: bytes=0-", null, {boot}',
        '{place}, "\\"\u00e9\\"", null, {boot}',
        *("{place}, 7, null, {boot}", "7, 7, null, {boot}"),
    ],
    ids=lambda note: note[:40],
)
def test_a_note_that_says_something_else_is_not_believed(note: str, tmp_path: Path) -> None:
    with Origin() as origin:
        command = half_of(OLD, origin, SYNC, tmp_path / "a")
        path = tmp_path / ".a.part.json"
        place, validator, _, boot = map(json.dumps, json.loads(path.read_text()))
        if "{place}" in note or "boot" in note:
            named = {"{source}": f"{place}, {validator}", "{place}": place, "{boot}": boot}
            for name, text in named.items():
                note = note.replace(name, text)
            note = f"[{note}]"
        path.write_text(note)
        SYNC.perform(command, limits=PATIENT)
    assert (tmp_path / "a").read_bytes() == OLD
    assert asked_for(origin)[-1] is None


def test_a_part_does_not_outlive_a_restart_of_the_machine(tmp_path: Path) -> None:
    with Origin() as origin:
        command = half_of(OLD, origin, SYNC, tmp_path / "a")
        note = tmp_path / ".a.part.json"
        note.write_text(json.dumps([*json.loads(note.read_text())[:3], "another start"]))
        SYNC.perform(command, limits=PATIENT)
    assert asked_for(origin)[-1] is None


def test_a_note_shows_no_secret_of_the_url_and_is_read_by_its_user_only(tmp_path: Path) -> None:
    with Origin({"/a": OLD}, {"GET /a": [Truncated(HALF), Status(503)]}) as origin:
        url = origin.url.replace("//", "//me:sesame@") + "/a?token=sesame"
        with pytest.raises(ServerError):
            SYNC.perform(Download(url, str(tmp_path / "a")))
    note = tmp_path / ".a.part.json"
    assert "sesame" not in note.read_text()
    assert note.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["break", "change", "fail"]), st.integers(1, len(NEW)))),
)
def test_law_whatever_breaks_and_changes_the_bytes_are_those_of_one_version(
    events: list[tuple[str, int]],
) -> None:
    versions = [OLD, NEW]

    def script(origin: Origin) -> Iterator[Fault]:
        for kind, number in events:
            if kind == "change":
                versions.reverse()
                origin.resources["/a"] = versions[0]
            yield Status(503) if kind == "fail" else Breaks(number)

    with tempfile.TemporaryDirectory() as folder, Origin({"/a": OLD}) as origin:
        origin.script("GET /a", script(origin))
        command = Download(f"{origin.url}/a", f"{folder}/a")
        world = live()
        for _ in range(len(events) + 1):
            try:
                at(N0).do(command).run(world)
                break
            except (ConnectionError, ServerError):
                pass
        assert Path(command.path).read_bytes() in versions
        assert os.listdir(folder) == ["a"]


def test_validators_are_those_that_change_with_the_bytes() -> None:
    now, before = "Fri, 01 Jan 2038 00:01:00 GMT", "Fri, 01 Jan 2038 00:00:00 GMT"
    assert validator_of({"ETag": '"v"', "Last-Modified": before, "Date": now}) == '"v"'
    assert validator_of({"Last-Modified": before, "Date": now}) == before
    assert validator_of({"Last-Modified": before, "Date": before}) is None
    assert validator_of({"Last-Modified": "yesterday", "Date": now}) is None
    assert validator_of({"Last-Modified": before}) is None
    assert validator_of({"ETag": '"'}) is None
    for zone in "+99999999999", "-9999", "+2400", "+" + "9" * 400:
        far = f"Fri, 01 Jan 2038 00:00:00 {zone}"
        assert validator_of({"Last-Modified": far, "Date": now}) in (None, far)
        assert validator_of({"Last-Modified": before, "Date": far}) in (None, before)
    for year in "0000", "9999", "99999999":
        far = f"Fri, 01 Jan {year} 00:00:00 -2359"
        assert validator_of({"Last-Modified": far, "Date": now}) in (None, far)
