// Starts the page: models, tabs, addresses.

import { arrows, byId, el, problem } from "./dom.js";
import { get, onUnauthorised, setToken } from "./api.js";
import { address, note, read } from "./address.js";
import { Trying } from "./try.js";
import { drawLabel, drawLabels } from "./label.js";
import { drawModel } from "./model.js";
import { listenToTips } from "./tips.js";

const VIEWS = ["try", "labels", "model", "study"];
/** Milliseconds after which a new file of a model is noticed. */
const LOOK = 10000;
const trying = new Trying();
let models = [], labels = [], server = null, current = null;

const tab = (view) => byId(`tab-${view}`);
const tabs = () => VIEWS.map(tab).filter((t) => !t.hidden);
const named = () => (models.length > 1 ? current?.name : null);

function go(view, rest, parameters = {}) {
  const hash = address(view, rest, { model: named(), beside: trying.beside?.model.name, ...parameters });
  if (location.hash === hash) show();
  else location.hash = hash;
}

// Addresses begin with #/, so that none is the id of something on the page, where the browser would put the focus.
/** Shows what the address says; one that says nothing is the first view. */
function show() {
  if (location.hash && !location.hash.startsWith("#/")) return;
  const said = read();
  const one = said.view === "label" && said.rest;
  const view = one ? "labels" : VIEWS.includes(said.view) && !tab(said.view).hidden ? said.view : "try";
  for (const other of VIEWS) {
    const on = other === view;
    byId(`view-${other}`).hidden = !on;
    tab(other).setAttribute("aria-selected", String(on));
    tab(other).tabIndex = on ? 0 : -1;
  }
  if (!current) return;
  if (said.model && said.model !== current.name && models.some((m) => m.name === said.model)) {
    byId("model").value = said.model;
    use(said.model);
    return;
  }
  byId("labels-card").hidden = Boolean(one);
  byId("label-page").hidden = !one;
  if (one) drawLabel(current.name, said.rest, {
    back: () => go("labels"),
    tryWords: (words) => { go("try"); trying.set(words); byId("text").focus(); },
  });
  else if (view === "labels") drawLabels(labels, openLabel);
  else if (view === "model") drawModel(current.name, trying.names ?? new Map(), openLabel);
  else if (view === "study" && !byId("study").src) byId("study").src = "study/report.html";
}

const openLabel = (label) => go("label", label);

/** The labels of a model, and what it is. */
async function known(model) {
  return { model, names: new Map((await get("v1/labels", { model: model.name })).labels.map((l) => [l.label, l.name])), details: await get("v1/model", { model: model.name }) };
}

async function use(name) {
  const said = read();
  current = models.find((m) => m.name === name) ?? models[0];
  try {
    ({ labels } = await get("v1/labels", { model: current.name }));
    problem("labels-problem", null);
  } catch (error) {
    labels = [];
    problem("labels-problem", error);
  }
  document.title = models.length > 1 ? `tamis · ${current.name}` : "tamis";
  byId("try-title").textContent = `Try a text with the model ${current.name}`;
  offerBeside();
  await trying.use(current, labels, server);
  if (said.text !== null) { trying.set(said.text); note({ text: null }); }
  if (said.label && labels.some((l) => l.label === said.label)) trying.choose(said.label);
  if (models.length > 1 && location.hash.startsWith("#/")) note({ model: current.name, label: trying.chosen });
  show();
}

/** Another model beside the first. */
function offerBeside() {
  const others = models.filter((m) => m.name !== current.name);
  const select = byId("beside-model");
  byId("beside-pick").hidden = !others.length;
  select.replaceChildren(el("option", { value: "" }, "none"), ...others.map((m) => el("option", { value: m.name }, m.name)));
  const wanted = others.find((m) => m.name === (read().beside ?? trying.beside?.model.name));
  select.value = wanted?.name ?? "";
  setBeside(wanted);
}

async function setBeside(model) {
  try {
    trying.beside = model ? await known(model) : null;
  } catch (error) {
    trying.beside = null;
    problem("trouble", error);
  }
  byId("beside-card").hidden = true;
  if (trying.result) trying.ask();
}

/** Takes over a new file of the model that is looked at. */
async function look() {
  if (document.hidden || !current) return;
  let now;
  try {
    ({ models: now } = await get("v1/models"));
  } catch {
    return; // The next request of the reader says what is wrong.
  }
  const same = now.find((m) => m.name === current.name);
  if (!same || same.generation === current.generation) return;
  models = now;
  byId("swapped").hidden = false;
  byId("swapped").textContent = `The model ${current.name} was replaced by a new file; this is the new one.`;
  await use(current.name);
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
  pick.onchange = () => {
    if (location.hash.startsWith("#/label/")) history.replaceState(null, "", address("labels", "", { model: pick.value }));
    else if (location.hash.startsWith("#/")) note({ model: pick.value, label: null });
    use(pick.value);
  };
  byId("beside-model").onchange = (event) => {
    const name = event.target.value;
    note({ beside: name || null, model: named() });
    setBeside(models.find((m) => m.name === name));
  };
  const wanted = read().model;
  if (wanted && !models.some((m) => m.name === wanted)) problem("trouble", new Error(`There is no model ${wanted} here; this is ${models[0].name}.`));
  const first = models.find((m) => m.name === wanted) ?? models[0];
  pick.value = first.name;
  await use(first.name);
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

for (const view of VIEWS) tab(view).addEventListener("click", () => go(view));
arrows(byId("tabs"), tabs, { ArrowRight: 1, ArrowLeft: -1 });
byId("tabs").addEventListener("reached", (event) => event.target.click());
byId("filter").addEventListener("input", () => drawLabels(labels, openLabel));
window.addEventListener("hashchange", show);
window.addEventListener("focus", look);
setInterval(look, LOOK);
listenToTips();
show();
start();
