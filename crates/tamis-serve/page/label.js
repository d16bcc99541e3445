// The list of labels, a label's page, and the threshold with its curve.

import { byId, el, grouped, number, percent, svg } from "./dom.js";
import { get } from "./api.js";
import { drawDiverging } from "./words.js";

const WIDTH = 340, HEIGHT = 150, LEFT = 40, RIGHT = 12, TOP = 10, BOTTOM = 24;

function chart(points, own) {
  const [low, high] = [points[0].threshold, points.at(-1).threshold];
  const x = (t) => LEFT + ((WIDTH - LEFT - RIGHT) * (t - low)) / (high - low || 1);
  const y = (v) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v);
  const path = (key) => points.map((p, i) => `${i ? "L" : "M"}${x(p.threshold).toFixed(1)} ${y(p[key]).toFixed(1)}`).join("");
  const picture = svg("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Precision and recall against the threshold" });
  for (const v of [0, 0.5, 1]) {
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) }),
      svg("text", { x: LEFT - 5, y: y(v) + 3.5, "text-anchor": "end" }, percent(v).replace(" ", "")));
  }
  picture.append(
    svg("text", { x: LEFT, y: HEIGHT - 8 }, number(low)),
    svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, number(high)),
    svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "threshold"));
  if (own !== null && own !== undefined && own >= low && own <= high) {
    picture.append(svg("line", { class: "own", x1: x(own), x2: x(own), y1: TOP, y2: HEIGHT - BOTTOM }));
  }
  picture.append(svg("path", { class: "p", d: path("precision") }), svg("path", { class: "r", d: path("recall") }));
  const now = svg("line", { class: "now", y1: TOP - 4, y2: HEIGHT - BOTTOM + 4 });
  picture.append(now);
  return { picture, move: (t) => { now.setAttribute("x1", x(t)); now.setAttribute("x2", x(t)); } };
}

export const fact = (value, name) => el("div", { class: "fact" }, el("b", {}, value), el("span", {}, name));

/** A slider over the stored curve. `changed` is told the threshold, or undefined for the model's own. */
export function drawThreshold(node, label, yours, changed, decides = true) {
  const points = [...label.curve].reverse();
  if (points.length < 2) {
    node.replaceChildren(el("p", { class: "mute small" },
      label.curve.length ? "Too few held-out documents carry this label to draw a curve." : "No validation curve is stored for this label: it was not cross-validated, or too few documents carry it."));
    return;
  }
  const own = label.threshold;
  const nearest = (t) => points.reduce((best, p, i) => (Math.abs(p.threshold - t) < Math.abs(points[best].threshold - t) ? i : best), 0);
  const { picture, move } = chart(points, own);
  const facts = el("div", { class: "facts" });
  const words = el("p", { class: "mute small" });
  const slider = el("input", { type: "range", min: 0, max: points.length - 1, step: 1, "aria-label": `Threshold of ${label.name}` });
  slider.id = "threshold-slider";
  const show = (i, given) => {
    const p = points[i];
    const t = given ?? p.threshold;
    move(t);
    facts.replaceChildren(fact(number(t), "threshold"), fact(percent(p.precision), "precision"), fact(percent(p.recall), "recall"), fact(percent(p.f1), "F1"));
    words.textContent = `Of 100 texts that get this label ${Math.round(100 * p.precision)} should; of 100 that should get it ${Math.round(100 * p.recall)} do.`;
    slider.setAttribute("aria-valuetext", `threshold ${number(t)}, precision ${percent(p.precision)}, recall ${percent(p.recall)}`);
  };
  const start = yours ?? own ?? label.quality?.threshold ?? points[0].threshold;
  slider.value = String(nearest(start));
  show(nearest(start), start);
  slider.addEventListener("input", () => {
    const i = Number(slider.value);
    show(i);
    changed(points[i].threshold);
  });
  node.replaceChildren(
    el("p", { class: "small key" }, el("span", { class: "key-p" }, "Precision"), el("span", { class: "key-r" }, "Recall"), el("span", { class: "mute" }, `${grouped(label.positives)} held-out documents with this label`)),
    picture, slider, facts, words,
    ...(own === null || !decides ? [el("p", { class: "mute small" }, "This model does not decide by thresholds; the curve shows what one would do.")] : []));
}

let order = { key: "label", down: false };

