// The text with the words that decided, and the strongest of them as bars.

import { at, el, number } from "./dom.js";

/** So much of a long text is shown with marks. */
const SHOWN = 20000;

/** Places in code points become places in the string. */
function units(text, points) {
  const found = new Map();
  let unit = 0, point = 0;
  for (const wanted of points) {
    while (point < wanted && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    found.set(wanted, unit);
  }
  return found;
}

const level = (share) => Math.min(4, Math.max(1, Math.ceil(4 * share)));

export function drawReading(node, text, spans, name) {
  // Spans may overlap (n-grams): between two neighbouring borders the sum of all that cover the place counts.
  const borders = new Map();
  for (const { start, end, adds } of spans) {
    borders.set(start, (borders.get(start) ?? 0) + adds);
    borders.set(end, (borders.get(end) ?? 0) - adds);
  }
  const points = [...borders.keys()].sort((a, b) => a - b);
  const place = units(text, points);
  const pieces = [];
  let sum = 0, largest = 0;
  points.forEach((point, i) => {
    sum += borders.get(point);
    if (i + 1 === points.length) return;
    largest = Math.max(largest, Math.abs(sum));
    pieces.push({ from: place.get(point), to: place.get(points[i + 1]), adds: sum });
  });
  const out = document.createDocumentFragment();
  let done = 0;
  for (const { from, to, adds } of pieces) {
    if (from >= SHOWN) break;
    const share = Math.abs(adds) / largest;
    if (!(share > 0.03)) continue;
    if (from > done) out.append(text.slice(done, from));
    const side = adds > 0 ? "f" : "a";
    out.append(el("mark", { class: side + level(share), title: `${adds > 0 ? "+" : ""}${number(adds)} for ${name}` }, text.slice(from, to)));
    done = to;
  }
  if (text.length > done) out.append(text.slice(done, Math.max(done, SHOWN)));
  if (text.length > SHOWN) out.append(el("p", { class: "mute small" }, `The first ${SHOWN.toLocaleString("en")} characters are shown; all ${text.length.toLocaleString("en")} were read.`));
  node.replaceChildren(out);
}

/** Words on both sides of a line. `pairs` are [word, value, remark]. */
export function drawDiverging(node, pairs, oneSided = false) {
  const largest = Math.max(...pairs.map(([, value]) => Math.abs(value)), 1e-12);
  node.replaceChildren(...pairs.map(([word, value, remark]) =>
    el("div", { class: "row" },
      el("span", { class: "word" }, word, remark && el("span", { class: "mute small" }, ` ${remark}`)),
      el("span", { class: `axis ${value < 0 ? "minus" : "plus"}`, "aria-hidden": "true" }, at(el("i"), "--at", (100 * Math.abs(value)) / largest)),
      el("span", { class: "num" }, `${value > 0 && !oneSided ? "+" : ""}${number(value)}`))));
}
