"""The lines of the three kinds of clients of "The Ethernet Approach to Grid Computing"."""

from __future__ import annotations

INCHES = (10.0, 4.5)
STYLES = {
    "fixed": {"color": "#d55e00", "linestyle": ":", "marker": "s"},
    "aloha": {"color": "#806000", "linestyle": "--", "marker": "^"},
    "ethernet": {"color": "#0072b2", "linestyle": "-", "marker": "o"},
}
