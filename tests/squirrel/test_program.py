"""The squirrel's program in virtual time: what it asks for, in which order, and when again."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from ixbackoff import ClientError, Command, Download, Interpreter, Log, NotReady, Upload
from ixbackoff.squirrel.commands import (
    Copy,
    FindCopy,
    GenerateUUID,
    GetETag,
    RecordCopy,
    Resource,
)
from ixbackoff.squirrel.pipeline import Kept, Row, squirrel
from ixbackoff.testing import Virtual, always, answers, by_command, waited

NUTS = Resource("http://localhost/nuts?token=hush")
STORE = "s3://bucket/prefix"
ETAG = '"v1"'
COPY = Copy(STORE, "key")

GET_ETAG = GetETag(NUTS)
GOT_ETAG = Log('got etag "v1" for resource http://localhost/nuts')
FIND_COPY = FindCopy(NUTS, ETAG)
GENERATE_UUID = GenerateUUID(NUTS)
DOWNLOAD = Download(NUTS.url, "work/key")
UPLOAD = Upload("work/key", "s3://bucket/prefix/key")
WRITING = Log('writing to the index: http://localhost/nuts, etag "v1"')
FORGET_ETAG = RecordCopy(NUTS, None, COPY)
RECORD_COPY = RecordCopy(NUTS, ETAG, COPY)
COPYING: list[Command[Any]] = [
    GET_ETAG,
    GOT_ETAG,
    FIND_COPY,
    Log("got copy None"),
    GENERATE_UUID,
    DOWNLOAD,
    FORGET_ETAG,
    UPLOAD,
    WRITING,
    RECORD_COPY,
]
REAL = [command for command in COPYING if not isinstance(command, Log)]
UNASKED = (
    GetETag.handled_by(answers())
    | FindCopy.handled_by(answers())
    | GenerateUUID.handled_by(answers())
    | Download.handled_by(answers())
    | Upload.handled_by(answers())
    | RecordCopy.handled_by(answers())
    | Log.handled_by(lambda command: None)
)


def scripted(
    failing: Command[Any] | None = None, failure: Exception | None = None
) -> Interpreter[Row]:
    """Answers of a run that copies; one command fails first."""

    def before(command: Command[Any]) -> tuple[Exception, ...]:
        return (failure or NotReady(),) if command == failing else ()

    return (
        GetETag.handled_by(answers(*before(GET_ETAG), ETAG))
        | FindCopy.handled_by(answers(*before(FIND_COPY), None))
        | GenerateUUID.handled_by(answers(*before(GENERATE_UUID), "key"))
        | Download.handled_by(answers(*before(DOWNLOAD), None))
        | Upload.handled_by(answers(*before(UPLOAD), None))
        | RecordCopy.handled_by(
            by_command(
                {
                    FORGET_ETAG: answers(*before(FORGET_ETAG), None),
                    RECORD_COPY: answers(*before(RECORD_COPY), None),
                }
            )
        )
        | Log.handled_by(lambda command: None)
    )


def test_a_resource_that_is_kept_is_a_hit() -> None:
    scripts = UNASKED | GetETag.handled_by(answers(ETAG)) | FindCopy.handled_by(answers(COPY))
    with Virtual(scripts) as world:
        kept = squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert kept == Kept(COPY, hit=True)
    world.expect(GET_ETAG, GOT_ETAG, FIND_COPY, Log(f"got copy {COPY}"))


def test_a_resource_that_is_not_kept_is_copied() -> None:
    with Virtual(scripted()) as world:
        kept = squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert kept == Kept(COPY, hit=False)
    world.expect(*COPYING)


def test_a_copy_in_another_store_is_not_a_hit() -> None:
    elsewhere = Copy("s3://elsewhere", "key")
    scripts = scripted() | FindCopy.handled_by(answers(elsewhere))
    with Virtual(scripts) as world:
        kept = squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert kept == Kept(COPY, hit=False)
    world.expect(*COPYING[:3], Log(f"got copy {elsewhere}"), *COPYING[4:])


@pytest.mark.parametrize("failing", REAL, ids=repr)
@pytest.mark.parametrize("failure", [NotReady(), ConnectionResetError(), TimeoutError()], ids=repr)
def test_after_a_transient_failure_it_goes_on_at_what_failed(
    failing: Command[Any], failure: Exception
) -> None:
    with Virtual(scripted(failing, failure)) as world:
        kept = squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert kept == Kept(COPY, hit=False)
    place = COPYING.index(failing)
    world.expect(*COPYING[: place + 1], waited(1), *COPYING[place:])


def test_failures_of_several_commands_share_one_ladder() -> None:
    scripts = (
        scripted()
        | GetETag.handled_by(answers(NotReady(), ETAG))
        | Download.handled_by(answers(NotReady(), None))
        | RecordCopy.handled_by(answers(None, NotReady(), None))
    )
    with Virtual(scripts) as world:
        squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert world.waits == [1, 2, 4]
    world.expect(GET_ETAG, waited(1), *COPYING[:6], waited(2), *COPYING[5:], waited(4), RECORD_COPY)


def test_the_fourth_failure_is_the_end() -> None:
    last = NotReady("the last one")
    scripts = scripted() | GetETag.handled_by(answers(NotReady(), NotReady(), NotReady(), last))
    world = Virtual(scripts)
    with pytest.raises(NotReady) as caught:
        squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert caught.value is last
    world.expect(*(GET_ETAG, waited(1)), *(GET_ETAG, waited(2)), *(GET_ETAG, waited(4)), GET_ETAG)


@pytest.mark.parametrize("failing", REAL, ids=repr)
def test_what_no_other_try_would_help_is_raised_at_once(failing: Command[Any]) -> None:
    missing = ClientError(404)
    world = Virtual(scripted(failing, missing))
    with pytest.raises(ClientError) as caught:
        squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert caught.value is missing
    world.expect(*COPYING[: COPYING.index(failing) + 1])


def test_without_an_etag_it_is_copied_and_the_index_is_not_asked() -> None:
    without = (
        scripted()
        | GetETag.handled_by(answers(None))
        | FindCopy.handled_by(answers())
        | RecordCopy.handled_by(answers(None, None))
    )
    with Virtual(without) as world:
        kept = squirrel(NUTS, STORE, "work").run(world.interpreter)
    assert kept == Kept(COPY, hit=False)
    world.expect(
        GET_ETAG,
        Log("got etag None for resource http://localhost/nuts"),
        GENERATE_UUID,
        DOWNLOAD,
        FORGET_ETAG,
        UPLOAD,
        Log("writing to the index: http://localhost/nuts, etag None"),
        FORGET_ETAG,
    )


@pytest.mark.parametrize("etag", ["", "v1", '"v1', 'W/"v1"', '"a", "b"', "é", "' OR 1=1 --"])
def test_a_malformed_etag_is_compared_as_it_stands(etag: str) -> None:
    scripts = scripted() | GetETag.handled_by(answers(etag)) | FindCopy.handled_by(answers(COPY))
    world = Virtual(scripts)
    assert squirrel(NUTS, STORE, "work").run(world.interpreter).hit
    assert world.commands[2] == FindCopy(NUTS, etag)


def test_a_resource_has_one_name_whoever_asks() -> None:
    names = {
        Resource(url).name
        for url in (
            "http://localhost/nuts",
            "http://me@localhost/nuts",
            "http://me:secret@localhost/nuts#shell",
        )
    }
    assert names == {str(uuid5(NAMESPACE_URL, "http://localhost/nuts"))}
    assert Resource("http://localhost/nuts?kind=hazel").name not in names
    assert Resource("https://localhost/nuts").name not in names


def test_commands_show_no_secrets() -> None:
    resource = Resource("http://sesame:opensaysme@localhost/nuts?token=hush#whisper")
    program = squirrel(resource, "s3://sesame:opensaysme@bucket/prefix?token=hush", "work")
    world = Virtual(scripted() | RecordCopy.handled_by(always(None)))
    program.run(world.interpreter)
    shown = "\n".join(str(performed) for performed in world.trace) + repr(resource) + str(resource)
    for secret in ("sesame", "opensaysme", "hush", "whisper"):
        assert secret not in shown
