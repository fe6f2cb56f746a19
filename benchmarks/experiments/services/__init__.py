"""The services that only the experiments have."""
