// Runs pytest in Pyodide: node run.mjs PYODIDE PACKAGES REPOSITORY ARGUMENT ...
const [pyodide, packages, repository, ...words] = process.argv.slice(2);
const { loadPyodide } = await import(`${pyodide}/pyodide.mjs`);
const python = await loadPyodide({ env: { HOME: "/home/pyodide", PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1" } });
for (const [place, root] of Object.entries({ "/repo": repository, "/packages": packages })) {
  python.FS.mkdirTree(place);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, place);
}
python.globals.set("words", python.toPy(words));
process.exit(
  python.runPython(`
import os, sys
sys.dont_write_bytecode = True
sys.path[:0] = ["/packages", "/repo"]
os.chdir("/repo")
from tests.support.wasm.system import install
install()
import pytest
int(pytest.main([
    "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "-p", "_ixbackoff_pytest",
    "-p", "tests.support.wasm.leaving_out", "-m", "not slow", "-W", "ignore:It looks like:Warning",
    "--quiet", *words]))
`),
);
