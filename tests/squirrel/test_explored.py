"""The squirrel's own pipeline in all histories with a few surprises, and its former one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from ixbackoff import N3, Command, Do, Download, Interpreter, Upload, at, attempt
from ixbackoff.squirrel.commands import (
    Claim,
    Copy,
    Doom,
    Fetch,
    Forget,
    GetETag,
    ListObjects,
    Look,
    Remove,
    Swap,
)
from ixbackoff.squirrel.pipeline import Row, squirrel
from ixbackoff.testing.exploring import ONCE, Broken, Model, Surprise, dies, fails, late, lost

from ..support.squirrels.forests import NUTS, Forest, places

pytestmark = pytest.mark.slow

Faults: TypeAlias = dict[type[Command[Any]], list[Surprise]]

READS: list[type[Command[Any]]] = [GetETag, ListObjects, Look, Fetch]
WRITES: list[type[Command[Any]]] = [Claim, Upload, Swap, Doom, Remove, Forget]
ONE, OTHER = squirrel(NUTS, places("a")), squirrel(NUTS, places("b"))


def faults(each: Iterable[Surprise] = (), writes: Iterable[Surprise] = ()) -> Faults:
    """These for each command, but for what only logs, and those for what changes something."""
    reads = {kind: list(each) for kind in READS}
    return reads | {kind: [*each, *writes] for kind in WRITES}


forest = Model(
    Forest, Forest.interpreter, always=Forest.no_wrong_hit, changes=[Forest.the_origin_has_v2]
)
settled = Model(
    Forest.settled,
    Forest.interpreter,
    always=Forest.no_wrong_hit,
    changes=[Forest.the_origin_has_v2],
)
back_and_forth = Model(
    Forest,
    Forest.interpreter,
    always=Forest.no_wrong_hit,
    changes=[Forest.the_origin_has_v2, Forest.the_origin_has_v1_again],
)
forgetful = Model(
    Forest,
    Forest.interpreter,
    always=Forest.no_wrong_hit,
    changes=[Forest.the_origin_has_v2],
    forgets=Forest.files_are_lost,
)
without_etags = Model(
    lambda: Forest(has_etags=False),
    Forest.interpreter,
    always=Forest.no_wrong_hit,
    changes=[Forest.the_origin_has_v2],
)


early = Model(
    lambda: Forest(early=True),
    Forest.interpreter,
    always=Forest.no_wrong_hit,
    changes=[Forest.the_origin_has_v2, Forest.the_origin_has_v1_again],
)
outdated = Model(
    Forest.outdated,
    Forest.interpreter,
    always=Forest.no_wrong_hit,
    changes=[Forest.the_origin_has_v1_again],
)


def test_one_squirrel_keeps_what_the_origin_has_and_leaves_nothing() -> None:
    forest.explore(ONE, at_end=Forest.kept_alone, again=True, faults=faults(ONCE))


def test_one_that_loses_its_files_when_it_dies() -> None:
    forgetful.explore(ONE, at_end=Forest.kept_alone, again=True, faults=faults(ONCE))


def test_one_that_goes_on_durably() -> None:
    some = [fails(), lost(), *dies("durably")]
    forest.explore(ONE, at_end=Forest.kept_alone, again=True, faults=faults(some))


def test_a_body_that_is_that_of_the_question_for_the_etag() -> None:
    early.explore(ONE, at_end=Forest.kept_alone, again=True, faults=faults(ONCE))
    early.explore(ONE, OTHER, at_end=Forest.kept_alone, again=True, surprises=3, faults=faults())
    some = faults(writes=[late()])
    early.explore(ONE, OTHER, at_end=Forest.kept_now, again=True, faults=some)


def test_an_origin_that_goes_back_and_forth() -> None:
    back_and_forth.explore(
        ONE, OTHER, at_end=Forest.kept_alone, again=True, surprises=3, faults=faults()
    )


def test_an_origin_without_etags() -> None:
    without_etags.explore(ONE, OTHER, at_end=Forest.kept_alone, again=True, faults=faults(ONCE))


def test_two_squirrels_leave_nothing() -> None:
    forest.explore(ONE, OTHER, at_end=Forest.kept_alone, again=True, faults=faults(ONCE))


def test_two_squirrels_that_die_for_good_three_surprises() -> None:
    some = faults([dies("for good")[0]])
    found = forest.explore(
        ONE, OTHER, at_end=Forest.kept_alone, again=True, surprises=3, faults=some
    )
    assert found.histories > 1_000


def test_two_squirrels_where_a_copy_is_kept_already_leave_nothing() -> None:
    for model in (settled, outdated):
        model.explore(ONE, OTHER, at_end=Forest.kept_alone, again=True, faults=faults(ONCE))


@pytest.mark.parametrize("model", [forest, settled, outdated], ids=["new", "kept", "outdated"])
def test_two_squirrels_with_all_that_can_happen_three_surprises(
    model: Model[Forest, Row],
) -> None:
    some = faults(ONCE, [late()])
    found = model.explore(ONE, OTHER, at_end=Forest.kept_now, again=True, surprises=3, faults=some)
    assert found.histories > 3_000


# Each part of the protocol is needed: without it, something is found.


class Undoomed(Forest):
    """An index that swaps in what is doomed."""

    def swap(self, command: Swap) -> bool:
        self.claims[command.copy.key] = False
        return super().swap(command)


class Unclaimed(Forest):
    """An index that keeps no claims."""

    def claim(self, command: Claim) -> str:
        key = super().claim(command)
        self.claims.clear()
        return key

    def swap(self, command: Swap) -> bool:
        self.claims[command.copy.key] = False
        return super().swap(command)


@pytest.mark.parametrize("weaker", [Undoomed, Unclaimed])
def test_claims_are_needed(weaker: type[Forest]) -> None:
    model = Model(
        weaker.settled,
        Forest.interpreter,
        always=Forest.no_wrong_hit,
        changes=[Forest.the_origin_has_v2],
    )
    some = faults([dies("for good")[0]])
    with pytest.raises(Broken):
        model.explore(ONE, OTHER, at_end=Forest.kept_now, again=True, surprises=3, faults=some)


@attempt
def keep_looking_first(folder: str) -> Do[Row, None]:
    """The pipeline with the look before the list, as short as can be."""
    etag = yield from GetETag(NUTS)
    kept, claims, _ = yield from Look(NUTS, "den")
    objects = yield from ListObjects(NUTS, "s3://den")
    for stored in objects:
        if stored.key not in claims and (kept is None or kept.key != stored.key):
            yield from Remove(stored.key, "s3://den")
    if kept is not None and kept.etag == etag:
        return
    brought = yield from Fetch(NUTS, etag, folder)
    key = yield from Claim(NUTS, "den")
    yield from Upload(brought.path, f"s3://den/{key}")
    copy = Copy(key, brought.etag, brought.size)
    yield from Swap(NUTS, "den", None if kept is None else kept.key, copy)


def test_objects_have_to_be_listed_before_the_look() -> None:
    one, other = at(N3).retry(keep_looking_first("a")), at(N3).retry(keep_looking_first("b"))
    with pytest.raises(Broken, match="and it is not there"):
        forest.explore(one, other, faults=faults())


# The pipeline of before: one key for each resource, and the ETag of the HEAD.


@dataclass(frozen=True)
class Find(Command[bool]):
    """Look up whether the resource is kept with this ETag."""

    etag: str


@dataclass(frozen=True)
class Record(Command[None]):
    """Write to the index that the resource is kept with this ETag."""

    etag: str | None


FormerRow: TypeAlias = GetETag | Find | Download | Record | Upload


@attempt
def keep_formerly(path: str) -> Do[FormerRow, None]:
    etag = yield from GetETag(NUTS)
    if etag is None or (yield from Find(etag)):
        return
    yield from Download(NUTS.url, path)
    yield from Record(None)
    yield from Upload(path, "s3://den/nuts")
    yield from Record(etag)


@dataclass
class FormerForest:
    """The world of the former pipeline."""

    origin: str = "v1"
    files: dict[str, str] = field(default_factory=dict)
    kept: str | None = None
    etag: str | None = None

    def download(self, command: Download) -> None:
        self.files[command.path] = self.origin

    def upload(self, command: Upload) -> None:
        self.kept = self.files[command.path]

    def record(self, command: Record) -> None:
        self.etag = command.etag

    def interpreter(self) -> Interpreter[FormerRow]:
        return (
            GetETag.handled_by(lambda command: self.origin)
            | Find.handled_by(lambda command: self.etag == command.etag)
            | Download.handled_by(self.download)
            | Upload.handled_by(self.upload)
            | Record.handled_by(self.record)
        )

    def the_origin_has_v2(self) -> None:
        self.origin = "v2"

    def no_wrong_hit(self) -> None:
        assert self.etag in (None, self.kept), f"the index says {self.etag}, and it is {self.kept}"

    def kept_now(self, _: object) -> None:
        assert self.kept == self.origin, f"kept: {self.kept}, the origin has {self.origin}"


former = Model(
    FormerForest,
    FormerForest.interpreter,
    always=FormerForest.no_wrong_hit,
    changes=[FormerForest.the_origin_has_v2],
)
FORMER_ONE, FORMER_OTHER = at(N3).resume(keep_formerly("a")), at(N3).resume(keep_formerly("b"))


def test_formerly_the_bytes_could_be_newer_than_their_etag() -> None:
    with pytest.raises(Broken, match="the index says v1, and it is v2") as caught:
        former.explore(FORMER_ONE, surprises=1)
    only = "1 meanwhile the origin has v2"
    assert only in str(caught.value)
    with pytest.raises(Broken):
        former.explore(FORMER_ONE, only=only)


def test_formerly_two_squirrels_and_a_change_kept_old_bytes_for_ever() -> None:
    lasting = Model(
        FormerForest, FormerForest.interpreter, changes=[FormerForest.the_origin_has_v2]
    )
    with pytest.raises(Broken, match="kept: v1, the origin has v2"):
        lasting.explore(
            FORMER_ONE, FORMER_OTHER, at_end=FormerForest.kept_now, again=True, surprises=3
        )
