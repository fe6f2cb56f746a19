"""Other libraries' failures: which may pass, and when the service wants the next try."""

from .._words.verdicts import Verdict, add, may_pass, retry_after, verdict

__all__ = ["Verdict", "add", "may_pass", "retry_after", "verdict"]
