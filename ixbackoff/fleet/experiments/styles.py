"""The colors of the three kinds of clients of "The Ethernet Approach to Grid Computing"."""

from __future__ import annotations

INCHES = (10.0, 4.5)
STYLES = {
    "fixed": {"color": "tab:red", "linestyle": ":", "marker": "s"},
    "aloha": {"color": "tab:orange", "linestyle": "--", "marker": "^"},
    "ethernet": {"color": "tab:blue", "linestyle": "-", "marker": "o"},
}
