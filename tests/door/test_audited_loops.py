"""Which loops are layers for `audit`, how often they try, and what they give up with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff._door.audit.stack_report import product
from ixbackoff._door.audit.stacks import Follower, walked

HEAD = """
import functools, itertools, time
def work(): raise OSError
class Gone(Exception): pass
def twice():
    for attempt in range(2):
        try:
            return work()
        except OSError:
            if attempt == 1:
                raise
            time.sleep(1)
def thrice(function):
    for attempt in range(3):
        try:
            return function()
        except OSError:
            time.sleep(1)
"""
OUTER = """
def outer(limit=4):
    attempt, done = 0, False
    {head}:
        try:
            {body}
        except {caught}:
            {handler}
        {rest}
"""


def outer(
    head: str,
    caught: str = "Exception",
    handler: str = "time.sleep(1)",
    body: str = "return twice()",
    rest: str = "pass",
) -> str:
    return OUTER.format(head=head, body=body, caught=caught, handler=handler, rest=rest)


def filtered(*handler: str) -> str:
    """Return a loop of three tries whose handler looks at the exception."""
    body = "\n            ".join(handler)
    return outer("for attempt in range(3)", "Exception as error", body)


FOUND = {
    "a bare except": (outer("for attempt in range(3)", "").replace("except :", "except:"), "6"),
    "an end by a flag": (outer("while not done", body="twice(); done = True"), "n x 2"),
    "an end behind the try": (
        outer("for attempt in range(3)", handler="continue", body="twice()", rest="return"),
        "6",
    ),
    "no end": (outer("while True"), "∞ x 2"),
    "no end, and perhaps a reader": (
        outer("while True", body="if twice(): return"),
        "at most ∞ x 2",
    ),
    "no end and no wait, perhaps a prompt": (
        outer("while True", handler="attempt += 1"),
        "at most ∞ x 2",
    ),
    "a count that is set later": (
        "LIMIT = None\n" + outer("for attempt in range(LIMIT)"),
        "n x 2",
    ),
    "a clock": (
        outer("while True", rest="if time.monotonic() > limit: raise Gone"),
        "n x 2",
    ),
    "a clock in the head": (outer("while time.time() < limit"), "n x 2"),
    "a countdown": (
        outer("while limit > 0", handler="limit -= 1; time.sleep(1)"),
        "8",
    ),
    "a countdown to zero, inclusive": (
        outer("while limit >= 0", handler="limit -= 1; time.sleep(1)"),
        "10",
    ),
    "a countdown by a guard": (
        outer(
            "while True", handler="limit -= 1\n            if limit <= 0: raise", rest="retry = 1"
        ),
        "8",
    ),
    "a count": (
        outer("for attempt in itertools.count()", handler="if attempt >= 3: raise"),
        "8",
    ),
    "a head of more than the guard allows": (
        outer("for attempt in range(10)", handler="if attempt >= 3: raise"),
        "8",
    ),
    "a head that begins at one": (
        outer("for attempt in range(1, 10)", handler="if attempt == limit: raise"),
        "8",
    ),
    "a head of fewer than the guard allows": (
        outer("for attempt in range(3)", handler="if attempt > 3: raise"),
        "6",
    ),
    "a head, and a guard of one of two exceptions": (
        outer(
            "for attempt in range(10)",
            "KeyError",
            "if attempt >= 3: raise\n        except Exception: time.sleep(1)",
        ),
        "20",
    ),
    "a head, and a guard that only goes on": (
        outer("for attempt in range(10)", handler="if attempt == 0: continue"),
        "20",
    ),
    "a head, and a guard that may not leave": (
        outer("for attempt in range(10)", handler="if attempt >= 3 and work: raise"),
        "20",
    ),
    "a head that begins after the guard": (
        outer("for attempt in range(5, 10)", handler="if attempt == 3: raise"),
        "10",
    ),
    "a head, and a guard that some failures go around": (
        outer(
            "for attempt in range(10)",
            handler="if limit: continue\n            if attempt >= 3: raise",
        ),
        "20",
    ),
    "a head, and a result that is tried again": (
        outer(
            "for attempt in range(10)",
            handler="if attempt >= 3: raise\n            continue",
            body="found = twice()",
            rest="if found: return",
        ),
        "20",
    ),
    "a count before the try": (
        "def outer(limit=4):\n    count = 0\n    while True:\n"
        "        if count == limit: raise Gone\n        try: return twice()\n"
        "        except OSError: time.sleep(1)\n        finally: count = count + 1\n",
        "8",
    ),
    "a list of delays": (outer("for delay in (1, 2, 4)", handler="time.sleep(delay)"), "6"),
    "a predicate": (
        outer("for attempt in range(3)", "Exception as error", "if not limit(error): raise"),
        "at most 6",
    ),
    "a kind that goes on": (
        filtered("if isinstance(error, OSError): time.sleep(1)", "else: raise"),
        "6",
    ),
    "a kind that goes on, and a last try": (
        filtered("if isinstance(error, OSError) and attempt < 2: time.sleep(1)", "else: raise"),
        "6",
    ),
    "a kind that goes on at once": (
        filtered("if isinstance(error, OSError):", "    continue", "raise"),
        "6",
    ),
    "a kind that ends it": (
        filtered("if isinstance(error, KeyError): raise", "time.sleep(1)"),
        "6",
    ),
    "another round but for the last": (
        filtered("if attempt < 2:", "    time.sleep(1)", "    continue", "raise"),
        "6",
    ),
    "what the exception says": (filtered("if 'late' not in str(error): raise"), "at most 6"),
    "what a part of the exception says": (
        filtered("text = error.args", "if 'late' not in text: raise"),
        "at most 6",
    ),
    "two kinds": (
        filtered(
            "if isinstance(error, KeyError): raise", "if isinstance(error, OSError): continue"
        ),
        "at most 6",
    ),
    "a helper that may raise": (
        "def judge(error):\n    if error.args: raise Gone\n" + filtered("judge(error)"),
        "at most 6",
    ),
    "a helper that raises, and is not told": (
        "def judge():\n    if work: raise Gone\n" + filtered("judge()"),
        "6",
    ),
    "a helper that may raise, and a kind": (
        "def judge(error):\n    if error.args: raise Gone\n"
        + filtered("judge(error)", "if isinstance(error, KeyError): raise"),
        "at most 6",
    ),
    "a kind that ends the last try": (
        filtered("if isinstance(error, OSError) and attempt >= 2: raise", "time.sleep(1)"),
        "6",
    ),
    "a kind, or not the last try": (
        filtered("if isinstance(error, KeyError) or attempt < 2: continue", "raise"),
        "at most 6",
    ),
    "a kind that is not known": (
        filtered("if isinstance(error, kinds()): time.sleep(1)", "else: raise"),
        "at most 6",
    ),
    "no end, and a success behind the try": (
        outer("while True", handler="time.sleep(1); continue", body="twice()", rest="return"),
        "∞ x 2",
    ),
    "no end, and two parts of which one may go on": (
        outer(
            "while True",
            rest="try:\n            if twice(): break\n        except OSError: time.sleep(1)",
        ),
        "at most ∞ x 2",
    ),
    "an exception of the loop itself, behind it": (
        "def inner():\n    for attempt in range(2):\n        try:\n            return work()\n"
        "        except OSError: time.sleep(1)\n    raise Gone\n"
        + outer("for attempt in range(3)", "Gone", body="return inner()"),
        "6",
    ),
    "an exception of the loop itself, in its else": (
        "def inner():\n    for attempt in range(2):\n        try:\n            return work()\n"
        "        except OSError: time.sleep(1)\n    else:\n        raise Gone\n"
        + outer("for attempt in range(3)", "Gone", body="return inner()"),
        "6",
    ),
    "a class that derives from what is caught": (
        "class Nut(Gone): pass\ndef inner():\n    for attempt in range(2):\n        try:\n"
        "            return work()\n        except OSError: time.sleep(1)\n    raise Nut\n"
        + outer("for attempt in range(3)", "Gone", body="return inner()"),
        "6",
    ),
    "a property": (
        "class Nut:\n    @property\n    def twice(self): return twice\n    def get(self):\n"
        "        return thrice(self.twice)\n",
        "6",
    ),
    "a static method": (
        "class Nut:\n    @staticmethod\n    def go(function): return thrice(function)\n"
        "    def get(self): return self.go(twice)\n",
        "6",
    ),
    "a method of the class above": (
        "class Nut:\n    def get(self): return twice()\n"
        "class Acorn(Nut):\n    def get(self): return thrice(super().get)\n",
        "6",
    ),
    "an argument of the class": (
        "class Nut:\n    def __init__(self, limit): self.limit = limit\n    def get(self):\n"
        + outer("for attempt in range(self.limit)").replace("\n", "\n        ")
        + "\n        return outer()\ndef main(): Nut(5).get()",
        "10",
    ),
    "an argument of the class above": (
        "class Base:\n    def __init__(self, limit=2): self.limit = limit\n"
        "    def get(self):\n"
        + outer("for attempt in range(self.limit)").replace("\n", "\n        ")
        + "\n        return outer()\nclass Nut(Base):\n    def __init__(self, limit=5):\n"
        "        super().__init__(limit=limit)\ndef main(): Nut().get()",
        "10",
    ),
    "an argument of the class above, by its place": (
        "class Base:\n    def __init__(self, limit=2): self.limit = limit\n"
        "    def get(self):\n"
        + outer("for attempt in range(self.limit)").replace("\n", "\n        ")
        + "\n        return outer()\nclass Nut(Base):\n    def __init__(self, limit=5):\n"
        "        super().__init__(limit)\ndef main(): Nut().get()",
        "10",
    ),
    "an argument that the class above does not get": (
        "class Base:\n    def __init__(self, limit): self.limit = limit\nclass Nut(Base):\n"
        "    def __init__(self, limit):\n        self.most = limit\n"
        "        super().__init__(9)\n    def get(self):\n"
        + outer("for attempt in range(self.most)").replace("\n", "\n        ")
        + "\n        return outer()\ndef main(): Nut(5).get()",
        "10",
    ),
    "a partial": ("def main(): thrice(functools.partial(twice))", "6"),
    "a default in an or": (
        "def one(limit=None):\n    limit = limit or 3\n    for attempt in range(limit):\n"
        "        try: return twice()\n        except OSError: time.sleep(1)\n",
        "6",
    ),
    "a default in the head": (outer("for attempt in range(limit or 9)"), "8"),
    "a default of an argument that is None": (
        outer("for attempt in range(limit or 3)").replace("limit=4", "limit=None"),
        "6",
    ),
    "an exception that is raised again as another": (
        "def inner():\n    try: return twice()\n    except OSError as one: raise Gone from one\n"
        + outer("for attempt in range(3)", "Gone", body="return inner()"),
        "6",
    ),
    "an exception that may be raised again": (
        "def inner():\n    try: return twice()\n    except OSError:\n        if work: raise Gone\n"
        + outer("for attempt in range(3)", "Gone", body="return inner()"),
        "at most 6",
    ),
}
FOUND["an answer that is looked at, around what swallows its exception"] = (
    "def inner():\n    try: return twice()\n    except OSError: return None\n"
    "def outer():\n    for attempt in range(3):\n        if inner(): return\n"
    "        time.sleep(1)\n",
    "at most 6",
)
NOT_FOUND = {
    "itself again": (
        "def again(limit=4):\n    for attempt in range(limit):\n"
        "        try: return again(limit - 1)\n        except OSError: time.sleep(1)\n"
    ),
    "a reader": outer("while attempt < 3", handler="attempt += 1").replace("attempt", "line"),
    "what never gives up": (
        "def inner():\n    while True:\n        try: return work()\n"
        "        except OSError: time.sleep(1)\ndef main(): thrice(inner)"
    ),
    "another exception of the loop itself": (
        "def inner():\n    for attempt in range(2):\n        try:\n            return work()\n"
        "        except OSError: time.sleep(1)\n    raise Gone\n"
        + outer("for attempt in range(3)", "OSError", body="return inner()")
    ),
    "a kind that is not the one": filtered(
        "if isinstance(error, Gone): time.sleep(1)", "else: raise"
    ),
    "a kind that is not the one, at once": filtered(
        "if isinstance(error, Gone):", "    time.sleep(1)", "    continue", "raise"
    ),
    "a kind that ends it": filtered("if isinstance(error, OSError): raise", "time.sleep(1)"),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef inner():\n"
        "    for attempt in range(2):\n        try:\n            yield work()\n"
        "            return\n        except OSError:\n            if attempt == 1: raise\n"
        "            time.sleep(1)\ndef main():\n    for attempt in range(3):\n        try:\n"
        "            with inner(): return\n        except OSError: time.sleep(1)\n"
    ),
    "another handler": outer(
        "for attempt in range(3)",
        "OSError",
        "raise\n        except Exception:\n            time.sleep(1)",
    ),
    "an end after the first try": outer("for attempt in range(3)", body="twice()", rest="return"),
    "a flag of the call that is not set": (
        "def get(wet):\n    if not wet: return\n    twice()\n"
        "def main():\n    for attempt in range(3):\n        try: return get(False)\n"
        "        except OSError: time.sleep(1)\n"
    ),
    "a flag of the call": (
        "def get(dry):\n    if dry: return\n    twice()\n"
        "def main():\n    for attempt in range(3):\n        try: return get(True)\n"
        "        except OSError: time.sleep(1)\n"
    ),
    "a handler that leaves": outer("for attempt in range(3)", handler="break"),
    "a handler that leaves in each case": outer(
        "for attempt in range(3)", handler="if limit: raise\n            else: return"
    ),
    "only a part of the tries": outer("for attempt in range(3)", "KeyError"),
    "a finally of a try": "def main():\n    try: twice()\n    finally: twice()\n",
}


def walk(text: str, folder: Path) -> Follower:
    (folder / "program.py").write_text(HEAD + text)
    return walked([(folder / "program.py", folder)])


def test_a_helper_may_wait(tmp_path: Path) -> None:
    text = "def pause():\n    time.sleep(1)\n" + outer("for attempt in range(3)", handler="pause()")
    [found] = walk(text, tmp_path).all()
    assert found.layers[0].flags == ()


def products(text: str, folder: Path) -> list[str]:
    found = walk(text, folder).all()
    return [product(one).replace(" tries", "").partition(":")[0] for one in found]


@pytest.mark.parametrize("name", FOUND)
def test_a_loop_is_a_layer(name: str, tmp_path: Path) -> None:
    text, tries = FOUND[name]
    assert products(text, tmp_path) == [tries]


@pytest.mark.parametrize("name", NOT_FOUND)
def test_a_loop_is_no_layer(name: str, tmp_path: Path) -> None:
    assert products(NOT_FOUND[name], tmp_path) == []


@pytest.mark.parametrize(("tries", "flags"), [(2, ()), (3, ("no delay",))])
def test_a_loop_without_a_delay_says_so_from_three_tries_on(
    tries: int, flags: tuple[str, ...], tmp_path: Path
) -> None:
    found = walk(outer(f"for attempt in range({tries})", handler="pass"), tmp_path)
    [one, _] = found.all()[0].layers
    assert one.flags == flags


def test_a_loop_that_looks_at_answers_is_a_place_that_tries_again(tmp_path: Path) -> None:
    text = """
def outer():
    for attempt in range(3):
        if work():
            return
        time.sleep(1)
"""
    found = walk(text, tmp_path)
    found.all()
    assert [one.tries for one in found.layers.values() if one.name == "outer"] == [3]
