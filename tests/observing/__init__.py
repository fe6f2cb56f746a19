"""Observers, names, reasons, and the log."""
