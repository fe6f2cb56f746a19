"""Tries without a machine: how a client begins a try of a command, or of an attempt."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .._meaning.chains import Chain, Ladder, Step, chain
from .._meaning.machine import Enter, Task
from .._meaning.runs import InAttempt
from .._meaning.semantics import attempted, limited, performed
from .._meaning.steps import DoStep, Limited, RetryStep, StartStep
from .._words.commands import Command
from .._words.failures import Predicate
from .._words.vocabulary import Together


class Tried(NamedTuple):
    """The effect of a program `at(rung).retry(effect)`.

    Attributes:
        effect: what it tries.
        chosen: the failures after which it is tried again.
        command: the command that the effect is; `None`, if it is more than one command.
        limit: seconds for each try of that command; `None`, if nothing limits it.
    """

    effect: Any
    chosen: Predicate
    command: Command[Any] | None = None
    limit: float | None = None


def tried(program: Ladder) -> Tried | None:
    """The effect that `program` tries again and again; `None`, if it does anything else.

    >>> from ixbackoff import N3, Log, at, do
    >>> tried(at(N3).retry(do(Log("hello")).limit(2))).limit
    2.0
    >>> tried(at(N3).do(Log("hello")).end()) is None
    True
    """
    step = only_step(program)
    if step.__class__ is not RetryStep or not isinstance(step, RetryStep):
        return None
    effect, limit = unwrapped(step.effect), None
    command = effect
    if isinstance(effect, Limited) and effect.seconds > 0:
        command, limit = unwrapped(effect.chain), effect.seconds
    if isinstance(command, Command) and not isinstance(command, Together):
        return Tried(effect, step.chosen, command, limit)
    return Tried(effect, step.chosen)


def unwrapped(effect: Any) -> Any:
    """The effect itself, where attempts do nothing but perform it."""
    while isinstance(effect, Chain) and isinstance(step := only_step(effect), DoStep):
        effect = step.effect
    return effect


def only_step(steps: Chain) -> Step | None:
    """The step of a chain that has one."""
    found = steps._flat or steps.steps()
    return found[0] if len(found) == 1 else None


def generating(effect: Any) -> Callable[[], Task] | None:
    """The function under `@attempt` that makes the generator of an effect, if it is no more."""
    step = only_step(effect) if isinstance(effect, Chain) else None
    if not isinstance(step, StartStep) or not step.fresh:
        return None
    return partial(step.function, *step.arguments, **step.keywords)


def as_attempt(effect: Any) -> Chain:
    """An attempt that performs the effect."""
    return effect if isinstance(effect, Chain) else chain(Chain, None, DoStep(effect))


def task_of(attempt: Chain, inside: InAttempt) -> Task:
    """The task of an attempt, as `attempted`; if it has one step only, without a task for that."""
    step: Any = only_step(attempt)
    if step.__class__ is DoStep and step.effect.__class__ is Limited:
        return in_time(step.effect, inside)
    if step.__class__ is StartStep and step.fresh:
        try:
            generator: Task = step.function(*step.arguments, **step.keywords)
        except Exception as error:  # such as a wrong number of arguments
            return failed(error)
        return generator
    return attempted(attempt, inside)


def in_time(with_limit: Limited, inside: InAttempt) -> Task:
    """The task of an effect with a limit."""
    effect = unwrapped(with_limit.chain)
    attempt = issubclass(effect.__class__, Chain)
    asked = Enter(task_of(effect, inside)) if attempt else performed(effect, inside)
    return limited(asked, with_limit.seconds, inside)


def failed(error: Exception) -> Task:
    """A task that fails."""
    yield from ()
    raise error
