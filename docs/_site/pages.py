"""Changes that the site makes to the pages; GitHub shows the pages as they are.

- The lists of pages on the home page are the table of contents.
- A list of public names in the reference becomes their signatures and docstrings. A class that is
  public in two modules is described under one name, to which the other name links.
- Two programs that do the same, marked by their libraries, are shown side by side.
"""

from __future__ import annotations

import re
from importlib import import_module
from inspect import isclass, isfunction
from typing import Any

from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"^- \[([^\]]*)\]\(([^)]*)\.md\)", re.MULTILINE)
NAME = re.compile(r"^- `(ixbackoff\.[\w.]+)`(?:: (.*))?$", re.MULTILINE)
ALIAS = re.compile(r"^- `(ixbackoff\.[\w.]+)`: see `(ixbackoff\.[\w.]+)`$", re.MULTILINE)
PAIR = re.compile(
    r"^```python (?!ixbackoff)(\w+)\n(.*?)^```\n\n```python ixbackoff\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SIDE_BY_SIDE = """\
``````{{grid}} 1 1 2 2
:gutter: 2
:padding: 0
`````{{grid-item}}
```{{code-block}} python
:caption: {0}

{1}```
`````
`````{{grid-item}}
```{{code-block}} python
:caption: ixbackoff

{2}```
`````
``````"""


def contents(home: str) -> str:
    """Return the table of contents: each list of pages is a part, below its heading."""
    return "\n\n".join(
        "\n".join(
            [
                "```{toctree}\n:hidden:",
                f":caption: {caption}\n",
                *(f"{title} <{page}>" for title, page in LINK.findall(text)),
                "```",
            ]
        )
        for caption, text in SECTION.findall(home)
        if LINK.search(text)
    )


def documented(listed: re.Match[str]) -> str:
    """Return the directive of a public name; the members to show follow a colon."""
    name, members = listed[1], ", ".join(re.findall(r"`(\w+)`", listed[2] or ""))
    module, _, attribute = name.rpartition(".")
    thing = getattr(import_module(module), attribute)
    if isfunction(thing):
        lines = [f".. autofunction:: {name}"]
    elif not isclass(thing) or thing.__name__ != attribute:
        lines = [f".. autodata:: {name}", "   :no-value:"]
    elif issubclass(thing, Exception):
        lines = [f".. autoexception:: {name}", "   :members:", "   :show-inheritance:"]
    else:
        lines = [f".. autoclass:: {name}", f"   :members: {members}"]
    return "\n".join(["```{eval-rst}", *lines, "```\n"])


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    text = PAIR.sub(lambda pair: SIDE_BY_SIDE.format(*pair.groups()), source[0])
    if page == "index":
        text += "\n" + contents(text)
    if page.startswith("reference/"):
        text = ALIAS.sub(r'<span id="\1"></span>`\1`: see {py:class}`\2`\n', text)
        text = NAME.sub(documented, text)
    source[0] = text


def repair_links_to_mistakes(app: Sphinx, page: Any) -> None:
    """Lead links to `mistakes.md` to its page: MyST follows the symlink into the package."""
    for link in page.findall(pending_xref):
        if link["reftarget"].endswith("ixbackoff/_door/mistakes"):
            link["reftarget"] = "mistakes"


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    app.connect("doctree-read", repair_links_to_mistakes)
