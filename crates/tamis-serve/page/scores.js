// Labels with score bars against their thresholds.

import { arrows, at, byId, el, number, percent, under } from "./dom.js";

/** What a bar shows: along a taxonomy the label's own step, because that is what its threshold is about. */
export function reading(entry, yours) {
  const own = entry.steps?.at(-1);
  const score = own ? own.score : entry.score;
  const threshold = own ? own.threshold : entry.threshold;
  const used = yours ?? threshold;
  let given = entry.decided;
  if (yours !== undefined) {
    const above = (entry.steps ?? []).slice(0, -1);
    given = score >= yours && above.every((step) => step.threshold !== null && step.score >= step.threshold);
  }
  const stopped = (entry.steps ?? []).slice(0, -1).find((step) => step.threshold === null || step.score < step.threshold);
  return { score, threshold, used, given, stopped: given ? undefined : stopped, probability: entry.probability };
}

/** The scale of all bars: from the lowest to the highest number shown, with some air. */
function scale(readings, unit) {
  if (unit) return (value) => 100 * value;
  const values = readings.flatMap((r) => [r.score, r.used]).filter((v) => v !== null && v !== undefined);
  let low = Math.min(0, ...values), high = Math.max(0, ...values);
  if (high === low) high = low + 1;
  const air = 0.06 * (high - low);
  if (low < 0) low -= air;
  high += air;
  return (value) => (100 * (value - low)) / (high - low);
}

export function drawScores(list, { ranked, shown, chosen, thresholds, names, choose }) {
  const entries = ranked.slice(0, shown);
  const readings = entries.map((entry) => reading(entry, thresholds.get(entry.label)));
  const place = scale(readings, entries.some((entry) => entry.steps));
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  list.replaceChildren(...entries.map((entry, i) => {
    const r = readings[i];
    const yours = thresholds.has(entry.label);
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, at(el("i"), "--at", place(r.score)));
    if (r.used !== null && r.used !== undefined) {
      bar.append(at(el("b", { class: yours ? "yours" : null }), "--mark-at", place(r.used)));
    }
    const called = (label) => names.get(label) ?? label;
    const path = entry.steps?.length > 1 ? entry.steps.slice(0, -1).map((s, k, all) => under(called(s.label), k ? called(all[k - 1].label) : "")).join(" › ") : "";
    const name = path ? under(called(entry.label), called(entry.steps.at(-2).label)) : called(entry.label);
    const value = r.probability === undefined ? number(r.score) : percent(r.probability);
    const against = r.used === null || r.used === undefined ? "" : ` ${r.score >= r.used ? "≥" : "<"} ${number(r.used)}`;
    const button = el("button", {
      type: "button", class: r.given ? "given" : r.stopped ? "stopped" : null, title: called(entry.label), "aria-pressed": String(entry.label === chosen), "data-label": entry.label,
      onclick: () => choose(entry.label),
    },
      el("span", { class: "name" },
        path && el("span", { class: "path" }, path),
        name,
        r.given && el("span", { class: yours ? "chip yours" : "chip" }, yours ? "given by you" : "given")),
      el("span", { class: "value" }, r.stopped ? `stopped at ${called(r.stopped.label)}` : r.probability === undefined ? `${value}${against}` : `${value} · ${number(r.score)}${against}`),
      bar);
    return el("li", {}, button);
  }));
  if (focused !== null) list.querySelector(`[data-label="${CSS.escape(focused)}"]`)?.focus();
}

arrows(byId("scores"), () => [...byId("scores").querySelectorAll("button")]);
