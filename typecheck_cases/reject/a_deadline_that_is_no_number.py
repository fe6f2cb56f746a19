"""`within` is a number of seconds and is given by its name."""

from ixbackoff import N3, Interpreter, Standard, at, unroll


async def run(interpreter: Interpreter[Standard]) -> None:
    program = at(N3).end()
    program.run(interpreter, within="10")  # E: [arg-type]
    program.run(interpreter, within=(1, 2))  # E: [arg-type]
    program.run(interpreter, 10)  # E: [arg-type] [call-arg]
    await program.run_async(interpreter, within="10")  # E: [arg-type]
    unroll(program, within="10")  # E: [arg-type]
