"""Settings of the documentation site; `make docs` builds it from the pages in this folder."""

import sys
from pathlib import Path

import ixbackoff

sys.path.insert(0, str(Path(__file__).with_name("_site")))

project = html_title = "ixbackoff"
release = ixbackoff.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "pages",
    "signatures",
    "playground",
]
exclude_patterns = ["proof"]
myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["_site/style"]
html_css_files = ["site.css"]
html_favicon = "_site/style/ladder.svg"
pygments_dark_style = "github-dark"
html_copy_source = html_show_copyright = html_use_index = html_domain_indices = False

default_role = "code"
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"On": "On", "Reason": "Reason", "Unserved": "Unserved"}
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!ixbackoff\b).*"),  # names of other packages
    ("py:(class|obj)", r"ixbackoff\.(.*\.)?[A-Z]\d?(_\w+)?"),  # variables of types
    ("py:class", r"ixbackoff\._.*"),  # what is private
    (
        "py:class",
        r".*\.(Sender|ByCommand|Host|Interceptor|Scripting|Unserved|Waited|(Async)?Transport)",
    ),  # what users are given and need not name
]
