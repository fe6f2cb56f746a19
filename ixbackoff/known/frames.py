"""Arguments of a library's functions, as the traceback of a failure holds them.

Not every failure says which request it belongs to: those of aiohttp and urllib3 do not. But the
function that was asked to send the request is in the traceback, and has it among its variables.
A traceback that has been cleared, or a function that has another name in another version, tells
nothing, and then the failure is judged as one of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any


def variables(
    failure: BaseException, functions: Collection[tuple[str, str]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the variables of some functions through which a failure came, the outermost first.

    >>> def send(method):
    ...     raise TimeoutError
    >>> try:
    ...     send("GET")
    ... except TimeoutError as failure:
    ...     [found["method"] for found in variables(failure, {(__name__, "send")})]
    ['GET']

    Args:
        failure: the exception.
        functions: module and name of each.
    """
    traceback = failure.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if (frame.f_globals.get("__name__", ""), frame.f_code.co_name) in functions:
            yield frame.f_locals
        traceback = traceback.tb_next
