"""The loops that answer a stream of commands, sync and async."""
