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

/** A text in which stretches of code points are blank; places stay where they are. */
export function without(text, ranges) {
  if (!ranges.length) return text;
  const points = [...text];
  for (const { start, end } of ranges) points.fill(" ", start, end);
  return points.join("");
}

const level = (share) => Math.min(4, Math.max(1, Math.ceil(4 * share)));

/** The word of each span, by what one occurrence of it adds. */
export function wordOf(words) {
  const by = new Map();
  for (const word of words) {
    const each = word.adds / Math.max(word.count, 1);
    by.set(each, [...(by.get(each) ?? []), word]);
  }
  return (adds, text) => {
    const found = by.get(adds) ?? [];
    return found.find((w) => w.word.toLowerCase() === text.toLowerCase()) ?? found[0];
  };
}

/** Stretches between the borders of spans that may overlap (n-grams): `sum` adds up whatever covers them. */
function stretches(text, spans, struck, weigh) {
  const borders = new Set();
  for (const { start, end } of [...spans, ...struck]) borders.add(start).add(end);
  const points = [...borders].sort((a, b) => a - b);
  const place = units(text, points);
  const begin = new Map();
  for (const span of spans) begin.set(span.start, [...(begin.get(span.start) ?? []), span]);
  const pieces = [];
  let open = [];
  points.forEach((point, i) => {
    open = open.filter((span) => span.end > point).concat(begin.get(point) ?? []);
    if (i + 1 === points.length) return;
    const gone = struck.some((range) => range.start <= point && point < range.end);
    if (!open.length && !gone) return;
    const next = points[i + 1];
    pieces.push({ from: place.get(point), to: place.get(next), start: point, end: next, spans: open, struck: gone, weight: open.reduce((sum, span) => sum + weigh(span), 0) });
  });
  return pieces;
}

function fillText(node, text, pieces, draw) {
  const out = document.createDocumentFragment();
  let done = 0;
  for (const piece of pieces) {
    if (piece.from >= SHOWN) break;
    const mark = draw(piece, text.slice(piece.from, piece.to));
    if (!mark) continue;
    if (piece.from > done) out.append(text.slice(done, piece.from));
    out.append(mark);
    done = piece.to;
  }
  if (text.length > done) out.append(text.slice(done, Math.max(done, SHOWN)));
  if (text.length > SHOWN) out.append(el("p", { class: "mute small" }, `The first ${SHOWN.toLocaleString("en")} characters are shown; all ${text.length.toLocaleString("en")} were read.`));
  node.replaceChildren(out);
}

/** Marks words by all that they add to the score, so that one which stands often is as strong as it is. `strike` is told the
 * place of a word that was clicked. */
export function drawReading(node, text, { spans, words }, name, struck, strike) {
  const word = wordOf(words);
  const total = (span) => {
    const found = word(span.adds, "");
    return found ? found.adds : span.adds;
  };
  const pieces = stretches(text, spans, struck, total);
  const largest = Math.max(...pieces.map((piece) => Math.abs(piece.weight)), 1e-12);
  fillText(node, text, pieces, (piece, part) => {
    const back = { type: "button", "data-word": "", onclick: () => strike(piece) };
    if (piece.struck) return el("button", { ...back, class: "struck", "data-tip": "Left out. Click to put it back." }, part);
    const share = Math.abs(piece.weight) / largest;
    if (!(share > 0.03)) return null;
    const adds = piece.spans.reduce((sum, span) => sum + span.adds, 0);
    const longest = piece.spans.map((span) => word(span.adds, part)?.word ?? "");
    return el("mark", {
      class: (piece.weight > 0 ? "f" : "a") + level(share), "data-words": longest.join("\n"),
      "data-tip": `${adds > 0 ? "+" : ""}${number(adds)} for ${name}. Click to leave it out.`, onclick: () => strike(piece),
    }, part);
  });
}

/** Marks the words of several labels at once, each in the colour of the label that it speaks for most. */
export function drawOverlaid(node, text, reasons, colours, names) {
  const spans = reasons.flatMap((reason) => {
    const word = wordOf(reason.words);
    return reason.spans.filter((span) => span.adds > 0).map((span) => ({ ...span, label: reason.label, total: word(span.adds, "")?.adds ?? span.adds }));
  });
  const largest = new Map();
  for (const span of spans) largest.set(span.label, Math.max(largest.get(span.label) ?? 1e-12, span.total));
  fillText(node, text, stretches(text, spans, [], (span) => span.total), (piece, part) => {
    const shares = new Map();
    for (const span of piece.spans) shares.set(span.label, (shares.get(span.label) ?? 0) + span.total / largest.get(span.label));
    const [label, share] = [...shares].sort((a, b) => b[1] - a[1])[0] ?? [];
    if (!(share > 0.15)) return null;
    const says = [...shares].sort((a, b) => b[1] - a[1]).map(([l]) => names.get(l) ?? l).join(", then ");
    return el("mark", { class: `l${colours.get(label)}`, "data-tip": `Speaks for ${says}` }, part);
  });
}

/** Words on both sides of a line. `pairs` are [word, value, remark]. `pick` is told a word that was clicked. */
export function drawDiverging(node, pairs, oneSided = false, pick = null) {
  const largest = Math.max(...pairs.map(([, value]) => Math.abs(value)), 1e-12);
  node.replaceChildren(...pairs.map(([word, value, remark]) =>
    el(pick ? "button" : "div", { class: "row", type: pick ? "button" : null, "data-word": word, "data-tip": pick ? "Click to leave it out and score again" : null, onclick: pick ? () => pick(word) : null },
      el("span", { class: "word" }, word, remark && el("span", { class: "mute small" }, ` ${remark}`)),
      el("span", { class: `axis ${value < 0 ? "minus" : "plus"}`, "aria-hidden": "true" }, at(el("i"), "--at", (100 * Math.abs(value)) / largest)),
      el("span", { class: "num" }, `${value > 0 && !oneSided ? "+" : ""}${number(value)}`))));
}

/** Bars and marks of the same word light up together. */
export function linkWords(text, bars) {
  const light = (words, on) => {
    const wanted = new Set(words.filter(Boolean));
    for (const mark of text.querySelectorAll("mark[data-words]")) {
      mark.classList.toggle("same", on && mark.dataset.words.split("\n").some((word) => wanted.has(word)));
    }
    for (const row of bars.querySelectorAll("[data-word]")) row.classList.toggle("same", on && wanted.has(row.dataset.word));
  };
  const words = (event) => {
    const mark = event.target.closest?.("mark[data-words], [data-word]");
    return mark ? (mark.dataset.words ?? mark.dataset.word).split("\n") : null;
  };
  for (const node of [text, bars]) {
    for (const [kind, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
      node.addEventListener(kind, (event) => { const found = words(event); if (found) light(found, on); });
    }
  }
}
