"""Checks that hold for every index of the squirrel."""

from __future__ import annotations

from ixbackoff.squirrel.commands import Claim, Copy, Doom, Forget, IndexEntry, Look, Resource, Swap
from ixbackoff.squirrel.index import Index

NUTS = Resource("http://localhost/nuts")


def check_swaps(one: Index, other: Index) -> None:
    """Check that the first of two claims to swap wins, and that the replaced copy is doomed."""
    look = Look(NUTS, "den")
    first, second = one.claim(Claim(NUTS, "den")), other.claim(Claim(NUTS, "den"))
    beginning = one.look(look).beginning
    assert first.startswith(beginning)
    assert second.startswith(beginning)
    claims = tuple(sorted([first, second]))
    assert one.look(look) == other.look(look) == IndexEntry(None, claims, beginning)
    swaps = [Swap(NUTS, "den", None, Copy(key, None, 5)) for key in (first, second)]
    assert one.swap(swaps[0])
    assert one.swap(swaps[0]), "a lost answer may be asked for again"
    assert not other.swap(swaps[1]), "the other was faster"
    assert other.look(look) == IndexEntry(Copy(first, None, 5), (second,), beginning)
    assert other.swap(Swap(NUTS, "den", first, Copy(second, "v2", 2**40)))
    assert one.look(look) == IndexEntry(Copy(second, "v2", 2**40), (first,), beginning)
    assert not one.swap(Swap(NUTS, "den", second, Copy(first, "v1", 5))), "it is doomed"
    one.forget(Forget("den", first))
    third = one.claim(Claim(NUTS, "den"))
    assert other.doom(Doom("den", third))
    assert not other.doom(Doom("den", first)), "that one is forgotten"
    assert not one.swap(Swap(NUTS, "den", second, Copy(third, "v3", 5))), "it is doomed"
    one.forget(Forget("den", third))
    assert one.look(look) == IndexEntry(Copy(second, "v2", 2**40), (), beginning)
    elsewhere = one.look(Look(NUTS, "elsewhere"))
    assert elsewhere[:2] == (None, ())
    assert elsewhere.beginning != beginning
