// Starts the page: models, tabs, addresses.

import { arrows, byId, el, problem } from "./dom.js";
import { get, onUnauthorised, setToken } from "./api.js";
import { Trying } from "./try.js";
import { drawLabel, drawLabels, drawModel } from "./label.js";

const VIEWS = ["try", "labels", "model", "study"];
const trying = new Trying();
let models = [], labels = [], server = null, current = null;

const tab = (view) => byId(`tab-${view}`);
const tabs = () => VIEWS.map(tab).filter((t) => !t.hidden);

function go(address) {
  if (location.hash === address) show();
  else location.hash = address;
}

// Addresses begin with #/, so that none is the id of something on the page, where the browser would put the focus.
/** Shows what the address says: #/try, #/labels, #/label/NAME, #/model, #/study. */
function show() {
  if (location.hash && !location.hash.startsWith("#/")) return;
  const [head, ...rest] = location.hash.slice(2).split("/");
  const view = head === "label" ? "labels" : VIEWS.includes(head) && !tab(head).hidden ? head : "try";
  for (const other of VIEWS) {
    const on = other === view;
    byId(`view-${other}`).hidden = !on;
    tab(other).setAttribute("aria-selected", String(on));
    tab(other).tabIndex = on ? 0 : -1;
  }
  if (!current) return;
  const one = head === "label";
  byId("labels-card").hidden = one;
  byId("label-page").hidden = !one;
  if (one) drawLabel(current.name, decodeURIComponent(rest.join("/")), {
    back: () => go("#/labels"),
    tryWords: (words) => { go("#/try"); trying.set(words); byId("text").focus(); },
  });
  else if (view === "labels") drawLabels(labels, openLabel);
  else if (view === "model") drawModel(current.name);
  else if (view === "study" && !byId("study").src) byId("study").src = "study/report.html";
}

const openLabel = (label) => go(`#/label/${encodeURIComponent(label)}`);

async function use(name) {
  current = models.find((m) => m.name === name) ?? models[0];
  try {
    ({ labels } = await get("v1/labels", { model: current.name }));
    problem("labels-problem", null);
  } catch (error) {
    labels = [];
    problem("labels-problem", error);
  }
  document.title = models.length > 1 ? `tamis · ${current.name}` : "tamis";
  await trying.use(current, labels, server.body_limit);
  show();
}

async function start() {
  problem("trouble", null);
  try {
    server = await get("v1/server");
    ({ models } = await get("v1/models"));
  } catch (error) {
    if (error.status !== 401) problem("trouble", error);
    return;
  }
  byId("token").hidden = true;
  byId("version").textContent = `tamis ${server.version}`;
  tab("study").hidden = !server.study;
  const pick = byId("model");
  pick.replaceChildren(...models.map((m) => el("option", { value: m.name }, m.name)));
  byId("pick").hidden = false;
  pick.disabled = models.length < 2;
  pick.onchange = () => { if (location.hash.startsWith("#/label/")) location.hash = "#/labels"; use(pick.value); };
  await use(models[0].name);
}

onUnauthorised(() => {
  const form = byId("token");
  problem("token-problem", form.hidden ? null : new Error("This is not the token."));
  form.hidden = false;
  byId("view-try").hidden = true;
  byId("token-value").focus();
});
byId("token").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token-value").value.trim());
  start();
});

for (const view of VIEWS) tab(view).addEventListener("click", () => go(`#/${view}`));
arrows(byId("tabs"), tabs, { ArrowRight: 1, ArrowLeft: -1 });
byId("tabs").addEventListener("reached", (event) => event.target.click());
byId("filter").addEventListener("input", () => drawLabels(labels, openLabel));
window.addEventListener("hashchange", show);
show();
start();
