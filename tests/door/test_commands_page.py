"""The page about the commands is true: each line that it shows is run, and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ixbackoff.__main__ import main

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "commands.md").read_text()
[JOBS] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SHOWN = [
    one
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for one in re.split(r"^(?=\$ )", block, flags=re.MULTILINE)
    if one
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.partition("\n")[0])
def test_what_it_shows(shown: str, tmp_path: Path) -> None:
    command, _, printed = shown.removeprefix("$ ").partition("\n")
    tmp_path.joinpath("jobs.py").write_text(JOBS)
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", command.replace("ixbackoff", f"{sys.executable} -m ixbackoff")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.stdout == printed


def test_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("jobs_of_the_page.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    main(["plan", "jobs_of_the_page:limited", "--fits", "30", "--output-format", "svg"])
    assert capsys.readouterr().out == (DOCS / "pictures" / "plan.svg").read_text()
