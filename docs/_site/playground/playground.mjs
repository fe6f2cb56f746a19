// Runs the library in the page: Pyodide, its wheel, and inside.py, all from beside this file.
const $ = (id) => document.getElementById(id);
const here = (name) => new URL(name, import.meta.url);
const fetched = async (name) => {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
  return answer;
};
let inside;

async function start() {
  $("start").disabled = true;
  $("state").textContent = "Loading Python ...";
  try {
    const { loadPyodide } = await import("./pyodide/pyodide.mjs");
    const python = await loadPyodide({ indexURL: here("pyodide/").href });
    for (const wheel of await (await fetched("wheels.json")).json()) {
      python.unpackArchive(await (await fetched(wheel)).arrayBuffer(), "wheel");
    }
    python.FS.writeFile("inside.py", await (await fetched("inside.py")).text());
    inside = python.pyimport("inside");
    const versions = "import sys, ixbackoff; f'Python {sys.version.split()[0]}, ixbackoff {ixbackoff.__version__}'";
    $("state").textContent = python.runPython(versions);
  } catch (error) {
    $("state").textContent = `Python cannot be loaded (${error.message}).`;
    $("start").disabled = false;
    return;
  }
  $("start").remove();
  examples();
  $("ladder").hidden = $("fleet").hidden = false;
  for (const id of ["program", "takes", "limit"]) $(id).addEventListener("input", ladder);
  for (const id of ["program", "clients", "length"]) $(id).addEventListener("change", fleet);
  for (const input of $("playground").querySelectorAll("input")) input.addEventListener("input", numbers);
  all();
}

function examples() {
  const given = { "the first one": $("program").value, ...JSON.parse(inside.examples()) };
  for (const name of Object.keys(given)) $("example").add(new Option(name, name));
  $("example").parentElement.hidden = false;
  $("example").addEventListener("change", () => {
    $("program").value = given[$("example").value] ?? $("program").value;
    all();
  });
}

function numbers() {
  for (const output of $("playground").querySelectorAll("output")) output.value = $(output.htmlFor.value).value;
}

function all() {
  numbers();
  ladder();
  fleet();
}

function ladder() {
  show("ladder", inside.planned($("program").value, +$("takes").value, +$("limit").value));
}

function fleet() {
  show("fleet", inside.fleet($("program").value, +$("clients").value, +$("length").value));
}

// A mistake is shown once, above the pictures; a program without a fleet still has a ladder.
function show(where, answer) {
  const { picture, text, wrong } = JSON.parse(answer);
  const [image, pre] = [$(where).querySelector("img"), $(where).querySelector("pre")];
  if (where === "ladder") $("wrong").textContent = wrong ?? "";
  image.parentElement.hidden = !picture;
  pre.textContent = text ?? (where === "fleet" && !$("wrong").textContent ? wrong : "");
  pre.hidden = !pre.textContent;
  image.src = picture ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture)}` : "";
  image.alt = picture ? new DOMParser().parseFromString(picture, "image/svg+xml").querySelector("title")?.textContent ?? "" : "";
}

$("start").addEventListener("click", start);
