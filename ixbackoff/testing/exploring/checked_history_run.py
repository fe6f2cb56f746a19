"""Walks, each of which runs one history from beginning to end, with all checks."""

from __future__ import annotations

from ..._running.traces import Performed
from ..._words.commands import Misuse
from .allowed_surprises import Scope
from .history import Drawn, End, History, Option
from .history_execution import Machine

__tracebackhide__ = True


class Walk:
    """A run of one history; `history` holds the surprises that are known before the run.

    A subclass may override `chosen` to choose surprises during the run.
    """

    def __init__(
        self, scope: Scope, history: History, trace: list[Performed] | None = None
    ) -> None:
        self.scope = scope
        self.history = history
        self.planned = dict(history)
        self.last = history[-1][0] if history else -1
        self.trace = trace
        self.machine: Machine | None = None
        self.taken: list[tuple[int, Option]] = []  # the surprises so far

    def run(self) -> None:
        """Run the history; raise AssertionError if a check fails."""
        try:
            machine = self.machine = Machine(self.scope, self.trace)
            machine.watches = not self.history
            if self.steps(machine) and self.over(machine):
                self.finish(machine)
        except Misuse as wrong:
            wrong.add_note(f"in the history: {self.history or History(self.taken)}")
            raise

    def steps(self, machine: Machine) -> bool:
        """Take all steps; return false if another history has covered the remaining steps."""
        scope = self.scope
        if not self.history:
            self.check_always(machine)
        step = 0
        while True:
            going = machine.turn()
            if not going and not machine.on_the_way and not (scope.again and machine.changes):
                return True
            if step >= self.last and not self.arrive(machine, step):
                return False
            option = self.chosen(machine, step)
            if option is not None:
                self.taken.append((step, option))
            elif not going:
                return True
            self.act(machine, step, option)
            if step >= self.last:  # a shorter history has checked earlier steps
                self.check_always(machine)
            step += 1

    def check_always(self, machine: Machine) -> None:
        always = self.scope.setting.always
        check(always(machine.world), "always", always)

    def arrive(self, machine: Machine, step: int) -> bool:  # noqa: ARG002
        """Visit the state before a step; return false to end the walk.

        Called at the step of the last surprise, and at each step after it.
        """
        return True

    def chosen(self, machine: Machine, step: int) -> Option | None:  # noqa: ARG002
        return self.planned.get(step)

    def act(self, machine: Machine, step: int | None, option: Option | None) -> None:  # noqa: ARG002
        """Take one step; `step` is `None` in the additional run at the end."""
        machine.happen(option)

    def over(self, machine: Machine) -> bool:
        """Check how the programs ended; return false if `finish` would repeat another history."""
        for process in machine.processes:
            failure, place = process.root.failure, process.root.place
            if failure is not None and not self.scope.allows(failure):
                raise AssertionError(
                    f"{process.name} raised {failure!r}{place}, which was not injected"
                )
        return True

    def finish(self, machine: Machine) -> None:
        """Run the first program again without surprises, if `scope.again`; check the end."""
        scope, at_end = self.scope, self.scope.at_end
        if scope.again:
            machine.begin_again()
            while machine.turn():
                self.act(machine, None, None)
                self.check_always(machine)
            Walk.over(self, machine)
        ends = [End(one.root.value, one.root.failure, one.died) for one in machine.processes]
        check(at_end(machine.world, ends), "at_end", at_end)


def check(holds: object, name: str, checked: object) -> None:
    if holds is False:
        raise AssertionError(f"{name}={getattr(checked, '__name__', '...')} is false")


class DrawnWalk(Walk):
    """A walk along a history that hypothesis has drawn."""

    def __init__(self, scope: Scope, drawn: Drawn) -> None:
        super().__init__(scope, History())
        self.drawn: dict[int, int] = {}
        place = 0
        for apart, which in drawn:
            self.drawn[place + apart] = which
            place += apart + 1

    def chosen(self, machine: Machine, step: int) -> Option | None:
        options = machine.options() if step in self.drawn else ()
        return options[self.drawn[step] % len(options)] if options else None


class TextWalk(Walk):
    def __init__(self, scope: Scope, text: str) -> None:
        super().__init__(scope, History())
        self.text = "" if text == str(History()) else text

    def chosen(self, machine: Machine, step: int) -> Option | None:
        number, _, words = self.text.partition(" ")
        if number != str(step):
            return None
        options = [*machine.options()]
        if words.startswith("is done in part ("):
            part = words.removeprefix("is done in part (").partition(")")[0]
            kind: type = machine.current.command.__class__
            options += machine.scope.in_part(kind, int(part) if part.isdecimal() else 1)
        for option in sorted(options, key=lambda one: -len(str(one))):
            if words == str(option) or words.startswith(f"{option}; "):
                self.text = words[len(str(option)) :].removeprefix("; ")
                return option
        raise Misuse(
            f"only={self.text!r}: the surprises at step {step} are {'; '.join(map(str, options))}."
        )

    def steps(self, machine: Machine) -> bool:
        done = super().steps(machine)
        if self.text:
            raise Misuse(
                f"only={self.text!r}: the history ends before this; write it as it was printed, "
                "such as '0 fails with ServerError; 2 dies before it, starts anew'."
            )
        return done
