"""The methods of programs, by their way down the ladder."""

DOWN = ("backoff", "wait", "skip")
RETRIES = ("retry", "resume", "retry_with")
TO_N0 = (*RETRIES, "end")
STAYS = ("do", "then", "map", "or_else", "named", "at")
RUNS = ("run", "run_async")
