"""A run takes an interpreter; one that is awaited needs `run_async`."""

from ixbackoff import N3, AsyncInterpreter, Delay, Download, Interpreter, at

program = at(N3).retry(Download("http://localhost/a", "a"))


def run(awaited: AsyncInterpreter[Download | Delay], plain: Interpreter[Download | Delay]) -> None:
    program.run()  # E: [call-arg]
    program.run(None)  # E: [arg-type]
    program.run({})  # E: [arg-type]
    program.run(awaited)  # E: [arg-type]
    program.run(awaited | plain)  # E: [arg-type]
    program.run(plain | awaited)  # E: [arg-type]
    program.run(Download)  # E: [arg-type]
    program.run(lambda command: None)  # E: [arg-type]


async def run_async(plain: Interpreter[Download | Delay]) -> None:
    await program.run_async()  # E: [call-arg]
    await program.run_async({})  # E: [arg-type]
    await program.run(plain)  # E: [misc]
