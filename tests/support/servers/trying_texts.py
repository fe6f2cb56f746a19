"""Texts of the header `ixbackoff-try`, well-formed and not."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

PIECES = (
    *("n=", "more=", "left=", "1", "2", "-1", "1e9", "999999", "9" * 400, ".", ",", " ", ";", "?1"),
    *("\x00", "é", "nan", "inf", "0", "left=0", "n=1", "n=0", "=", "\t", "٣", "_", "\n", "0.001"),
)
texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.lists(
        st.tuples(st.sampled_from(("n", "more", "left", "new")), st.sampled_from(PIECES)).map(
            "=".join
        ),
        max_size=5,
    ).map(", ".join),
)


def random_text(chance: Random) -> str:
    """Make a text of any pieces, or one that is nearly well-formed."""
    if chance.random() < 0.5:
        return "".join(chance.choice(PIECES) for _ in range(chance.randint(0, 9)))
    digits = ("1", "0", "7", "12.5", "999999.999", "0.001", *PIECES[:8])
    keys = chance.choices(("n", "more", "left", "new"), k=chance.randint(0, 4))
    return chance.choice((", ", ",", "\t,")).join(f"{key}={chance.choice(digits)}" for key in keys)
