"""The site, as it is built: no dead links, all public names, and pages that fit on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import unquote

import pytest

from ..support.browsers import CHROMIUM, Browser, browser, served

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


class Links(HTMLParser):
    """The anchors of a page, and where it leads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


@cache
def links(page: Path) -> Links:
    return Links(page)


def test_no_link_inside_is_dead(site: Path) -> None:
    dead = []
    for page in site.rglob("*.html"):
        for target in links(page).targets:
            file, _, anchor = target.partition("#")
            if re.match(r"(https?|mailto|data):", target):
                continue
            there = (page.parent / unquote(file.partition("?")[0])).resolve() if file else page
            there = there / "index.html" if there.is_dir() else there
            known = there.exists() and there.suffix == ".html" and links(there).anchors
            if not there.exists() or (anchor and known and unquote(anchor) not in known):
                dead.append(f"{page.relative_to(site)}: {target}")
    assert dead == []


MODULES = {
    "ixbackoff": (),
    "ixbackoff.clients": (),
    "ixbackoff.clients.marks": ("httpx", "requests", "aiohttp", "grpc"),
    "ixbackoff.durable": (),
    "ixbackoff.fleet": (),
    "ixbackoff.known": (),
    "ixbackoff.live": (),
    "ixbackoff.middleware": (),
    "ixbackoff.observing": (),
    "ixbackoff.plotting": (),
    "ixbackoff.schedules.polled_status": ("OperationFailed", "succeeded"),
    "ixbackoff.schedules.published": (
        "aws_polling",
        "thain",
        "fault_tolerant_shell",
        "NormalJitter",
        "post_blue",
        "post_green",
        "WholeSeconds",
    ),
    "ixbackoff.schedules": (),
    "ixbackoff.schedules.shortening_jitter": (
        "Shortening",
        "Jitter",
        "FullJitter",
        "EqualJitter",
        "DecorrelatedJitter",
        "Every",
        "RawNormalJitter",
    ),
    "ixbackoff.testing": (),
    "ixbackoff.testing.exploring": (),
    "ixbackoff.testing.web": (),
}
"""The public modules, with the public names of one that does not list them itself."""


def test_all_packages_with_public_names_are_in_the_reference() -> None:
    package = ROOT / "ixbackoff"
    public = {
        ".".join(path.relative_to(ROOT).parent.parts)
        for path in package.rglob("__init__.py")
        if "__all__" in path.read_text()
    }
    assert public <= MODULES.keys()


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_has_every_public_name_once(module: str, site: Path) -> None:
    listed = [
        name
        for page in (site / "reference").glob("*.html")
        for name in links(page).anchors
        if name.startswith("ixbackoff.")
    ]
    for name in MODULES[module] or import_module(module).__all__:
        numbered = module == "ixbackoff" and re.fullmatch(r"N\d+", name)
        places = {f"{module}.{name}", f"ixbackoff.{name}"}
        assert numbered or sum(place in places for place in listed) == 1, name


def test_signatures_are_readable(site: Path) -> None:
    for page in (site / "reference").glob("*.html"):
        for shown in re.findall(r'<dt class="sig.*?</dt>', page.read_text(), re.DOTALL):
            lines = re.sub(r"<[^>]+>", "", re.sub(r"</dd>|<dl>", "\n", shown)).split("\n")
            assert max(map(len, lines)) <= 140, lines
            assert not re.search(r"&lt;|_sealed|typing\.|ixbackoff\._|~", "".join(lines)), lines


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    with served(site) as at:
        yield at


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_on_a_phone(scheme: str, site: Path, url: str, opened: Browser) -> None:
    opened.errors.clear()
    pages = ["index", "coming-from-stamina", "reference/programs", "playground"]
    for page in pages:
        if (site / f"{page}.html").exists():
            opened.open(f"{url}/{page}.html", width=400, dark=scheme == "dark")
            assert opened.evaluate("document.documentElement.scrollWidth") <= 400, page
            assert opened.errors == []


@pytest.mark.parametrize(("system", "switched"), [("light", ""), ("dark", ""), ("light", "dark")])
def test_pictures_are_as_dark_as_their_page(
    system: str, switched: str, url: str, opened: Browser
) -> None:
    ground = (19, 20, 22) if "dark" in (system, switched) else (255, 255, 255)
    for page in ("schedules", "crash", "commands"):
        opened.open(f"{url}/{page}.html", dark=system == "dark")
        if switched:  # as the button of the page does
            opened.evaluate(f"document.body.dataset.theme = {switched!r}")
        for number in range(opened.evaluate(f"{PICTURES}.length")):
            place = opened.evaluate(f"{PICTURES}[{number}].getBoundingClientRect().toJSON()")
            inside, left = (place["left"] + 3, place["top"] + 3), place["left"] - 8
            assert opened.color(*inside) == ground, (page, number)
            assert opened.color(left, place["top"]) == ground, page


def test_a_search_for_the_word_of_others_finds_ours(url: str, opened: Browser) -> None:
    opened.open(f"{url}/search.html?q=timeout")
    end = monotonic() + 30
    while len(found := opened.evaluate(FOUND)) < 3 and monotonic() < end:
        sleep(0.1)
    assert {"howto/deadline.html", "functions.html"} <= {
        target.partition("#")[0] for target in found[:3]
    }


FOUND = (
    "[...document.querySelectorAll('#search-results li > a')].map(one => one.getAttribute('href'))"
)
PICTURES = "document.querySelectorAll('article img')"
