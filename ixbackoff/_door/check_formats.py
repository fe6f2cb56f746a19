"""The formats of `check`: text for people; JSON, GitHub annotations and SARIF for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

from .diagnosing.explained_errors import Finding
from .diagnosing.ladder_drawing import drawing
from .mistake_pages import pages
from .reading.checker_output import Error

Piece = Finding | Error | str
SITE = "https://json.schemastore.org/sarif-2.1.0.json"
INDENT = "    "


def head(finding: Finding) -> str:
    """Write the place of an error and its severity, as mypy does."""
    error = finding.error
    column = f":{error.column}" if error.column else ""
    return f"{error.file}:{error.line}{column}: {finding.explanation.severity}:"


def for_people(
    explain: Callable[[Finding], Iterable[str]], pieces: Iterable[Piece]
) -> Iterator[str]:
    """Write each explanation by `explain`, and all other output as it is."""
    for piece in pieces:
        if isinstance(piece, Finding):
            yield from explain(piece)
        else:
            yield from (piece,) if isinstance(piece, str) else piece.lines


def explanation(finding: Finding) -> Iterator[str]:
    mistake = finding.explanation
    yield f"{head(finding)} {mistake.sentence}  [{mistake.code}]\n"
    source = finding.line.strip()
    if source:
        yield f"{INDENT}{source}\n"
        if finding.place:
            begin = len(finding.line) - len(finding.line.lstrip())
            before = finding.line[begin : finding.place.column - 1]
            yield INDENT + "".join(letter if letter == "\t" else " " for letter in before) + "^\n"
    if mistake.ladder:
        yield from (f"{INDENT}  {line}\n" for line in drawing(mistake.ladder))
    yield f"{INDENT}{mistake.fix}\n"


def in_one_line(finding: Finding) -> Iterator[str]:
    mistake = finding.explanation
    yield f"{head(finding)} {mistake.sentence} {mistake.fix}  [{mistake.code}]\n"


def as_json(pieces: Iterable[Piece]) -> Iterator[str]:
    """Write a line with a JSON object for each error."""
    for error, finding in errors(pieces):
        written: dict[str, object] = {
            "file": error.file,
            "line": error.line,
            "column": column(error, finding),
            "severity": severity(finding),
            "message": error.message,
            "code": error.code or None,
            "explanation": None,
        }
        if finding:
            mistake = finding.explanation
            written["explanation"] = {
                "code": mistake.code,
                "sentence": mistake.sentence,
                "fix": mistake.fix,
                "ladder": mistake.ladder and mistake.ladder._asdict(),
            }
        yield json.dumps(written) + "\n"


def github(pieces: Iterable[Piece]) -> Iterator[str]:
    """Write a workflow command for each error: GitHub shows it as an annotation."""
    for error, finding in errors(pieces):
        title = finding.explanation.code if finding else error.code
        fields = {
            "file": error.file,
            "line": str(error.line),
            "col": str(column(error, finding) or ""),
            "title": f"ixbackoff: {title}" if finding else title,
        }
        places = ",".join(f"{name}={field(text)}" for name, text in fields.items() if text)
        yield f"::{severity(finding)} {places}::{data(text_of(error, finding))}\n"


def data(text: str) -> str:
    """Escape the text of an annotation."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def field(text: str) -> str:
    """Escape a field of an annotation."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(pieces: Iterable[Piece]) -> Iterator[str]:
    """Write one SARIF document, for code scanning, with the page of each mistake."""
    rules: dict[str, dict[str, object]] = {}
    results: list[dict[str, object]] = []
    for error, finding in errors(pieces):
        name = f"ixbackoff/{finding.explanation.code}" if finding else error.code or "error"
        if name not in rules:
            rules[name] = rule(name, finding)
        region: dict[str, int] = {"startLine": error.line}
        if found := column(error, finding):
            region["startColumn"] = found
        place = {"artifactLocation": {"uri": uri(error.file)}, "region": region}
        results.append(
            {
                "ruleId": name,
                "level": severity(finding),
                "message": {"text": text_of(error, finding)},
                "locations": [{"physicalLocation": place}],
            }
        )
    driver = {"name": "ixbackoff", "rules": list(rules.values())}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    yield json.dumps({"$schema": SITE, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def rule(name: str, finding: Finding | None) -> dict[str, object]:
    if finding is None:
        return {"id": name}
    page = pages()[finding.explanation.code]
    return {
        "id": name,
        "shortDescription": {"text": page.title},
        "help": {"text": page.text, "markdown": page.text},
    }


def uri(file: str) -> str:
    """Write the name of a file as a URI: relative if it is below the current folder."""
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def errors(pieces: Iterable[Piece]) -> Iterator[tuple[Error, Finding | None]]:
    """Yield all errors; print other lines to standard error, so that no program parses them."""
    for piece in pieces:
        if isinstance(piece, str):
            print(piece, end="", file=sys.stderr)
        elif isinstance(piece, Finding):
            yield piece.error, piece
        else:
            yield piece, None


def text_of(error: Error, finding: Finding | None) -> str:
    if finding is None:
        return error.message
    return f"{finding.explanation.sentence} {finding.explanation.fix}"


def severity(finding: Finding | None) -> str:
    return finding.explanation.severity if finding else "error"


def column(error: Error, finding: Finding | None) -> int | None:
    """Return the column of an error if it is known and on the line of the error."""
    place = finding.place if finding else None
    if place and place.line == error.line:
        return place.column
    return error.column or None


FORMATS: dict[str, Callable[[Iterable[Piece]], Iterator[str]]] = {
    "full": partial(for_people, explanation),
    "concise": partial(for_people, in_one_line),
    "json": as_json,
    "github": github,
    "sarif": sarif,
}