export function drawLabels(labels, open) {
  const filter = byId("filter").value.trim().toLowerCase();
  const value = { label: (l) => l.name.toLowerCase(), documents: (l) => l.documents, f1: (l) => l.quality?.f1 ?? -1 }[order.key];
  const rows = labels
    .filter((l) => l.name.toLowerCase().includes(filter) || l.label.toLowerCase().includes(filter))
    .sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (order.down ? -1 : 1));
  byId("labels-count").textContent = rows.length === labels.length ? `${grouped(labels.length)} labels` : `${grouped(rows.length)} of ${grouped(labels.length)} labels`;
  const heading = (key, name, n) => el("th", { class: n ? "n" : null, scope: "col", "aria-sort": order.key === key ? (order.down ? "descending" : "ascending") : "none" },
    el("button", { type: "button", onclick: () => { order = { key, down: order.key === key ? !order.down : key !== "label" }; drawLabels(labels, open); } }, name, order.key === key ? (order.down ? " ↓" : " ↑") : ""));
  const shown = rows.slice(0, 1000);
  byId("labels").replaceChildren(
    el("thead", {}, el("tr", {}, heading("label", "Label"), heading("documents", "Documents", true), el("th", { class: "n opt", scope: "col" }, "Precision"), el("th", { class: "n opt", scope: "col" }, "Recall"), heading("f1", "F1", true))),
    el("tbody", {}, shown.map((l) => el("tr", {},
      el("td", {}, el("button", { type: "button", class: "link", onclick: () => open(l.label) }, l.name), l.name !== l.label && el("span", { class: "mute small" }, ` ${l.label}`)),
      el("td", { class: "n" }, grouped(l.documents)),
      el("td", { class: "n opt" }, l.quality ? percent(l.quality.precision) : "–"),
      el("td", { class: "n opt" }, l.quality ? percent(l.quality.recall) : "–"),
      el("td", { class: "n" }, l.quality ? percent(l.quality.f1) : "–")))));
  if (rows.length > shown.length) byId("labels").append(el("caption", { class: "mute small" }, "The first 1,000 are shown; type to find others."));
}

/** A label's page. */
export async function drawLabel(model, name, { back, tryWords }) {
  const node = byId("label-page");
  node.classList.add("busy");
  let label;
  try {
    label = await get("v1/label", { model, label: name, top: 25 });
  } catch (error) {
    node.replaceChildren(el("div", { class: "card" }, el("p", { class: "problem", role: "alert" }, error.message), el("button", { type: "button", class: "quiet", onclick: back }, "All labels")));
    node.classList.remove("busy");
    return;
  }
  const title = el("h1", { tabindex: "-1" }, label.name);
  const threshold = el("div", { class: "narrow" });
  const forIt = el("div", { class: "diverging" }), against = el("div", { class: "diverging" });
  drawDiverging(forIt, label.for.map((w) => [w.word, w.weight]), true);
  drawDiverging(against, label.against.map((w) => [w.word, w.weight]), true);
  const quality = label.quality;
  node.replaceChildren(
    el("p", { class: "crumbs" }, el("button", { type: "button", class: "link", onclick: back }, "All labels"), label.path?.length > 1 && el("span", { class: "mute" }, ` / ${label.path.slice(0, -1).join(" / ")}`)),
    el("div", { class: "card" }, title, label.name !== label.label && el("p", { class: "mute small" }, label.label),
      el("div", { class: "facts" }, fact(grouped(label.documents), "training documents"), quality && fact(percent(quality.precision), "precision"), quality && fact(percent(quality.recall), "recall"), quality && fact(percent(quality.f1), "F1"), label.threshold !== null && fact(number(label.threshold), "threshold")),
      quality && el("p", { class: "mute small" }, "Measured on training documents that were held out in cross-validation", label.threshold === null ? ", at the best threshold." : ", at the model’s threshold.")),
    el("div", { class: "card" }, el("div", { class: "head" }, el("h2", {}, "Its words"), label.for.length > 0 && el("button", { type: "button", class: "quiet", onclick: () => tryWords(label.for.slice(0, 8).map((w) => w.word).join(" ")) }, "Try these words")),
      label.for.length + label.against.length ? el("div", { class: "two" }, el("div", {}, el("h3", {}, "Speak for it"), forIt), el("div", {}, el("h3", {}, "Speak against it"), against)) : el("p", { class: "mute" }, "A model of neighbours has no words of its own: try a text to see which of its words count.")),
    el("div", { class: "card" }, el("div", { class: "head" }, el("h2", {}, "What a threshold does")), threshold));
  drawThreshold(threshold, label, undefined, () => {});
  node.classList.remove("busy");
  title.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}
