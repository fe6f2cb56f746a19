"""What would have saved the server of the crash: budgets, circuit breakers, fewer tries."""
