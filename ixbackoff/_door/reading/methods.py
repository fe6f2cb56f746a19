"""The methods of programs, grouped by the rung on which they end."""

DOWN = ("backoff", "wait", "skip")
RETRIES = ("retry", "resume", "retry_with")
TO_N0 = (*RETRIES, "end")
STAYS = ("do", "then", "map", "or_else", "named", "at")
RUNS = ("run", "run_async")
