"""The idempotency key of a command: the same in all its tries, and of no other command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ixbackoff import N2, N4, Constant, Do, NotReady, all_of, at, attempt
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.durable import durable

from ..support.durable.engines import Said, Say, fails, working
from ..support.durable.journals import Memory, durably

HOW = Defaults(Constant(0.1))


def keys_of(program: Any, said: Said, journal: Memory | None = None) -> list[str]:
    """The key of each command that is performed, as a letter: equal keys are equal letters."""
    durably(program, said.interpreter, HOW, journal or Memory())
    keys = [mine.idempotency_key for _, mine in said.asked if mine is not None]
    letters = {key: "abcdefghij"[number] for number, key in enumerate(dict.fromkeys(keys))}
    return [letters[key] for key in keys]


@attempt
def charged(*whats: str) -> Do[Say, Any]:
    """Say each; the last one is said by name in the table of failures."""
    for what in whats:
        yield from Say(what)


def busy(times: int = 2) -> Said:
    return Said(busy=fails(*[NotReady()] * times, "busy"))


def test_all_tries_of_a_command_have_one_key() -> None:
    assert keys_of(at(N4).retry(Say("busy")), busy()) == ["a", "a", "a"]
    assert keys_of(at(N4).retry(charged("pay", "busy")), busy()) == [*"ababab"]
    assert keys_of(at(N4).resume(charged("pay", "busy")), busy()) == [*"abbb"]


def test_equal_commands_of_one_try_have_keys_of_their_own() -> None:
    twice = charged("pay", "pay", "busy", "pay")
    assert keys_of(at(N4).retry(twice), busy(1)) == [*"abcabcd"]
    assert keys_of(at(N4).resume(twice), busy(1)) == [*"abccd"]
    both = charged("busy", "busy")
    assert keys_of(at(N4).resume(both), Said(busy=fails("x", NotReady(), "x"))) == [*"abb"]


def test_equal_commands_of_several_steps_have_keys_of_their_own() -> None:
    program = at(N4).do(Say("busy")).wait().wait().retry(Say("busy")).do(Say("busy"))
    said = Said(busy=fails("x", NotReady(), "x"))
    assert keys_of(program.retry(Say("busy")), said) == [*"abbcd"]


def test_other_arguments_have_another_key() -> None:
    program: Any = at(N2).retry_with(lambda rung: Say(f"{rung}"))
    said = Said(**{"2": fails(NotReady()), "1": fails(NotReady())})
    assert keys_of(program, said) == [*"abc"]


def test_commands_in_branches_keep_their_keys_in_all_tries() -> None:
    program = at(N4).retry(all_of([charged("pay", "pay"), charged("pay", "busy")]))
    said = busy(1)
    keys_of(program, said)
    tries: dict[str, list[str]] = {}
    for _, mine in said.asked:
        assert mine is not None
        number, _, branch = mine.place.partition("/")
        tries.setdefault(number, []).append(f"{branch} {mine.idempotency_key}")
    first, second = map(sorted, tries.values())
    assert first == second
    assert len({one.partition(" ")[2] for one in first}) == 4


def test_a_replayed_run_has_the_keys_that_it_had() -> None:
    program = at(N4).do(Say("pay")).resume(charged("pay", "busy", "pay"))
    whole = Memory()
    said = busy()
    keys_of(program, said, whole)
    expected = [mine for _, mine in said.asked]
    for cut in range(len(whole.kept)):
        again = Said(busy=lambda: "busy")
        durably(program, again.interpreter, HOW, Memory(whole.kept[:cut]))
        for (_, mine), theirs in zip(again.asked[::-1], expected[::-1], strict=False):
            assert mine is not None
            assert theirs is not None
            if mine.place == theirs.place:
                assert mine.idempotency_key == theirs.idempotency_key


@durable(name="paid", schedule=Constant(0.01))
def paid(what: str) -> Any:
    return at(N2).retry(Say(what))


def test_a_run_that_was_forgotten_has_a_new_key(tmp_path: Path) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, paid) as engine:
        for what in ("one", "two"):
            engine.start_with_id("run", paid, what).result()
            assert engine.store.forget("run")
        engine.start_with_id("run", paid, "two").result()
        engine.start_with_id("other", paid, "two").result()
    keys = [mine.idempotency_key for _, mine in said.asked if mine is not None]
    assert len(set(keys)) == 4
    assert [key.partition(":")[0] for key in keys] == ["run", "run", "run", "other"]
