"""`stop` is an event of threading; what is awaited is cancelled instead."""

import asyncio

from ixbackoff import N3, Interpreter, Standard, at, backoff


async def run(interpreter: Interpreter[Standard]) -> None:
    program = at(N3).end()
    program.run(interpreter, stop=True)  # E: [arg-type]
    program.run(interpreter, stop=asyncio.Event())  # E: [arg-type]
    await program.run_async(interpreter, stop=None)  # E: [call-arg]
    backoff(N3, stop=lambda: True)  # E: [arg-type]
