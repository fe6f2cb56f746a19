"""Other libraries' failures: which are transient, and when the service wants the next try."""

from .._words.verdicts import Verdict, is_transient, judge, register, retry_after

__all__ = ["Verdict", "is_transient", "judge", "register", "retry_after"]
