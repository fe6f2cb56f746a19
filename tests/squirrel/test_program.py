"""The squirrel's program in virtual time: what it asks for, in which order, and when again."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from ixbackoff import ClientError, Command, Interpreter, Log, NotReady, Upload
from ixbackoff.squirrel.commands import (
    Brought,
    Claim,
    Copy,
    Doom,
    Fetch,
    Forget,
    GetETag,
    IndexEntry,
    ListObjects,
    Look,
    Remove,
    Resource,
    Stored,
    Swap,
)
from ixbackoff.squirrel.pipeline import Kept, Places, Row, squirrel
from ixbackoff.testing import Virtual, answers, waited

NUTS = Resource("http://localhost/nuts?token=hush")
STORE = "s3://bucket/prefix"
PLACES = Places(STORE, "place", "work")
ETAG = '"v1"'
OLD = Copy("name/old", '"v0"', 3)
COPY = Copy("name/new", ETAG, 5)

GET_ETAG = GetETag(NUTS)
GOT_ETAG = Log('got etag "v1" for resource http://localhost/nuts')
LIST = ListObjects(NUTS, STORE)
LOOK = Look(NUTS, "place")
FETCH = Fetch(NUTS, ETAG, "work")
CLAIM = Claim(NUTS, "place")
UPLOAD = Upload("work/file", "s3://bucket/prefix/name/new")
WRITING = Log('writing to the index: http://localhost/nuts, etag "v1"')
SWAP = Swap(NUTS, "place", None, COPY)
COPYING: list[Command[Any]] = [
    GET_ETAG,
    GOT_ETAG,
    LIST,
    LOOK,
    Log("got copy None"),
    FETCH,
    CLAIM,
    UPLOAD,
    WRITING,
    SWAP,
]
REAL = [command for command in COPYING if not isinstance(command, Log)]
REMOVED = [Remove("name/old", STORE), Forget("place", "name/old")]


NOTHING = IndexEntry(None, (), "name/")


def scripted(
    failing: Command[Any] | None = None,
    failure: Exception | None = None,
    entry: IndexEntry = NOTHING,
    objects: tuple[Stored, ...] = (),
) -> Interpreter[Row]:
    """Answers of a run that copies; one command fails first, and those before it come twice."""

    def script(command: Command[Any], answer: Any) -> Any:
        if failing is None:
            return answers(answer)
        again = REAL.index(command) < REAL.index(failing)
        first = (failure or NotReady(),) if command == failing else ()
        return answers(*first, *[answer] * (2 if again else 1))

    return (
        GetETag.handled_by(script(GET_ETAG, ETAG))
        | ListObjects.handled_by(script(LIST, objects))
        | Look.handled_by(script(LOOK, entry))
        | Fetch.handled_by(script(FETCH, Brought("work/file", ETAG, 5)))
        | Claim.handled_by(script(CLAIM, "name/new"))
        | Upload.handled_by(script(UPLOAD, None))
        | Swap.handled_by(script(SWAP, True))
        | Log.handled_by(lambda command: None)
        | Doom.handled_by(answers())
        | Remove.handled_by(answers())
        | Forget.handled_by(answers())
    )


def performed(scripts: Interpreter[Row]) -> tuple[Kept, Virtual[Any]]:
    with Virtual(scripts) as world:
        return squirrel(NUTS, PLACES).run(world.interpreter), world


def unasked() -> Interpreter[Fetch | Claim | Upload | Swap]:
    return (
        Fetch.handled_by(answers())
        | Claim.handled_by(answers())
        | Upload.handled_by(answers())
        | Swap.handled_by(answers())
    )


def test_a_resource_that_is_kept_is_a_hit() -> None:
    there = scripted(entry=IndexEntry(COPY, (), "name/"), objects=(Stored("name/new", 5),))
    kept, world = performed(there | unasked())
    assert kept == Kept(COPY, hit=True)
    world.expect(GET_ETAG, GOT_ETAG, LIST, LOOK, Log(f"got copy {COPY}"))


def test_a_resource_that_is_not_kept_is_copied() -> None:
    kept, world = performed(scripted())
    assert kept == Kept(COPY, hit=False)
    world.expect(*COPYING)


@pytest.mark.parametrize("objects", [(), (Stored("name/old", 4),), (Stored("name/older", 3),)])
def test_a_copy_that_is_not_there_whole_is_not_a_hit(objects: tuple[Stored, ...]) -> None:
    old = OLD._replace(etag=ETAG)
    strays = [Remove(key, STORE) for key, _ in objects if key != "name/old"]
    removing = Remove.handled_by(answers(*[None] * (1 + len(strays))))
    scripts = scripted(entry=IndexEntry(old, (), "name/"), objects=objects) | removing
    kept, world = performed(scripts | Forget.handled_by(answers(None)))
    assert kept == Kept(COPY, hit=False)
    swap = Swap(NUTS, "place", "name/old", COPY)
    world.expect(*COPYING[:4], Log(f"got copy {old}"), *COPYING[5:-1], swap, *REMOVED, *strays)


def test_what_is_replaced_is_removed_and_so_is_what_the_dead_have_left() -> None:
    entry = IndexEntry(OLD, ("name/dead", "name/gone"), "name/")
    mine = (Stored("name/dead", 1), Stored("name/old", 3), Stored("name/stray", 2))
    objects = (*mine, Stored("another index's", 2))
    clearing = (
        Doom.handled_by(answers(True, False))
        | Remove.handled_by(answers(None, None, None))
        | Forget.handled_by(answers(None, None))
    )
    kept, world = performed(scripted(entry=entry, objects=objects) | clearing)
    assert kept == Kept(COPY, hit=False)
    assert world.commands[-8:] == [
        Swap(NUTS, "place", "name/old", COPY),
        *REMOVED,
        Remove("name/stray", STORE),
        Doom("place", "name/dead"),
        Remove("name/dead", STORE),
        Forget("place", "name/dead"),
        Doom("place", "name/gone"),
    ]


def test_if_somebody_else_was_faster_it_removes_its_own_and_tries_again() -> None:
    theirs = Copy("name/theirs", ETAG, 5)
    scripts = (
        scripted()
        | GetETag.handled_by(answers(ETAG, ETAG))
        | ListObjects.handled_by(answers((), (Stored("name/theirs", 5),)))
        | Look.handled_by(answers(IndexEntry(None, (), "name/"), IndexEntry(theirs, (), "name/")))
        | Swap.handled_by(answers(False))
        | Remove.handled_by(answers(None))
        | Forget.handled_by(answers(None))
    )
    kept, world = performed(scripts)
    assert kept == Kept(theirs, hit=True)
    own = [Remove("name/new", STORE), Forget("place", "name/new")]
    again = [*COPYING[:4], Log(f"got copy {theirs}")]
    world.expect(*COPYING, *own, waited(1), *again)


@pytest.mark.parametrize("failing", REAL, ids=repr)
@pytest.mark.parametrize("failure", [NotReady(), ConnectionResetError(), TimeoutError()], ids=repr)
def test_after_a_transient_failure_it_tries_again(
    failing: Command[Any], failure: Exception
) -> None:
    kept, world = performed(scripted(failing, failure))
    assert kept == Kept(COPY, hit=False)
    world.expect(*COPYING[: COPYING.index(failing) + 1], waited(1), *COPYING)


def test_failures_of_several_commands_share_one_ladder() -> None:
    scripts = (
        scripted()
        | GetETag.handled_by(answers(NotReady(), ETAG, ETAG, ETAG))
        | ListObjects.handled_by(answers(NotReady(), (), ()))
        | Look.handled_by(answers(*[IndexEntry(None, (), "name/")] * 2))
        | Fetch.handled_by(answers(NotReady(), Brought("work/file", ETAG, 5)))
    )
    _, world = performed(scripts)
    assert world.waits == [1, 2, 4]


def test_the_fourth_failure_is_the_end() -> None:
    last = NotReady("the last one")
    scripts = scripted() | GetETag.handled_by(answers(NotReady(), NotReady(), NotReady(), last))
    world = Virtual(scripts)
    with pytest.raises(NotReady) as caught:
        squirrel(NUTS, PLACES).run(world.interpreter)
    assert caught.value is last
    world.expect(*(GET_ETAG, waited(1)), *(GET_ETAG, waited(2)), *(GET_ETAG, waited(4)), GET_ETAG)


@pytest.mark.parametrize("failing", REAL, ids=repr)
def test_what_no_other_try_would_help_is_raised_at_once(failing: Command[Any]) -> None:
    missing = ClientError(404)
    world = Virtual(scripted(failing, missing))
    with pytest.raises(ClientError) as caught:
        squirrel(NUTS, PLACES).run(world.interpreter)
    assert caught.value is missing
    world.expect(*COPYING[: COPYING.index(failing) + 1])


def test_what_is_recorded_is_the_etag_that_came_with_the_bytes() -> None:
    kept, world = performed(scripted() | Fetch.handled_by(answers(Brought("work/file", "v2", 6))))
    assert kept.copy == Copy("name/new", "v2", 6)
    assert world.commands[-1] == Swap(NUTS, "place", None, kept.copy)


def test_without_an_etag_it_is_copied_each_time() -> None:
    entry, objects = IndexEntry(OLD._replace(etag=None), (), "name/"), (Stored("name/old", 3),)
    scripts = (
        scripted(entry=entry, objects=objects)
        | GetETag.handled_by(answers(None))
        | Fetch.handled_by(answers(Brought("work/file", None, 5)))
        | Remove.handled_by(answers(None))
        | Forget.handled_by(answers(None))
    )
    kept, _ = performed(scripts)
    assert kept == Kept(COPY._replace(etag=None), hit=False)


@pytest.mark.parametrize("etag", ["", "v1", '"v1', 'W/"v1"', '"a", "b"', "é", "' OR 1=1 --"])
def test_a_malformed_etag_is_compared_as_it_stands(etag: str) -> None:
    copy = COPY._replace(etag=etag)
    there = scripted(entry=IndexEntry(copy, (), "name/"), objects=(Stored("name/new", 5),))
    kept, _ = performed(there | unasked() | GetETag.handled_by(answers(etag)))
    assert kept == Kept(copy, hit=True)


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
    places = Places("s3://sesame:opensaysme@bucket/prefix?token=hush", "place", "work")
    world = Virtual(
        scripted(entry=IndexEntry(OLD, (), "name/"))
        | Remove.handled_by(answers(None))
        | Forget.handled_by(answers(None))
    )
    squirrel(resource, places).run(world.interpreter)
    shown = "\n".join(str(performed) for performed in world.trace) + repr(resource) + str(resource)
    for secret in ("sesame", "opensaysme", "hush", "whisper"):
        assert secret not in shown
