"""The header `ixbackoff-try: n=2, more=2, left=1.25`, a dictionary of RFC 9651.

A client says with it which try a request is, how many more may follow, and for how many seconds
the client still waits. The header can only make a service do less, so a stranger may send it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

HEADER = "ixbackoff-try"
LONGEST = 128  # characters; a longer header is ignored
MOST = 999_999  # tries or seconds
MEMBER = re.compile(r"(?:n|more)=[0-9]{1,6}|left=[0-9]{1,6}(?:\.[0-9]{1,3})?", re.ASCII)
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
NAMES = HEADER, "x-envoy-attempt-count", "x-envoy-expected-rq-timeout-ms"


class Trying(NamedTuple):
    """A try of a caller: `number` is `None` unless the caller retries; `left` is in seconds."""

    number: int | None = None
    more: int | None = None
    left: float | None = None

    def __str__(self) -> str:
        """Return the text of the header, with the seconds rounded down."""
        counts = {} if self.number is None else {"n": self.number, "more": self.more}
        members = [f"{key}={min(n, MOST)}" for key, n in counts.items() if n is not None]
        if self.left is not None:
            left = min(max(self.left, 0.0), MOST + 0.999)
            near = int(left * 1000)  # the product may be rounded
            millis = max(ms for ms in (near - 1, near, near + 1) if ms / 1000 <= left)
            members.append(f"left={millis / 1000:.3f}".rstrip("0").rstrip("."))
        return ", ".join(members)

    def within(self, seconds: float) -> Trying:
        return self._replace(left=seconds if self.left is None else min(self.left, seconds))


def read(text: str) -> Trying:
    """Read the header; a text that is too long or malformed says nothing.

    >>> read("n=2, new=?1, left=1.25"), str(read("n=two"))
    (Trying(number=2, more=None, left=1.25), '')
    """
    found: dict[str, str] = {}
    for member in text.split(",") if len(text) <= LONGEST else ():
        key, _, value = member.strip(" \t").partition("=")
        if key in ("n", "more", "left"):
            if not MEMBER.fullmatch(f"{key}={value}"):
                return Trying()
            found[key] = value
    left = float(found["left"]) if "left" in found else None
    if "n" not in found:
        return Trying(left=left)
    number, more = int(found["n"]), int(found["more"]) if "more" in found else None
    return Trying(number, more, left) if number else Trying()


def said_by(headers: Iterable[tuple[str, object]], proxies: bool = False) -> Trying:
    """Return what the headers of a request say, those of Envoy included if `proxies`.

    Two headers of one name say nothing: one may be the client's, the other a proxy's.
    """
    texts: dict[str, str] = {}
    for name, value in headers:
        if name in NAMES:
            texts[name] = "two" if name in texts else str(value)
    said = read(texts.get(HEADER, ""))
    tried, millis = (texts.get(name, "") if proxies else "" for name in NAMES[1:])
    if said.number is None and NUMBER.fullmatch(tried) and int(tried) > 1:  # Istio always sends 1
        said = said._replace(number=int(tried))
    return said.within(int(millis) / 1000) if NUMBER.fullmatch(millis) else said
