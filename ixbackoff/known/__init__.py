"""Other libraries' failures: which are transient, and when the service wants the next try."""

from .._words.judging import Inner, Verdict, inner, is_transient, judge, register, retry_after

__all__ = ["Inner", "Verdict", "inner", "is_transient", "judge", "register", "retry_after"]
