"""The words that a program is written in: rungs, commands, and failures that may pass."""
