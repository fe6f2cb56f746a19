"""The words that a program is written in: rungs, commands, and transient failures."""
