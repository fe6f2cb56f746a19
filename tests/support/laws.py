"""The laws, as named functions: each returns two programs that must look the same from outside.

`begin` makes an attempt or a program of an effect, since the laws hold for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ixbackoff import N0, N1, N2, N3, N4, Do, Program, at, attempt, do

Value: TypeAlias = int
AnEffect: TypeAlias = Any
Function: TypeAlias = Callable[[Value], AnEffect]
Begin: TypeAlias = Callable[[AnEffect], Any]
Same: TypeAlias = tuple[Any, Any]


@attempt
def pure(value: Value) -> Do[Any, Value]:
    """An attempt that issues no command and answers `value`."""
    yield from ()
    return value


@attempt
def failing(failure: Exception) -> Do[Any, Value]:
    """An attempt that issues no command and fails."""
    yield from ()
    raise failure


class Then:
    """Laws of `then` and `map`: with `pure` they are a monad and its functor."""

    @staticmethod
    def left_identity(begin: Begin, value: Value, f: Function) -> Same:
        return begin(pure(value)).then(f), begin(f(value))

    @staticmethod
    def right_identity(begin: Begin, m: AnEffect) -> Same:
        return begin(m).then(pure), begin(m)

    @staticmethod
    def associativity(begin: Begin, m: AnEffect, f: Function, g: Function) -> Same:
        return begin(m).then(f).then(g), begin(m).then(lambda value: do(f(value)).then(g))

    @staticmethod
    def map_is_then_pure(begin: Begin, m: AnEffect) -> Same:
        return begin(m).map(lambda v: v * 3 + 1), begin(m).then(lambda v: pure(v * 3 + 1))

    @staticmethod
    def map_composes(begin: Begin, m: AnEffect) -> Same:
        return (
            begin(m).map(lambda v: v + 1).map(lambda v: v * 2),
            begin(m).map(lambda v: (v + 1) * 2),
        )

    @staticmethod
    def do_notation_is_a_chain(begin: Begin, m: AnEffect, f: Function, g: Function) -> Same:
        @attempt
        def written_out() -> Do[Any, Value]:
            first: Value = yield from m
            second: Value = yield from f(first)
            third: Value = yield from g(second)
            return third

        return begin(written_out()), begin(m).then(f).then(g)

    @staticmethod
    def failure_is_left_zero(begin: Begin, failure: Exception, f: Function) -> Same:
        return begin(failing(failure)).then(f), begin(failing(failure))


class OrElse:
    """Laws of `or_else`: it is associative, with success as left zero and failure as unit."""

    @staticmethod
    def associativity(begin: Begin, a: AnEffect, b: AnEffect, c: AnEffect) -> Same:
        return begin(a).or_else(b).or_else(c), begin(a).or_else(do(b).or_else(c))

    @staticmethod
    def success_is_left_zero(begin: Begin, value: Value, b: AnEffect) -> Same:
        return begin(pure(value)).or_else(b), begin(pure(value))

    @staticmethod
    def transient_failure_is_left_unit(begin: Begin, failure: Exception, b: AnEffect) -> Same:
        return begin(failing(failure)).or_else(b), begin(b)


def followed(program: Program[Any, N1, Value, Any], effect: AnEffect) -> Any:
    """The same, with a wait behind it: it tells on which rung the program was left."""
    return program.or_else(effect).backoff().or_else(effect)


class Ladders:
    """Laws of joined programs: they compose as their rungs do, also when a wait follows.

    Behind a function that was not called only `.at` says where it would have ended.
    """

    @staticmethod
    def bind_associativity(m: AnEffect, f: Function, g: Function, x: AnEffect) -> Same:
        def second(value: Value) -> Program[Any, Any, Value, Any]:
            return at(N4).do(f(value)).backoff().or_else(m)

        def third(value: Value) -> Program[Any, Any, Value, Any]:
            return at(N3).do(g(value)).backoff().skip()

        program = at(N4).do(m)
        return (
            followed(program.bind(second).bind(third).at(N1), x),
            followed(program.bind(lambda value: second(value).bind(third)).at(N1), x),
        )

    @staticmethod
    def join_associativity(a: AnEffect, b: AnEffect, c: AnEffect, x: AnEffect) -> Same:
        p, q, r = at(N4).do(a).backoff(), at(N3).do(b).backoff(), at(N2).do(c).backoff()
        return followed(p >> q >> r, x), followed(p >> (q >> r), x)

    @staticmethod
    def alternative_associativity(a: AnEffect, b: AnEffect, c: AnEffect, x: AnEffect) -> Same:
        p, q, r = at(N4).do(a).backoff(), at(N3).do(b).backoff(), at(N2).do(c).backoff()
        return followed(p | q | r, x), followed(p | (q | r), x)

    @staticmethod
    def join_is_bind_that_says_where_it_ends(a: AnEffect, b: AnEffect, x: AnEffect) -> Same:
        p, q = at(N3).do(a).backoff(), at(N2).do(b).backoff()
        return followed(p >> q, x), followed(p.bind(lambda _: q).at(N1), x)

    @staticmethod
    def join_is_bind_of_an_annotated_function(a: AnEffect, b: AnEffect, x: AnEffect) -> Same:
        p, q = at(N3).do(a).backoff(), at(N2).do(b).backoff()

        def annotated(_: Value) -> Program[N2, N1, Value, Any]:
            return q

        return followed(p >> q, x), followed(p.bind(annotated), x)

    @staticmethod
    def alternative_is_or_bind_that_says_where_it_ends(
        a: AnEffect, b: AnEffect, x: AnEffect
    ) -> Same:
        p, q = at(N3).do(a).backoff(), at(N2).do(b).backoff()
        return followed(p | q, x), followed(p.or_bind(lambda _: q).at(N1), x)

    @staticmethod
    def retry_in_other_steps(x: AnEffect) -> Same:
        return (
            at(N2).retry(x),
            at(N2).do(x).backoff().or_else(x).backoff().or_else(x),
        )

    @staticmethod
    def an_empty_ladder_is_no_ladder(x: AnEffect) -> Same:
        return at(N0).retry(x), at(N0).do(x)


class Resume:
    """Laws of `resume`: it is `retry` that does not issue answered commands again."""

    @staticmethod
    def a_command_is_its_own_resumption(command: AnEffect) -> Same:
        return at(N3).resume(command), at(N3).retry(command)
