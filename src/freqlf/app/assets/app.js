// Hands light fields over to the server, and shows what becomes of them. All tabs show what the server says.

const element = (id) => document.getElementById(id);
const make = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);
const here = location.pathname;  // ends with a slash
const BUSY_MS = 500, IDLE_MS = 2000;

async function ask(method, path, body) {
  const answer = await fetch(here + path, { method, body });
  if (answer.ok) return answer;
  const { message } = await answer.json().catch(() => ({ message: `the app answers ${answer.status}` }));
  throw new Error(message);
}

// Run something and say what went wrong, if anything.
async function attempt(act) {
  try {
    element("problem").hidden = true;
    await act();
  } catch (error) {
    element("problem").textContent = error instanceof TypeError ? "The app does not answer; is it still running?" : error.message;
    element("problem").hidden = false;
  }
  await refresh();
}

// --- handing over ---------------------------------------------------------------------------------------------------

// One light field: files with their names in it.
async function handOver(name, files) {
  const { id } = await (await ask("POST", "jobs", JSON.stringify({ name }))).json();
  try {
    let sent = 0;
    for (const { path, file } of files) {
      await ask("PUT", `jobs/${id}/upload/${path.split("/").map(encodeURIComponent).join("/")}`, file);
      sent += 1;
      if (sent % 20 === 0) await refresh();
    }
    await ask("POST", `jobs/${id}/recognise`);
  } catch (error) {
    await ask("DELETE", `jobs/${id}`).catch(() => {});
    throw error;
  }
}

// All files of a dropped folder.
async function readFolder(entry, path = "") {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [{ path: path + entry.name, file }];
  }
  const reader = entry.createReader(), found = [];
  for (;;) {  // in portions
    const part = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!part.length) return found;
    for (const inner of part) found.push(...await readFolder(inner, `${path}${entry.name}/`));
  }
}

// What is no part of a light field stays at home.
const wanted = ({ path }) => !path.split("/").some((part) => part.startsWith(".")) && !/Thumbs\.db$|\.ini$/.test(path);

element("drop").addEventListener("dragover", (event) => {
  event.preventDefault();
  element("drop").classList.add("over");
});
element("drop").addEventListener("dragleave", () => element("drop").classList.remove("over"));
element("drop").addEventListener("drop", (event) => {
  event.preventDefault();
  element("drop").classList.remove("over");
  const things = [...event.dataTransfer.items].filter((item) => item.kind === "file")
    .map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());  // now: later the items are gone
  attempt(async () => {
    for (const thing of things) {
      const files = thing instanceof File ? [{ path: thing.name, file: thing }] : await readFolder(thing);
      await handOver(thing.name, files.filter(wanted));
    }
  });
});
element("choose-files").addEventListener("click", () => element("files").click());
element("choose-folder").addEventListener("click", () => element("folder").click());
element("files").addEventListener("change", ({ target }) => attempt(async () => {
  const files = [...target.files];
  target.value = "";
  for (const file of files) await handOver(file.name, [{ path: file.name, file }]);
}));
element("folder").addEventListener("change", ({ target }) => attempt(async () => {
  const files = [...target.files].map((file) => ({ path: file.webkitRelativePath, file })).filter(wanted);
  target.value = "";
  if (files.length) await handOver(files[0].path.split("/")[0], files);
}));

// --- what becomes of them -------------------------------------------------------------------------------------------

const started = new Set();  // ids of what was started in this tab

function start(job) {
  started.add(job.id);
  return ask("POST", `jobs/${job.id}/start`, JSON.stringify(Object.fromEntries(new FormData(element("settings")))));
}

element("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    for (const job of [...jobs].reverse()) if (job.state === "ready") await start(job);
  });
});

const WORDS = { uploading: "arriving", queued: "waits for its turn" };

function describe(job) {
  const parts = [job.state === "running" ? job.stage || "starting" : WORDS[job.state] ?? job.state];
  if (job.format) parts.push(`format ${job.format}`);
  if (job.settings.model) parts.push(job.settings.model);
  return parts.join(", ");
}

function show(job) {
  const item = make("li", { className: job.state });
  item.dataset.id = job.id;
  item.append(make("b", { textContent: job.name }));
  const actions = item.appendChild(make("div", { className: "actions" }));
  const add = (name, act) => {
    const button = actions.appendChild(make("button", { type: "button", textContent: name }));
    button.addEventListener("click", () => attempt(() => act(job)));
  };
  const link = (name, file) => actions.append(make("a", { textContent: name, href: `jobs/${job.id}/result/${file}` }));
  if (job.state === "done") {
    link("look at it", "view.html");
    link("PFM", "disparity.pfm");
  }
  if (job.state === "ready") add("start", start);
  if (["done", "cancelled"].includes(job.state) || (job.state === "failed" && job.format)) add("start again", start);
  if (["queued", "running"].includes(job.state)) add("cancel", () => ask("POST", `jobs/${job.id}/cancel`));
  else add("remove", () => ask("DELETE", `jobs/${job.id}`));
  item.append(make("span", { className: "state", textContent: describe(job) }));
  if (job.state === "running") item.append(make("progress", { max: 1, value: job.share, ariaLabel: `${job.name}: ${job.stage}` }));
  if (job.message) item.append(make("p", { className: "message", textContent: job.message }));
  return item;
}

let jobs = [], shown = "", timer = null;

async function refresh() {
  clearTimeout(timer);
  try {
    const text = await (await ask("GET", "jobs")).text();
    if (text !== shown) {
      const ended = jobs.filter((job) => ["queued", "running"].includes(job.state)).map((job) => job.id);
      jobs = JSON.parse(text);
      shown = text;
      const focused = document.activeElement?.closest("li")?.dataset.id;
      element("jobs").replaceChildren(...jobs.map(show));
      if (focused) element("jobs").querySelector(`[data-id="${CSS.escape(focused)}"] button`)?.focus();
      element("empty").hidden = jobs.length > 0;
      element("start-all").hidden = jobs.filter((job) => job.state === "ready").length < 2;
      land(jobs.filter((job) => job.state === "done" && ended.includes(job.id)));
    }
  } catch {
    element("problem").textContent = "The app does not answer; is it still running?";
    element("problem").hidden = false;
  }
  timer = setTimeout(refresh, jobs.some((job) => ["queued", "running"].includes(job.state)) ? BUSY_MS : IDLE_MS);
}

// The one estimate that somebody waits for opens by itself, in the tab that waits.
function land(done) {
  const waiting = jobs.some((job) => ["uploading", "ready", "queued", "running"].includes(job.state));
  if (done.length === 1 && !waiting && !document.hidden && started.has(done[0].id)) {
    location.href = `jobs/${done[0].id}/result/view.html`;
  }
}

await refresh();
document.body.dataset.ready = "yes";
