"""The typed interface: attempts and programs."""
