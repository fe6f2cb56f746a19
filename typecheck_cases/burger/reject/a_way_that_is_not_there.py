"""A way that the classes of the states do not tell of: back, past a state, to itself."""

from typing import Never, final

from burger import Edge, State


@final
class EmptyPlate(State[Never]): ...


@final
class BottomBunOn(State[EmptyPlate]): ...


@final
class PattyOn(State[BottomBunOn]): ...


@final
class CheeseOn(State["PattyOn | CheeseOn"]): ...


@final
class TopBunOn(State[PattyOn | CheeseOn]): ...


BottomBunOn.to(EmptyPlate)  # E: [arg-type]
EmptyPlate.to(EmptyPlate)  # E: [arg-type]
EmptyPlate.to(PattyOn)  # E: [arg-type]
EmptyPlate.to(TopBunOn)  # E: [arg-type]
CheeseOn.to(PattyOn)  # E: [arg-type]
TopBunOn.to(CheeseOn)  # E: [arg-type]
TopBunOn.to(EmptyPlate)  # E: [arg-type]
State.to(BottomBunOn)  # E: [arg-type]
EmptyPlate.to(int)  # E: [arg-type]
eat_empty_bun: Edge[BottomBunOn, EmptyPlate] = BottomBunOn.to(EmptyPlate)  # E: [arg-type]


def from_any(state: type[State[Never]], after_patty: type[State[PattyOn]]) -> None:
    state.to(BottomBunOn)  # E: [arg-type]
    after_patty.to(TopBunOn)  # E: [arg-type]


@final
class Eaten(State[BottomBunOn]): ...


BottomBunOn.to(Eaten)
Eaten.to(EmptyPlate)  # E: [arg-type]


class Again(BottomBunOn): ...  # E: [misc]


EmptyPlate()  # E: [call-arg]
Edge()  # E: [call-arg]
