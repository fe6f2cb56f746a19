// Runs the library beside the page: Pyodide, its wheel, and inside.py, all from beside this file.
const here = (name) => new URL(name, import.meta.url);
const fetched = async (name) => {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
  return answer;
};

// Exceptions that end Python, such as KeyboardInterrupt, are not among those that inside.py explains.
function answered(inside, { where, words }) {
  try {
    return inside[where](...words);
  } catch (error) {
    return JSON.stringify({ wrong: error.message.trim().split("\n").at(-1) });
  }
}

try {
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const python = await loadPyodide({ indexURL: here("pyodide/").href });
  for (const wheel of await (await fetched("wheels.json")).json()) {
    python.unpackArchive(await (await fetched(wheel)).arrayBuffer(), "wheel");
  }
  python.FS.writeFile("inside.py", await (await fetched("inside.py")).text());
  const inside = python.pyimport("inside");
  const versions = "import sys, ixbackoff; f'Python {sys.version.split()[0]}, ixbackoff {ixbackoff.__version__}'";
  const ready = { versions: python.runPython(versions), examples: inside.examples() };
  self.onmessage = ({ data }) => postMessage({ ...data, answer: answered(inside, data) });
  postMessage(ready);
} catch (error) {
  postMessage({ failed: error.message });
}
