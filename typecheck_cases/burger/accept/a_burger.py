"""A burger: the order of its steps is in the types of its states."""

from dataclasses import dataclass
from typing import Never, assert_type, final

from burger import Chain, Edge, State

from ixbackoff import N3, Attempt, Command, Delay, Program, Z, at


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


assert_type(EmptyPlate.to(BottomBunOn), Edge[EmptyPlate, BottomBunOn])
bottom = EmptyPlate.to(BottomBunOn)(Add("bottom bun"))
patty = BottomBunOn.to(PattyOn)(Add("patty"))
cheese = PattyOn.to(CheeseOn)(Add("cheese"))
more = CheeseOn.to(CheeseOn)(Add("more cheese"))
top = CheeseOn.to(TopBunOn)(Add("top bun"))
assert_type(bottom, Chain[EmptyPlate, BottomBunOn, int, Add])

burger = bottom >> patty >> cheese >> more >> more >> top
assert_type(burger, Chain[EmptyPlate, TopBunOn, int, Add])
assert_type(bottom >> (patty >> (cheese >> top)), Chain[EmptyPlate, TopBunOn, int, Add])

plain = bottom >> patty >> PattyOn.to(TopBunOn)(Add("top bun"))
assert_type(plain, Chain[EmptyPlate, TopBunOn, int, Add])

chosen = (bottom >> patty).bind(lambda height: cheese if height > 1 else cheese >> more) >> top
tall = chosen.map(lambda height: height > 5)
assert_type(tall, Chain[EmptyPlate, TopBunOn, bool, Add])

for _ in range(10):
    cheese = cheese >> more

meal: Attempt[Add, int] = burger.done(EmptyPlate, TopBunOn)
order: Program[N3, Z, int, Add | Delay] = at(N3).retry(meal)
