"""SQLSTATE, the five characters by which PostgreSQL reports why a statement failed.

"PostgreSQL Error Codes", appendix A of its documentation, has the meanings. 08007 and 40003 leave
open whether the transaction was carried out.
"""

from __future__ import annotations

TRANSIENT_CLASSES = ("08", "53")
TRANSIENT = ("40000", "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57P05")
UNRESOLVED = ("08007", "40003")
LOST = ("57P01", "57P02")


def is_transient(sqlstate: str) -> bool:
    """Return whether a failure with this SQLSTATE may pass by itself."""
    if sqlstate in UNRESOLVED:
        return False
    return sqlstate in TRANSIENT or sqlstate[:2] in TRANSIENT_CLASSES


def is_lost(sqlstate: str) -> bool:
    """Return whether the connection was lost, so that a statement may have been carried out."""
    return sqlstate in LOST or sqlstate[:2] == "08"
