"""A failure's traceback, which tells what was being done where the failure itself does not."""

from __future__ import annotations

from traceback import walk_tb


def through(failure: BaseException, module: str, *functions: str) -> bool:
    """Return whether a failure came through one of these functions of a module, or any of its.

    `module` is the name of a module or of a package with all that it holds. A failure that was
    never raised came through none.

    >>> import json
    >>> try:
    ...     json.loads("[")
    ... except ValueError as failure:
    ...     through(failure, "json.decoder", "raw_decode"), through(failure, "json", "dumps")
    (True, False)
    """
    for frame, _ in walk_tb(failure.__traceback__):
        name = str(frame.f_globals.get("__name__", ""))
        inside = f"{name}.".startswith(f"{module}.")
        if inside and (not functions or frame.f_code.co_name in functions):
            return True
    return False
