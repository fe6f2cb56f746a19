"""Tries without a machine: how a client performs a command, or an attempt's own generator.

It is the one place of the fleet that knows how the machine performs an attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._meaning.chains import Chain, Ladder, Step, chain
from .._meaning.machine import Perform, driven
from .._meaning.runs import Run
from .._meaning.semantics import chained
from .._meaning.steps import Do, Limited, Retry, Start, fresh
from .._words.commands import Command, Stream
from .._words.failures import Predicate
from .._words.vocabulary import Together
from ..schedules.kinds import powers_of_two

NO_STEPS = chain(Chain, None, None)


class Tried(NamedTuple):
    """The effect of a program `at(rung).retry(effect)`.

    Attributes:
        effect: a command or an attempt.
        chosen: the failures after which it is tried again.
        limit: seconds for each try of a command; `None`, if nothing limits it.
    """

    effect: Command[Any] | Chain
    chosen: Predicate
    limit: float | None = None


def tried(program: Ladder) -> Tried | None:
    """The effect that `program` tries again and again; `None`, if it does anything else.

    >>> from ixbackoff import N3, Log, at, do
    >>> tried(at(N3).retry(do(Log("hello")).limit(2))).limit
    2.0
    >>> tried(at(N3).do(Log("hello")).give_up()) is None
    True
    """
    step = only_step(program)
    if step.__class__ is not Retry or not isinstance(step, Retry):
        return None
    effect, limit = unwrapped(step.effect), None
    if isinstance(effect, Limited) and isinstance(unwrapped(effect.chain), Command):
        effect, limit = unwrapped(effect.chain), effect.seconds
    if isinstance(effect, Command | Chain) and not isinstance(effect, Together):
        return Tried(effect, step.chosen, limit)
    return None


def unwrapped(effect: Any) -> Any:
    """The effect itself, where attempts do nothing but perform it."""
    while isinstance(effect, Chain) and isinstance(step := only_step(effect), Do):
        effect = step.effect
    return effect


def only_step(steps: Chain) -> Step | None:
    """The step of a chain that has one."""
    found = steps.steps()
    return found[0] if len(found) == 1 else None


def starting(attempt: Chain) -> Callable[[], Stream]:
    """Return a function that begins a try of `attempt`.

    A function under `@attempt` is called, and the client drives its generator itself.
    """
    step = only_step(attempt)
    if not isinstance(step, Start):
        return lambda: on_a_stack(attempt)
    function, arguments, keywords = step.function, step.arguments, step.keywords
    if step.fresh:
        return lambda: function(*arguments, **keywords)
    return lambda: fresh(function(*arguments, **keywords), function)


def on_a_stack(attempt: Chain, *callers: Stream) -> Stream:
    """Perform an attempt that asks for others, and then go on with its callers."""
    run = Run(NO_STEPS, powers_of_two, None)
    return driven(chained(attempt, run.inside), run, {}, chained, [*callers])


NESTED = Perform
"""The class of a request for another attempt."""


def nested(request: Any, caller: Stream) -> Stream:
    """Go on with a stack, since `caller` asks for an attempt in it."""
    return on_a_stack(request.chain, caller)
