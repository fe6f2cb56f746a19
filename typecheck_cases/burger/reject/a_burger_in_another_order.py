"""Steps in another order, a burger that is not done, and other states than there are."""

from dataclasses import dataclass
from typing import Never, final

from burger import Chain, Edge, State

from ixbackoff import N3, Command, at


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


@dataclass(frozen=True)
class Add(Command[int]):
    ingredient: str


bottom = EmptyPlate.to(BottomBunOn)(Add("bottom bun"))
patty = BottomBunOn.to(PattyOn)(Add("patty"))
cheese = PattyOn.to(CheeseOn)(Add("cheese"))
more = CheeseOn.to(CheeseOn)(Add("more cheese"))
top = CheeseOn.to(TopBunOn)(Add("top bun"))
plain = PattyOn.to(TopBunOn)(Add("top bun"))

bottom >> cheese  # E: [operator]
top >> bottom  # E: [operator]
bottom >> bottom  # E: [operator]
bottom >> patty >> top  # E: [operator]
bottom >> (cheese >> top)  # E: [operator]
bottom.bind(lambda height: cheese)  # E: [arg-type] [return-value]
(bottom >> patty).bind(lambda height: cheese if height else patty)  # E: [arg-type] [misc] [return-value]
(bottom >> patty).bind(lambda height: cheese if height else plain)  # E: [misc]
(bottom >> patty).bind(lambda height: top)  # E: [arg-type] [return-value]
bottom >> Add("patty")  # E: [operator]

(bottom >> patty).done(EmptyPlate, TopBunOn)  # E: [arg-type]
(cheese >> top).done(EmptyPlate, TopBunOn)  # E: [arg-type]
(bottom >> patty).done(State[Never], PattyOn)  # E: [arg-type]
at(N3).retry(bottom >> patty)  # E: [arg-type]
at(N3).do(top)  # E: [arg-type]

same: Chain[EmptyPlate, TopBunOn, int, Add] = top  # E: [assignment]
looser: Chain[State[Never], TopBunOn, int, Add] = top  # E: [assignment]
of_any: Edge[State[Never], TopBunOn] = CheeseOn.to(TopBunOn)  # E: [assignment]
number: Chain[CheeseOn, TopBunOn, str, Add] = top  # E: [assignment]
