# ruff: noqa: ARG002  (a fault is that something is not looked at)
"""Faults planted into the rules: each is a rule that somebody could have got wrong."""

from __future__ import annotations

from dataclasses import replace

from .calculus import (
    Act,
    Attempt,
    Failure,
    Log,
    On,
    Outcome,
    Pass,
    Planner,
    Program,
    Run,
    Way,
    failed,
    stay,
    well,
)


class NoFloor(Run):
    """A wait may be shorter than the one before it."""

    def pausing(self, retry_after: float) -> float:
        return max(self.setting.schedule(self.number()), retry_after)


class DeafToRetryAfter(Run):
    """A wait may be shorter than the service asked for."""

    def pausing(self, retry_after: float) -> float:
        return super().pausing(0.0)


class CountsWaits(Run):
    """The number of a wait is how many there were before, not top - rung."""

    def number(self) -> int:
        return self.state.waited if self.setting.patience is None else super().number()


class CountsFromOne(Run):
    """The first wait is number 1."""

    def number(self) -> int:
        return super().number() + 1


class CountsOnWithoutEnd(Run):
    """A ladder without end asks the schedule for 20, 21 and so on."""

    def number(self) -> int:
        return super().number() if self.setting.patience is None else self.state.waited


class RepeatsTheLastButOne(Run):
    """A ladder without end asks the schedule for 18 again and again."""

    def number(self) -> int:
        k = super().number()
        return k if self.setting.patience is None else min(k, self.setting.top - 2)


class AsksForTheNext(Run):
    """A ladder without end asks the schedule for 20 after twenty waits."""

    def number(self) -> int:
        endless = self.setting.patience is not None and self.state.waited >= self.setting.top
        return super().number() + endless


class OneTryTooMany(Run):
    """A retry tries once more than there are rungs."""

    def rounds(self, rung: int) -> int:
        return super().rounds(rung) + 1


class OneTryTooFew(Run):
    """A retry does not try on its last rung."""

    def rounds(self, rung: int) -> int:
        return max(super().rounds(rung) - 1, 0)


class RecoversFromMisuse(Run):
    """A step recovers from what is over."""

    def when_failed(self, r: Outcome, passing: Pass, on: On, act: Act) -> Outcome:
        return super().when_failed(failed(r.it) if r.state == "over" else r, passing, on, act)


class RecoversFromAFailedWait(Run):
    """A wait that fails is a failure as others are."""

    def waiting(self, retry_after: float, o: Outcome) -> Outcome:
        waited = super().waiting(retry_after, o)
        return failed(waited.it) if waited.state == "over" else waited


class StaysWhenWell(Run):
    """A backoff goes down only if it waits."""

    def backoff(self, p: Program, r: Outcome) -> Outcome:
        return self.when_failed(r, stay, p.on, lambda e: self.waiting(e.asked, failed(e)))


class StaysBeforeAJoin(Run):
    """A program that is passed over leads nowhere."""

    def join(self, p: Program, r: Outcome) -> Outcome:
        return self.when_well(r, stay, lambda _: self.eval(p.it))


class KnowsWhereABindEnds(Run):
    """A bind that is passed over leads to where its type says that it ends."""

    def left(self, p: Program) -> Pass:
        return self.to(p.end)


class DeafToAnnotations(Run):
    """A bind that says where it ends is as one that does not."""

    def left(self, p: Program) -> Pass:
        return stay


class StaysBeforeARetry(Run):
    """A retry that is passed over leads nowhere."""

    def retry(self, p: Program, r: Outcome) -> Outcome:
        return super().retry(p, r) if r.state == "well" else r

    def retry_with(self, p: Program, r: Outcome) -> Outcome:
        return super().retry_with(p, r) if r.state == "well" else r

    def resume(self, p: Program, r: Outcome) -> Outcome:
        return super().resume(p, r) if r.state == "well" else r


class BeginsAnew(Run):
    """A resume asks everything again."""

    def again(self, x: Attempt, log: Log) -> tuple[Outcome, Log]:
        return super().again(x, [])


class KeepsItsFailure(Run):
    """A resume is told the failure again, which it failed with."""

    def cut(self, o: Outcome, log: Log) -> Log:
        return log


class CountsWhatIsNotTried(Run):
    """A function that raises counts as a try."""

    def try_once(self, x: Outcome) -> Outcome:
        self.state.tried += x.state != "well"
        return super().try_once(x)


class WaitsWhenFailed(Run):
    """A wait is waited in any case."""

    def wait(self, p: Program, r: Outcome) -> Outcome:
        return r if r.state == "over" else self.waiting(0.0, r)


class LeavesForever(Run):
    """A ladder without end ends after twenty waits."""

    def below(self, rung: int) -> int:
        return max(rung - 1, 0)


class ChoosesAll(Run):
    """An or_else does not look at the failure."""

    def or_else(self, p: Program, r: Outcome) -> Outcome:
        return self.when_failed(r, stay, anything, lambda _: self.try_once(well(p.it)))


def anything(_: Failure) -> bool:
    return True


FAULTS: list[type[Run]] = Run.__subclasses__()


class ForgetsTheLastTry(Planner):
    """A retry tries as often as it waits."""

    def retried(self, w: Way) -> Way:
        return replace(super().retried(w), tries=w.tries + w.rung)


class PlansFromOne(Planner):
    """The first wait is number 1."""

    def longest(self, k: int) -> float:
        return super().longest(k + 1)


class PlansWithoutAFloor(Planner):
    """A schedule that falls makes waits shorter."""

    def longest(self, k: int) -> float:
        return self.promised(k)


class ForgetsTheLastWait(Planner):
    """There is no wait on N1."""

    def waited(self, w: Way, end: int) -> Way:
        return replace(super().waited(w, min(w.rung, max(end, 1))), rung=end)


PLANNER_FAULTS: list[type[Planner]] = Planner.__subclasses__()
