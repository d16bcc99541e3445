// Why a label has its score: the text with its words, and the sum that they make.

import { byId, el, grouped, number, percent, problem } from "./dom.js";
import { post } from "./api.js";
import { drawDiverging, drawOverlaid, drawReading, linkWords, without } from "./words.js";

/** Words shown as bars, and colours of labels that are overlaid. */
const BARS = 12, COLOURS = 5;

export class Why {
  constructor(trying) {
    this.trying = trying;
    this.overlay = false;
    byId("overlay").addEventListener("click", () => { this.overlay = !this.overlay; this.draw(); });
    byId("restore").addEventListener("click", () => trying.strike(null));
    linkWords(byId("reading"), byId("words"));
  }

  /** Asks why, and draws it. */
  async draw() {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    const { trying } = this;
    const { result, model, struck } = trying;
    const label = trying.selected();
    byId("why").hidden = label === null || !result;
    if (byId("why").hidden) return;
    const several = result.labels.length > 1 && result.known && trying.isPlain();
    if (!several) this.overlay = false;
    byId("overlay").hidden = !several;
    byId("overlay").setAttribute("aria-pressed", String(this.overlay));
    byId("restore").hidden = !struck.length;
    trying.colours = this.overlay ? new Map(result.labels.slice(0, COLOURS).map((l, i) => [l, i + 1])) : null;
    trying.draw();
    try {
      const wanted = this.overlay ? {} : { label };
      const { reasons } = await post("v1/explain", { model: model.name, ...result.sent, ...wanted, top: 10000, spans: true }, signal);
      problem("why-problem", null);
      byId("sum").hidden = this.overlay;
      byId("words-title").hidden = this.overlay;
      byId("words").hidden = this.overlay;
      byId("legend").hidden = this.overlay || !trying.isPlain();
      if (this.overlay) return this.several(reasons);
      this.one(reasons[0], label);
    } catch (error) {
      if (error.name !== "AbortError") problem("why-problem", error);
    }
  }

  /** The words of all labels that are given. */
  several(reasons) {
    const { trying } = this;
    byId("why-title").textContent = `Why these ${reasons.length} labels`;
    const shown = reasons.filter((reason) => trying.colours.has(reason.label));
    drawOverlaid(byId("reading"), trying.result.written.text ?? "", shown, trying.colours, trying.names);
  }

  one(why, label) {
    const { trying } = this;
    const { result, struck } = trying;
    const name = trying.names.get(label) ?? label;
    byId("why-title").textContent = `Why ${name}`;
    if (trying.isPlain()) drawReading(byId("reading"), result.written.text ?? "", why, name, struck, (piece) => trying.strike(piece));
    const words = why.words.filter((w) => w.adds !== 0);
    const rows = words.slice(0, BARS).map((w) => [w.word, w.adds, w.count > 1 ? `× ${w.count}` : ""]);
    const pick = trying.isPlain() ? (word) => this.strikeWord(why, word) : null;
    if (rows.length) drawDiverging(byId("words"), rows, false, pick);
    else byId("words").replaceChildren(el("p", { class: "mute small" }, result.known ? "No single word tips the scale for this label." : "None of the words is known to the model."));
    this.sum(why, words);
    if (why.neighbours?.length) this.neighbours(why.neighbours);
  }

  /** All places of a word are left out. */
  strikeWord(why, word) {
    const found = why.words.find((w) => w.word === word);
    if (!found) return;
    const each = found.adds / Math.max(found.count, 1);
    const spans = why.spans.filter((span) => span.adds === each);
    if (spans.length) this.trying.strike(...spans);
  }

  /** bias + words = score, against the threshold. */
  sum(why, words) {
    const node = byId("sum");
    node.hidden = why.bias === null || !this.trying.result.known;
    if (node.hidden) return;
    const total = words.reduce((sum, w) => sum + w.adds, 0);
    const margin = why.bias + total;
    const top = words.slice(0, BARS), rest = words.slice(BARS);
    const of = (list) => list.reduce((sum, w) => sum + w.adds, 0);
    const signed = (value) => `${value >= 0 ? "+" : "−"} ${number(Math.abs(value))}`;
    const term = (value, name, strong) => el("span", { class: strong ? "term strong" : "term" }, el("b", {}, value), el("span", {}, name));
    const parts = [term(number(why.bias), "where it starts"), term(signed(of(top)), top.length === 1 ? "the word below" : `the ${top.length} words below`)];
    if (rest.length) parts.push(term(signed(of(rest)), `${grouped(rest.length)} other words`));
    const same = why.score === null || Math.abs(margin - why.score) <= 1e-6 * Math.max(1, Math.abs(margin));
    parts.push(term(`= ${number(margin)}`, same ? "score" : "margin", same));
    if (!same) parts.push(term(`→ ${this.trying.model.taxonomy || (why.score >= 0 && why.score <= 1) ? percent(why.score) : number(why.score)}`, "score", true));
    const byThresholds = this.trying.details?.by_thresholds;
    if (byThresholds && why.threshold !== null && why.score !== null) {
      const reached = why.score >= why.threshold;
      parts.push(term(`${reached ? "≥" : "<"} ${number(why.threshold)}`, reached ? "threshold: reached" : "threshold: not reached"));
    }
    node.replaceChildren(...parts);
  }

  neighbours(all) {
    const list = all.slice(0, 5).map((n) => el("li", {}, el("b", {}, n.document), ` (${number(n.adds)})`, n.opening && el("span", { class: "opening" }, n.opening)));
    byId("words").append(
      el("p", { class: "mute small" }, "A word’s bar is how far the score falls without it. Nearest training documents with this label, and their votes:"),
      el("ul", { class: "neighbours" }, ...list));
  }
}

export { without };
