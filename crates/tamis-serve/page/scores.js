// Labels with score bars against their thresholds.

import { arrows, at, byId, el, number, percent, under } from "./dom.js";

/** What a bar shows: along a taxonomy the label's own step, because that is what its threshold is about; of a label that was
 * stopped on the way, the step that stopped it. `how` says whether thresholds decide and whether the text was understood. */
export function reading(entry, yours, how = { byThresholds: true, known: true }) {
  const steps = entry.steps ?? [];
  const own = steps.at(-1);
  const score = own && how.byThresholds ? own.score : entry.score;
  const threshold = !how.byThresholds ? null : own ? own.threshold : entry.threshold;
  const used = yours ?? threshold;
  const fails = (step) => step.threshold === null || step.score < step.threshold;
  let given = entry.decided;
  if (yours !== undefined) given = score >= yours && !steps.slice(0, -1).some(fails);
  if (!how.known) given = false;
  const stopped = how.byThresholds && !given ? steps.slice(0, -1).find(fails) : undefined;
  const probability = entry.probability ?? (own ? score : undefined);
  return { score, threshold, used, given, stopped, probability };
}

/** A probability in a word. */
export function certainty(p) {
  return p >= 0.9 ? "clear" : p >= 0.7 ? "likely" : p >= 0.4 ? "borderline" : p >= 0.1 ? "unlikely" : "no";
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

/** The numbers behind a bar, for who asks. */
function margin(r) {
  if (r.used === null || r.used === undefined) return `score ${number(r.score)}`;
  const over = r.score - r.used;
  return `score ${number(r.score)} ${over >= 0 ? "≥" : "<"} threshold ${number(r.used)} (${over >= 0 ? "+" : ""}${number(over)})`;
}

export function drawScores(list, { ranked, shown, chosen, thresholds, names, choose, how, colours }) {
  const entries = ranked.slice(0, shown);
  const readings = entries.map((entry) => reading(entry, thresholds.get(entry.label), how));
  const place = scale(readings, entries.some((entry) => entry.steps));
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  // Along a taxonomy labels above a given one are neither given nor refused.
  const onTheWay = new Set(entries.filter((_, i) => readings[i].given).flatMap((entry) => (entry.steps ?? []).slice(0, -1).map((step) => step.label)));
  list.replaceChildren(...entries.map((entry, i) => {
    const r = readings[i];
    const yours = thresholds.has(entry.label);
    const { stopped } = r;
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, at(el("i"), "--at", how.known ? place(stopped ? stopped.score : r.score) : 0));
    const mark = stopped ? stopped.threshold : r.used;
    if (mark !== null && mark !== undefined) bar.append(at(el("b", { class: yours ? "yours" : null }), "--mark-at", place(mark)));
    const called = (label) => names.get(label) ?? label;
    const above = entry.steps?.length > 1 ? entry.steps.slice(0, -1).map((s, k, all) => under(called(s.label), k ? called(all[k - 1].label) : "")) : [];
    // Of long paths the beginning and the end tell most.
    const path = above.length > 3 ? [above[0], "…", above.at(-1)].join(" › ") : above.join(" › ");
    const name = path ? under(called(entry.label), called(entry.steps.at(-2).label)) : called(entry.label);
    // A threshold may give what is less likely than not, where that makes fewer mistakes in all.
    const word = r.probability === undefined ? "" : r.given && r.probability < 0.4 ? "borderline" : certainty(r.probability);
    const value = !how.known ? "" : stopped ? "" : r.probability === undefined ? `${number(r.score)}${r.used === null || r.used === undefined ? "" : ` ${r.score >= r.used ? "≥" : "<"} ${number(r.used)}`}` : `${word} · ${percent(r.probability)}`;
    const button = el("button", {
      type: "button", class: r.given ? "given" : stopped ? "stopped" : null, "aria-pressed": String(entry.label === chosen), "data-label": entry.label, "data-tip": `${called(entry.label)}: ${margin(r)}`,
      onclick: () => choose(entry.label),
    },
      el("span", { class: "name" },
        path && el("span", { class: "path", title: above.join(" › ") }, path),
        colours?.has(entry.label) && el("span", { class: `dot l${colours.get(entry.label)}`, "aria-hidden": "true" }),
        name,
        called(entry.label) !== entry.label && !called(entry.label).includes(entry.label) && el("span", { class: "code" }, entry.label),
        r.given && el("span", { class: yours ? "chip yours" : "chip" }, yours ? "given by you" : "given"),
        !r.given && onTheWay.has(entry.label) && el("span", { class: "chip way" }, "on the way")),
      el("span", { class: "value" }, value),
      stopped && el("span", { class: "stop" }, `stopped at ${called(stopped.label)}: ${percent(stopped.score)}${stopped.threshold === null ? ", never accepted" : ` < ${percent(stopped.threshold)}`}`),
      bar);
    return el("li", {}, button);
  }));
  if (focused !== null) list.querySelector(`[data-label="${CSS.escape(focused)}"]`)?.focus();
}

arrows(byId("scores"), () => [...byId("scores").querySelectorAll("button")]);
