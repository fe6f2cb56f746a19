// The page of the playground. Python runs in a worker, which answers one question after another.
// Of the questions that arrive meanwhile only the newest of each kind is asked, and Stop ends the
// worker with whatever it runs, and starts another one.
const $ = (id) => document.getElementById(id);
const questions = {
  planned: () => [$("program").value, +$("takes").value, +$("limit").value],
  fleet: () => [$("program").value, +$("clients").value, +$("length").value],
};
const shownIn = { planned: $("ladder"), fleet: $("fleet") };
const PAUSE = 600; // milliseconds without a keystroke before a fleet is simulated
const LONG = 1000; // milliseconds after which the page says that Python runs
let worker, versions, running, pause;
const wanted = new Set();

function start() {
  $("start").disabled = true;
  say("Loading Python ...");
  worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => (data.failed ? failed : data.versions ? ready : received)(data);
  worker.onerror = (event) => failed({ failed: event.message ?? "its file is missing" });
}

function say(text) {
  $("state").textContent = text;
}

function failed({ failed }) {
  worker.terminate();
  worker = versions = undefined;
  say(`Python cannot be loaded (${failed}).`);
  $("start").disabled = $("start").hidden = false;
}

function ready(data) {
  const first = $("ladder").hidden;
  versions = data.versions;
  say(versions);
  $("start").hidden = true;
  $("stop").hidden = $("ladder").hidden = $("fleet").hidden = false;
  if (first) {
    examples(JSON.parse(data.examples));
    all();
  }
  next();
}

function examples(others) {
  const given = { "the first one": $("program").value, ...others };
  for (const name of Object.keys(given)) $("example").add(new Option(name, name));
  $("example").parentElement.hidden = false;
  $("example").addEventListener("change", () => {
    $("program").value = given[$("example").value] ?? $("program").value;
    all();
  });
  for (const id of ["takes", "limit"]) $(id).addEventListener("input", () => ask("planned"));
  for (const id of ["clients", "length"]) $(id).addEventListener("change", () => ask("fleet"));
  for (const input of $("playground").querySelectorAll("input")) input.addEventListener("input", numbers);
  $("program").addEventListener("input", () => {
    ask("planned");
    $("fleet").ariaBusy = true;
    clearTimeout(pause);
    pause = setTimeout(ask, PAUSE, "fleet");
  });
}

function numbers() {
  for (const output of $("playground").querySelectorAll("output")) output.value = $(output.htmlFor.value).value;
}

function all() {
  numbers();
  ask("planned");
  ask("fleet");
}

function ask(where) {
  wanted.add(where);
  shownIn[where].ariaBusy = true;
  next();
}

function next() {
  const where = ["planned", "fleet"].find((one) => wanted.has(one));
  if (running || !versions || !where) return;
  wanted.delete(where);
  const words = questions[where]();
  running = { program: words[0], long: setTimeout(say, LONG, "Running ...") };
  $("stop").disabled = false;
  worker.postMessage({ where, words });
}

function idle() {
  clearTimeout(running.long);
  running = undefined;
  $("stop").disabled = true;
}

// A mistake ends the pictures of what was there before it; only a newer text may have a fleet.
function received({ where, words, answer }) {
  idle();
  say(versions);
  const said = JSON.parse(answer);
  show(where, said);
  if (where === "planned" && said.wrong) {
    if (words[0] === $("program").value) forget("fleet");
    show("fleet", {});
  }
  next();
}

function forget(where) {
  wanted.delete(where);
  clearTimeout(pause);
}

// The text may have changed since the run began; then Stop is for the old one alone.
function stop() {
  const same = running.program === $("program").value;
  worker.terminate();
  versions = undefined;
  idle();
  if (same) {
    forget("planned");
    forget("fleet");
    show("planned", { wrong: "Stopped. Change the program, and it runs again." });
    show("fleet", {});
  }
  start();
}

// A mistake is shown once, above the pictures; a program without a fleet still has a ladder.
function show(where, { picture, text, wrong }) {
  if (where === "planned") {
    $("wrong").textContent = wrong ?? "";
  }
  const [image, pre] = [shownIn[where].querySelector("img"), shownIn[where].querySelector("pre")];
  image.parentElement.hidden = !picture;
  pre.textContent = text ?? (where === "fleet" && !$("wrong").textContent ? wrong ?? "" : "");
  pre.hidden = !pre.textContent;
  image.src = picture ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture)}` : "";
  image.alt = picture ? new DOMParser().parseFromString(picture, "image/svg+xml").querySelector("title")?.textContent ?? "" : "";
  shownIn[where].ariaBusy = wanted.has(where);
}

$("start").addEventListener("click", start);
$("stop").addEventListener("click", stop);
say("");
$("start").disabled = false;
