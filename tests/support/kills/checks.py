"""Compare the file that the handlers of killed runs wrote with what durable runs promise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from ixbackoff import Delay, Throttled
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff._meaning.run_state import ProgramRun
from ixbackoff._meaning.semantics import unrolled

from .killing import Report
from .programs import STORED, WORKFLOWS, Confirm, Fetch, Performed, Store

BRANCHES = 3
KEPT = 1.5  # seconds after its end in which an answer is kept, on a busy machine too
CLEANED_UP = 2.0  # seconds after which a cancelled run has cleaned up, on a busy machine too

CUT, SILENT = "cut", "silent"
"""What is said of a process that lives, but has no network; a silent one keeps its lock."""
PROCESS = {"killed", "stopped", "continued", "joined", "lost"}
FAILURES: dict[Any, Exception] = {
    Fetch: Throttled(0.35),
    Confirm: ConnectionResetError(104, "reset"),
}


def waits_of(kind: str, job: str, seed: int) -> dict[int, float]:
    """Return the seconds of each wait, by its place, of a run that is never killed."""
    program, how = WORKFLOWS[kind].build(job)
    one = ProgramRun(program, how.schedule, Random(seed))  # noqa: S311
    stream = unrolled(program, Defaults(within=how.within), run=one)
    waits: dict[int, float] = {}
    failed: set[Any] = set()
    place, command = 0, next(stream)
    try:
        while True:
            of = Fetch if kind == "together" and not isinstance(command, Delay) else type(command)
            if isinstance(command, Delay):
                waits[place] = command.seconds
            place += 1
            if of in FAILURES and of not in failed:
                failed.add(of)
                command = stream.throw(FAILURES[of])
            else:
                command = stream.send(1 if isinstance(command, Store) else b"answer")
    except StopIteration:
        return waits


class Step(NamedTuple):
    """The place of a command; inside `all_of` also its branch and its number there."""

    whole: int
    branch: str
    number: int

    @classmethod
    def of(cls, place: str) -> Step:
        whole, _, inside = place.partition("/")
        branch, _, number = inside.partition(".")
        return cls(int(whole), branch, int(number or 0))

    def comes_after(self, other: Step) -> bool:
        """Return true if the command at this place begins only after the other one was answered."""
        beside = self.branch == other.branch and self.number > other.number
        return self.whole > other.whole or (self.whole == other.whole and beside)


class Processes:
    """When processes died, or were stopped for so long that others took their runs over."""

    def __init__(self, happened: list[Performed]) -> None:
        self.kills = [(one.time, one.process) for one in happened if one.what == "killed"]
        stops = [one for one in happened if one.what == "stopped" and one.said != SILENT]
        self.stops = [(one.time, one.process) for one in stops]
        self.losses = {one.process: one.time for one in happened if one.what == "lost"}
        told = [one for one in happened if one.what in ("stopped", "continued")]
        self.silences = [
            (one.process, one.time, after.time)
            for number, one in enumerate(told)
            for after in [next((x for x in told[number:] if x.what == "continued"), one)]
            if one.said == SILENT
        ]
        self.times = sorted(time for time, _ in self.kills + self.stops)

    def death(self, one: Performed) -> float | None:
        """Return when the process of this line died or lost its lock; `None` if neither."""
        if one.process in self.losses:
            stops = [time for time, process in self.stops if process == one.process]
            return min([time for time in stops if time >= one.time] + [self.losses[one.process]])
        number = one.process.partition("+")[0]
        return next((time for time, dead in self.kills if dead.partition("+")[0] == number), None)

    def silent(self, process: str, first: float, last: float) -> float:
        """Return the seconds between two times in which nothing left a process."""
        mine = [(begin, end) for name, begin, end in self.silences if name == process]
        return sum(max(min(end, last) - max(begin, first), 0.0) for begin, end in mine)

    def between(self, first: float, last: float) -> int:
        return sum(first <= time <= last for time in self.times)

    def was_gone(self, one: Performed) -> bool:
        """Return true if a stopped process wrote this line before it noticed its lost lock."""
        if one.process not in self.losses:
            return False
        return any(stopped < one.time and process == one.process for stopped, process in self.stops)


def checked(
    happened: list[Performed], waits: Mapping[str, Mapping[int, float]], hold: float
) -> Report:
    """Check the lines of a file.

    Args:
        happened: the lines.
        waits: the seconds of each wait of each run, by its place, if the run is never killed.
        hold: waits of more seconds are parked.
    """
    report = Report()
    processes = Processes(happened)
    report.counts["kills"] = len(processes.kills)
    stops = Counter(one.said for one in happened if one.what == "stopped")
    report.counts["stops"] = stops["-"]
    report.counts["cuts"] = stops[CUT] + stops[SILENT]
    told: dict[str, list[Performed]] = defaultdict(list)
    for one in sorted(happened):
        if one.what not in PROCESS:
            told[one.run].append(one)
    report.counts["runs"] = len(told)
    for run, mine in told.items():
        Check(report, processes, run, mine, waits.get(run, {}), hold).all()
    return report


class Check:
    """The checks of one run."""

    def __init__(
        self,
        report: Report,
        processes: Processes,
        run: str,
        told: list[Performed],
        waits: Mapping[int, float],
        hold: float,
    ) -> None:
        self.report = report
        self.processes = processes
        self.run = run
        self.commands = [one for one in told if one.what in ("begin", "end", "failed")]
        self.results = {one.said for one in told if one.what == "result"}
        self.cancelled = next((one.time for one in told if one.what == "cancel"), None)
        self.waits = waits
        self.hold = hold
        self.begun: dict[str, list[Performed]] = defaultdict(list)
        for one in self.commands:
            if one.what == "begin":
                self.begun[one.place].append(one)

    def found(self, place: str, what: str) -> None:
        self.report.broken.append(f"{self.run}:{place} {what}")

    def all(self) -> None:
        self.report.counts["commands performed"] += sum(map(len, self.begun.values()))
        self.repeats()
        self.order()
        self.gone()
        if self.cancelled is None:
            self.waited()
        else:
            self.cleaned_up(self.cancelled)
        self.result()

    def repeats(self) -> None:
        """Each death repeats at most one command of each branch; its handler knows."""
        blamed: Counter[str] = Counter()
        for place, begun in self.begun.items():
            self.report.counts["of them again"] += len(begun) - 1
            if len({one.process for one in begun}) < len(begun):
                self.found(place, "was performed twice by one process")
            if any(not one.again for one in begun[1:]):
                self.found(place, "was performed again, without `repeated`")
            for one, following in pairwise(begun):
                blamed[one.process] += 1
                self.check_pair(place, one, following)
        for process, number in blamed.items():
            branches = BRANCHES if any("/" in place for place in self.begun) else 1
            if number > branches:
                self.found("", f"repeated {number} commands after the death of {process}")

    def check_pair(self, place: str, one: Performed, following: Performed) -> None:
        ends = [
            x.time
            for x in self.commands
            if x.place == place and x.process == one.process and x.what != "begin"
        ]
        death = self.processes.death(one)
        if death is None:
            self.found(place, f"was performed again, though process {one.process} is alive")
        elif following.time < min([*ends, death]):
            self.found(place, "was performed by two at one time")
        elif ends and min(ends) < death - KEPT - self.processes.silent(
            one.process, min(ends), death
        ):
            self.found(place, "was answered long before, and asked again")

    def order(self) -> None:
        """No command begins again after a later one: its answer was in the journal then."""
        latest = [(Step.of(place), begun[0].time) for place, begun in self.begun.items()]
        for place, begun in self.begun.items():
            mine = Step.of(place)
            first = min((time for step, time in latest if step.comes_after(mine)), default=None)
            for one in begun:
                if first is not None and one.time > first:
                    self.found(place, "was answered, and asked again")

    def gone(self) -> None:
        """A stopped process whose lock others took begins no further command of their runs.

        It may end the command that it was stopped in.
        """
        begun = [one for one in self.commands if one.what == "begin"]
        for one in filter(self.processes.was_gone, begun):
            self.report.counts["begun by a process that was stopped"] += 1
            stop = max(
                time
                for time, process in self.processes.stops
                if process == one.process and time < one.time
            )
            if any(x.process != one.process and stop < x.time < one.time for x in self.commands):
                self.found(one.place, f"was begun by {one.process}, which had lost its lock")

    def waited(self) -> None:
        """The commands before and after a wait are at least its seconds apart."""
        for place, seconds in self.waits.items():
            before = [one.time for one in self.kept() if Step.of(one.place).whole < place]
            after = [
                one.time
                for one in self.commands
                if Step.of(one.place).whole > place and one.what == "begin"
            ]
            if not before or not after:
                self.found(str(place), "is a wait with nothing before it or after it")
                continue
            self.report.counts["waits"] += 1
            self.report.counts["of them parked"] += seconds > self.hold
            killed = self.processes.between(max(before), min(after))
            self.report.counts["with a kill in them"] += killed > 0
            waited = min(after) - max(before)
            if waited < seconds:
                self.found(str(place), f"waited {waited:.3f} s of {seconds:.3f} s")

    def kept(self) -> list[Performed]:
        """Return the lines of commands, without those of repeated performances."""
        latest: dict[str, str] = {}
        for place, begun in self.begun.items():
            here = [one for one in begun if not self.processes.was_gone(one)]
            latest[place] = (here or begun)[-1].process
        return [one for one in self.commands if one.process == latest.get(one.place)]

    def cleaned_up(self, cancelled: float) -> None:
        """A cancelled run performs its `finally` blocks once, and nothing else."""
        self.report.counts["of them cancelled"] += 1
        after = [one for one in self.commands if one.time > cancelled and one.what == "begin"]
        more = [one for one in after if one.said != "Tidy"]
        if len(more) > 1:
            self.found("", f"performed {len(more)} commands after it was cancelled")
        tidied = [one for one in self.commands if one.said == "Tidy" and one.what == "begin"]
        self.report.counts["cleaned up"] += bool(tidied)
        stored = [one for one in self.commands if one.said == "Store"]
        if len(tidied) > 1 and not tidied[1].again:
            self.found("", f"cleaned up {len(tidied)} times")
        if not tidied and stored and not self.died(stored[-1], cancelled):
            self.found("", "did not clean up")

    def died(self, one: Performed, cancelled: float) -> bool:
        """Return true if the process of a run died before it could clean up."""
        death = self.processes.death(one)
        return death is not None and death < cancelled + CLEANED_UP

    def result(self) -> None:
        if len(self.results) != 1:
            self.found("end", f"has the results {self.results}")
            return
        (said,) = self.results
        if self.cancelled is not None and said.startswith("Stopped"):
            return
        if not right(self.run, eval(said, {})):  # noqa: S307
            self.found("end", f"has the result {said}")


def right(run: str, result: Any) -> bool:
    """Return true if `result` is right for a run; its id begins with its kind."""
    kind = run.partition("-")[0]
    if kind == "together":
        return bool(result == [f"token-{run}{number}".encode() * 3 for number in range(BRANCHES)])
    if kind == "tidied":
        return bool(result == STORED * len(f"{run}0"))
    return bool(result[:2] == (run, 3 * len(f"token-{run}")) and result[2] in range(6))
