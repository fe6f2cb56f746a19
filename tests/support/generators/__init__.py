"""Random programs, schedules and models: strategies of hypothesis, or drawn by a seed."""
