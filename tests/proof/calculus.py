# ruff: noqa: ARG002  (each rule is given its step, though some look at its name only)
"""The calculus of docs/proof/Calculus.agda in Python, rule by rule, without the library.

The names are those of the proof. Where it has a function, there is one here, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias


class Failure:
    """An exception: its kind, the time that it asks for, and the failure that it came from."""

    def __init__(self, kind: str, asked: float = 0.0, cause: Failure | None = None) -> None:
        self.kind = kind
        self.asked = asked
        self.cause = cause


class Outcome(NamedTuple):
    """What comes of anything: "well" with a value, "failed" or "over" with a failure."""

    state: str
    it: Any


def well(value: Any) -> Outcome:
    return Outcome("well", value)


def failed(failure: Failure) -> Outcome:
    return Outcome("failed", failure)


def over(failure: Failure) -> Outcome:
    return Outcome("over", failure)


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that has ended."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Asks:
    """An attempt that asks a command, and goes on with what comes of it."""

    command: str
    then: Callable[[Outcome], Attempt]


Attempt: TypeAlias = Ended | Asks
On: TypeAlias = Callable[[Failure], bool]
Log: TypeAlias = list[tuple[str, Outcome]]


def then_attempt(x: Attempt, f: Callable[[Any], Attempt]) -> Attempt:
    if isinstance(x, Asks):
        return Asks(x.command, lambda o: then_attempt(x.then(o), f))
    return f(x.outcome.it) if x.outcome.state == "well" else x


def or_else_attempt(x: Attempt, on: On, y: Attempt) -> Attempt:
    if isinstance(x, Asks):
        return Asks(x.command, lambda o: or_else_attempt(x.then(o), on, y))
    return y if x.outcome.state == "failed" and on(x.outcome.it) else x


@dataclass(frozen=True, slots=True)
class Program:
    """A step, and the program before it.

    Attributes:
        step: the name of the constructor.
        before: the program before it; nothing for `at`.
        end: the rung that the program's type ends with.
        it: what the step holds: an effect, a function or a program.
        on: the failures that it chooses.
        said: whether a bind says where its program ends.
    """

    step: str
    before: Program | None
    end: int
    it: Any = None
    on: On = lambda _: True
    said: bool = False


def bound(p: Program) -> int:
    """Where a run takes itself to be when it has passed p over."""
    if p.step in ("at", "stands") or p.said:
        return p.end
    if p.step in ("join", "or_join"):
        return bound(p.it)
    if p.step in ("retry", "retry_with", "resume", "end"):
        return 0
    assert p.before is not None
    before = bound(p.before)
    return before - 1 if p.step in ("backoff", "wait", "skip") else before


@dataclass(frozen=True, slots=True)
class Setting:
    """Who answers, and how long the waits are.

    Attributes:
        answer: what comes of the n-th command.
        sleep: the failure of the n-th wait, if it fails.
        schedule: the seconds of the k-th wait.
        top: the rung where the program starts; 20 for a ladder without end.
        patience: how often a retry on a ladder without end may wait; none on others.
    """

    answer: Callable[[int], Outcome]
    sleep: Callable[[int], Failure | None]
    schedule: Callable[[int], float]
    top: int
    patience: int | None = None


@dataclass
class State:
    """Where a run stands, and what it has done."""

    rung: int
    floor: float = 0.0
    tried: int = 0
    history: list[tuple[Any, ...]] = field(default_factory=list)
    issued: int = 0
    waited: int = 0


Act: TypeAlias = Callable[[Any], Outcome]
Pass: TypeAlias = Callable[[], None]


def stay() -> None:
    """Pass a step over that stays on its rung."""


class Run:
    """One run. A result is an outcome and the state of the run, which is changed in place."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.state = State(setting.top)

    def to(self, rung: int) -> Pass:
        def move() -> None:
            self.state.rung = rung

        return move

    def below(self, rung: int) -> int:
        return max(rung - 1, 0 if self.setting.patience is None else 1)

    def down(self) -> None:
        self.state.rung = self.below(self.state.rung)

    def rounds(self, rung: int) -> int:
        patience = self.setting.patience
        return rung if patience is None or rung == 0 else patience

    def when_well(self, r: Outcome, passing: Pass, act: Act) -> Outcome:
        if r.state == "well":
            return act(r.it)
        if r.state == "failed":
            passing()
        return r

    def when_failed(self, r: Outcome, passing: Pass, on: On, act: Act) -> Outcome:
        if r.state == "failed" and on(r.it):
            return act(r.it)
        if r.state != "over":
            passing()
        return r

    def in_any_case(self, r: Outcome, passing: Pass) -> Outcome:
        if r.state != "over":
            passing()
        return r

    def ask(self, command: str) -> Outcome:
        """Issue a command."""
        s = self.state
        s.history.append(("issued", command))
        s.issued += 1
        return self.setting.answer(s.issued - 1)

    def perform(self, x: Attempt) -> Outcome:
        while isinstance(x, Asks):
            x = x.then(self.ask(x.command))
        return x.outcome

    def try_once(self, x: Outcome) -> Outcome:
        if x.state != "well":
            return x
        self.state.tried += 1
        return self.perform(x.it)

    def number(self) -> int:
        """The k of a wait on this rung."""
        return self.setting.top - self.state.rung

    def pausing(self, retry_after: float) -> float:
        return max(self.state.floor, self.setting.schedule(self.number()), retry_after)

    def waiting(self, retry_after: float, o: Outcome) -> Outcome:
        s = self.state
        s.floor = self.pausing(retry_after)
        s.history.append(("waited", s.rung, self.number(), s.floor))
        s.rung = self.below(s.rung)
        s.waited += 1
        failure = self.setting.sleep(s.waited - 1)
        return o if failure is None else over(failure)

    def replay(self, x: Attempt, log: Log) -> tuple[Outcome, Log]:
        """Answer x from the log as far as it goes; an attempt of the proof asks what it asked."""
        new: Log = []
        while isinstance(x, Asks):
            o = log[len(new)][1] if len(new) < len(log) else self.ask(x.command)
            new.append((x.command, o))
            x = x.then(o)
        return x.outcome, new

    def cut(self, o: Outcome, log: Log) -> Log:
        return log[: place(log, o.it)] if o.state == "failed" else log

    def again(self, x: Attempt, log: Log) -> tuple[Outcome, Log]:
        self.state.tried += 1
        o, new = self.replay(x, log)
        return o, self.cut(o, new)

    def rest(
        self, n: int, on: On, attempt: Callable[[Log], tuple[Outcome, Log]], r: Outcome, log: Log
    ) -> Outcome:
        def last(e: Failure) -> Outcome:
            rung, self.state.rung = self.state.rung, 0
            endless = self.setting.patience is not None and rung > 0
            return over(Failure("impatient")) if endless else failed(e)

        def wait(e: Failure) -> Outcome:
            return self.when_failed(
                self.waiting(e.asked, failed(e)), stay, lambda _: True, try_again
            )

        def try_again(_: Failure) -> Outcome:
            return self.rest(n - 1, on, attempt, *attempt(log))

        return self.when_failed(r, self.to(0), on, wait if n else last)

    def loop(self, on: On, attempt: Callable[[Log], tuple[Outcome, Log]]) -> Outcome:
        return self.rest(self.rounds(self.state.rung), on, attempt, *attempt([]))

    def left(self, p: Program) -> Pass:
        return self.to(p.end) if p.said else stay

    def eval(self, p: Program) -> Outcome:
        if p.before is None:
            self.state.rung = p.end
            return well(None)
        step: Callable[[Program, Outcome], Outcome] = getattr(self, p.step)
        return step(p, self.eval(p.before))

    def enter(self, o: Outcome) -> Outcome:
        return self.eval(o.it) if o.state == "well" else o

    # What each step does.

    def then(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(r, stay, lambda a: self.try_once(p.it(a)))

    def map(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(r, stay, p.it)

    def or_else(self, p: Program, r: Outcome) -> Outcome:
        return self.when_failed(r, stay, p.on, lambda _: self.try_once(well(p.it)))

    def bind(self, p: Program, r: Outcome) -> Outcome:
        left = self.left(p)
        return self.when_well(r, left, lambda a: self.in_any_case(self.enter(p.it(a)), left))

    def or_bind(self, p: Program, r: Outcome) -> Outcome:
        left = self.left(p)
        return self.when_failed(
            r, left, p.on, lambda e: self.in_any_case(self.enter(p.it(e)), left)
        )

    def join(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(r, self.to(bound(p.it)), lambda _: self.eval(p.it))

    def or_join(self, p: Program, r: Outcome) -> Outcome:
        return self.when_failed(r, self.to(bound(p.it)), p.on, lambda _: self.eval(p.it))

    def backoff(self, p: Program, r: Outcome) -> Outcome:
        return self.when_failed(r, self.down, p.on, lambda e: self.waiting(e.asked, failed(e)))

    def wait(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(r, self.down, lambda a: self.waiting(0.0, well(a)))

    def skip(self, p: Program, r: Outcome) -> Outcome:
        return self.in_any_case(r, self.down)

    def retry(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(
            r, self.to(0), lambda _: self.loop(p.on, lambda _: (self.try_once(well(p.it)), []))
        )

    def retry_with(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(
            r,
            self.to(0),
            lambda _: self.loop(p.on, lambda _: (self.try_once(p.it(self.state.rung)), [])),
        )

    def resume(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(
            r, self.to(0), lambda _: self.loop(p.on, lambda log: self.again(p.it, log))
        )

    def end(self, p: Program, r: Outcome) -> Outcome:
        return self.in_any_case(r, self.to(0))

    def stands(self, p: Program, r: Outcome) -> Outcome:
        return self.in_any_case(r, self.to(p.end))


def place(log: Log, failure: Failure) -> int:
    """The place of the command whose failure became this one: the proof allows any function.

    If there is none, it is that of the last answer that can be judged, as in the library.
    """
    cause: Failure | None = failure
    while cause is not None:
        for n in range(len(log) - 1, -1, -1):
            if log[n][1].it is cause:
                return n
        cause = cause.cause
    judged = [n for n, (_, o) in enumerate(log) if o.it is not None]
    return max(judged, default=0)


@dataclass(frozen=True)
class Way:
    """A way of a run to a rung, and the most that it has done on it (docs/proof/P5.agda)."""

    rung: int
    tries: int = 0
    waits: int = 0
    seconds: float = 0.0


Ways: TypeAlias = tuple[frozenset[Way], frozenset[Way], frozenset[Way]]
"""Those on which a run can be well, failed, or over."""


class Planner:
    """The plan of a program, without running it."""

    def __init__(self, top: int, promised: Callable[[int], float]) -> None:
        self.top = top
        self.promised = promised

    def longest(self, k: int) -> float:
        return max(self.promised(j) for j in range(k + 1))

    def waited(self, w: Way, end: int) -> Way:
        """With a wait on each rung on the way down to `end`."""
        more = [self.longest(self.top - rung) for rung in range(w.rung, end, -1)]
        return Way(end, w.tries, w.waits + len(more), w.seconds + sum(more))

    def led(self, p: Program, ways: frozenset[Way]) -> frozenset[Way]:
        assert p.before is not None
        if p.said:
            start = p.before.end
            return frozenset(self.waited(w, p.end) for w in there(ways, start))
        return frozenset(self.waited(w, e) for w in ways for e in range(p.end, w.rung + 1))

    def slept(self, ways: frozenset[Way]) -> frozenset[Way]:
        return frozenset(self.waited(w, w.rung - 1) for w in ways)

    def retried(self, w: Way) -> Way:
        return replace(self.waited(w, 0), tries=w.tries + w.rung + 1)

    def plan(self, p: Program, begin: frozenset[Way]) -> Ways:
        none: frozenset[Way] = frozenset()
        if p.before is None:
            return moved(begin, lambda _: p.end), none, none
        y, n, o = self.plan(p.before, begin)
        if p.step == "then":
            return tried_once(y), n | tried_once(y), o | tried_once(y)
        if p.step == "map":
            return y, n | y, o | y
        if p.step == "or_else":
            return y | tried_once(n), n | tried_once(n), o | tried_once(n)
        if p.step == "bind":
            t = self.led(p, y)
            return t, gone_left(p, n) | t, o | t
        if p.step == "or_bind":
            t = self.led(p, n)
            return gone_left(p, y) | t, gone_left(p, n) | t, o | t
        if p.step in ("join", "or_join"):
            y2, n2, o2 = self.plan(p.it, y if p.step == "join" else n)
            passed = y if p.step == "or_join" else none
            return there(passed, bound(p.it)) | y2, there(n, bound(p.it)) | n2, o | o2
        if p.step == "backoff":
            return down(y), down(n) | self.slept(n), o | self.slept(n)
        if p.step == "wait":
            return self.slept(y), down(n), o | self.slept(y)
        if p.step == "skip":
            return down(y), down(n), o
        if p.step in ("retry", "retry_with", "resume"):
            t = frozenset(self.retried(w) for w in y)
            return t, there(n, 0) | t, o | t
        return there(y, p.end), there(n, p.end), o

    def planned(self, p: Program) -> tuple[int, int, float]:
        """The tries, the waits and the seconds of the plan."""
        ways = frozenset[Way]().union(*self.plan(p, frozenset([Way(self.top)])))
        return (
            max(w.tries for w in ways),
            max(w.waits for w in ways),
            max(w.seconds for w in ways),
        )


def moved(ways: frozenset[Way], to: Callable[[int], int]) -> frozenset[Way]:
    return frozenset(replace(w, rung=to(w.rung)) for w in ways)


def there(ways: frozenset[Way], rung: int) -> frozenset[Way]:
    return moved(ways, lambda _: rung)


def down(ways: frozenset[Way]) -> frozenset[Way]:
    return moved(ways, lambda rung: rung - 1)


def tried_once(ways: frozenset[Way]) -> frozenset[Way]:
    return frozenset(replace(w, tries=w.tries + 1) for w in ways)


def gone_left(p: Program, ways: frozenset[Way]) -> frozenset[Way]:
    return there(ways, p.end) if p.said else ways
