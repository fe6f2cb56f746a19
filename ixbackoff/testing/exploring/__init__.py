"""A search through the failures, deaths and interleavings of programs in a modelled world."""

from ..._words.wrong_arguments import explain_arguments
from .drawn_histories import histories
from .history import Broken, Drawn, End, Explored, History
from .model import Model
from .partial_effects import may_break
from .persistence import Persistent
from .searching import Progress
from .surprises import ONCE, Faults, Surprise, asks, dies, fails, late, lost, slow

__all__ = [
    "Model",
    "Broken",
    "Explored",
    "End",
    "History",
    "ONCE",
    "Surprise",
    "Faults",
    "fails",
    "lost",
    "late",
    "slow",
    "asks",
    "dies",
    "may_break",
    "Persistent",
    "Drawn",
    "histories",
    "Progress",
]

explain_arguments(globals(), ("Model", "fails", "lost", "late", "slow", "asks", "dies"))
_name = ""
for _name in __all__:  # or a traceback would say ixbackoff.testing.exploring.history.Broken
    if getattr(globals()[_name], "__module__", "").startswith(f"{__name__}."):
        globals()[_name].__module__ = __name__
del _name
