"""The typed face: attempts and programs."""
