"""The tests are laid out to be read: short modules, short functions, and what is shared aside."""

from __future__ import annotations

from pathlib import Path

from ..support.syntax import imports, lengths

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
MODULES = sorted(TESTS.rglob("*.py"))
LONGEST_MODULE = 500
LONGEST_FUNCTION = 60


def name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_no_module_is_too_long_to_have_one_idea() -> None:
    lines = {name(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {module: n for module, n in lines.items() if n > LONGEST_MODULE} == {}


def test_no_function_is_too_long_to_be_read_at_once() -> None:
    assert {one: n for one, n in lengths(TESTS).items() if n > LONGEST_FUNCTION} == {}


def test_no_test_module_imports_another() -> None:
    """Names that two of them need belong into `tests/support`."""
    modules = {name(path) for path in MODULES if path.name.startswith("test_")}
    imported = {
        f"{name(path)} imports {target}"
        for path in MODULES
        for target in imports(path, ROOT)
        if modules & {target, target.rpartition(".")[0]}
    }
    assert imported == set()


def test_an_import_of_a_test_module_is_seen_however_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "waits"
    folder.mkdir(parents=True)
    file = folder / "test_a.py"
    file.write_text(
        "import tests.waits.test_b\n"
        "from tests.waits import test_c\n"
        "def later():\n"
        "    from . import test_d\n"
        "    from .test_e import helper\n"
        "    from ..live.test_f import helper as other\n"
    )
    assert list(imports(file, tmp_path)) == [
        "tests.waits.test_b",
        "tests.waits.test_c",
        "tests.waits.test_d",
        "tests.waits.test_e.helper",
        "tests.live.test_f.helper",
    ]
