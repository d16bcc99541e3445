// The first tab: a text, its labels, why.

import { byId, el, grouped, number, problem } from "./dom.js";
import { get, post } from "./api.js";
import { drawScores, reading } from "./scores.js";
import { drawDiverging, drawReading } from "./words.js";
import { drawThreshold } from "./label.js";
import { Tree } from "./tree.js";

const FIRST = 8, WAIT = 140;

export class Trying {
  constructor() {
    this.text = byId("text");
    this.thresholds = new Map();
    this.chosen = null;
    this.shown = FIRST;
    this.result = null;
    this.tree = null;
    this.bodyLimit = Infinity;
    this.inputs = [["text", this.text]];
    this.text.addEventListener("input", () => this.changed());
    byId("clear").addEventListener("click", () => { this.inputs.forEach(([, input]) => { input.value = ""; }); this.changed(0); this.inputs[0][1].focus(); });
    byId("more").addEventListener("click", () => { this.shown += 20; this.ask(); });
    byId("threshold-reset").addEventListener("click", () => { this.thresholds.delete(this.selected()); this.draw(); this.drawSlider(); });
    this.listenToDrops();
  }

  listenToDrops() {
    const card = byId("drop");
    const over = (on) => (event) => { event.preventDefault(); card.classList.toggle("over", on); };
    card.addEventListener("dragenter", over(true));
    card.addEventListener("dragover", over(true));
    card.addEventListener("dragleave", over(false));
    card.addEventListener("drop", async (event) => {
      over(false)(event);
      const file = event.dataTransfer.files[0];
      const dropped = file ? null : event.dataTransfer.getData("text/plain");
      if (!file) { if (dropped) this.set(dropped); return; }
      if (file.size > this.bodyLimit) {
        problem("text-problem", new Error(`${file.name} has ${grouped(file.size)} bytes, and this server takes ${grouped(this.bodyLimit)}.`));
        return;
      }
      this.set(await file.text());
    });
  }

  /** Another model. */
  async use(model, labels, bodyLimit) {
    this.model = model.name;
    this.labels = labels;
    this.names = new Map(labels.map((l) => [l.label, l.name]));
    this.bodyLimit = bodyLimit;
    this.thresholds.clear();
    this.chosen = null;
    this.tree = null;
    this.details = new Map();
    this.showFields(model.fields);
    byId("tree-card").hidden = !model.taxonomy;
    if (model.taxonomy) {
      try {
        const { nodes } = await get("v1/taxonomy", { model: this.model });
        this.tree = new Tree(byId("tree"), nodes, (label) => this.choose(label));
        problem("tree-problem", null);
      } catch (error) {
        problem("tree-problem", error);
      }
    }
    // Neighbours have no words of their own to offer.
    if (/knn/.test(model.classifier)) byId("hint").replaceChildren();
    else this.hint();
    this.changed(0);
  }

  /** One place to write for each text that the model reads. What stands in a place of the same name stays. */
  showFields(fields) {
    const plain = fields.length === 1 && fields[0] === "text";
    const before = new Map(this.inputs.map(([name, input]) => [name, input.value]));
    this.text.hidden = !plain;
    const made = plain ? [] : fields.map((name, at) => {
      const input = el("textarea", { id: `field-${at}`, rows: at ? 6 : 3, spellcheck: "false", "aria-describedby": "text-problem", oninput: () => this.changed() });
      input.value = before.get(name) ?? "";
      return [name, input];
    });
    this.inputs = plain ? [["text", this.text]] : made;
    byId("fields").replaceChildren(...made.flatMap(([name, input]) => [el("label", { for: input.id }, name), input]));
    byId("text-label").htmlFor = this.inputs[0][1].id;
    // Places are known in a plain text only.
    byId("reading").hidden = !plain;
    byId("legend").hidden = !plain;
  }

  /** What is written, by the names of the fields. */
  document() {
    return Object.fromEntries(this.inputs.map(([name, input]) => [name, input.value]));
  }

  hint() {
    const candidates = this.labels.filter((l) => l.documents > 0);
    const some = candidates[Math.floor(candidates.length / 3)];
    if (!some) return;
    byId("hint").replaceChildren("No text at hand? Start with ", el("button", {
      type: "button", class: "link", onclick: async () => {
        try {
          const { for: words } = await get("v1/features", { model: this.model, label: some.label, top: 8 });
          this.set(words.map((w) => w.word).join(" "));
        } catch (error) {
          problem("text-problem", error);
        }
      },
    }, `words of “${some.name}”`), ".");
  }

  set(text) {
    this.inputs[0][1].value = text;
    this.changed(0);
  }

  changed(wait = WAIT) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.shown = FIRST; this.ask(); }, wait);
    const length = this.inputs.reduce((sum, [, input]) => sum + input.value.length, 0);
    byId("size").textContent = length ? `${grouped(length)} characters` : "";
    byId("clear").hidden = !length;
    byId("hint").hidden = length > 0;
  }

  async ask() {
    this.abort?.abort();
    this.explaining?.abort();
    const written = this.document();
    if (!Object.values(written).some((text) => text.trim())) {
      this.result = null;
      this.draw();
      return;
    }
    this.abort = new AbortController();
    const { signal } = this.abort;
    byId("scores").classList.add("busy");
    try {
      const all = this.tree ? this.labels.length : this.shown + 1;
      const result = await post("v1/classify", { model: this.model, ...written, top: Math.min(all, 10000) }, signal);
      this.result = { ...result, written };
      problem("scores-problem", null);
      problem("text-problem", null);
      this.draw();
      this.drawSlider();
      await this.explain();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.result = null;
      this.draw();
      problem(error.status === 413 ? "text-problem" : "scores-problem", error);
    } finally {
      if (!signal.aborted) byId("scores").classList.remove("busy");
    }
  }

  /** The label that is explained: the one chosen, or the best. */
  selected() {
    return this.chosen ?? this.result?.labels[0] ?? this.result?.ranked[0]?.label ?? null;
  }

  choose(label) {
    this.chosen = label;
    this.draw();
    this.drawSlider();
    if (this.result) this.explain();
  }

  draw() {
    const result = this.result;
    byId("why").hidden = !result;
    byId("more").hidden = !result || result.ranked.length <= this.shown;
    if (!result) {
      byId("scores").replaceChildren();
      byId("scores").classList.remove("busy");
      byId("verdict").textContent = "";
      byId("scores-note").textContent = "Labels appear here as soon as there is a text.";
      byId("threshold-card").hidden = true;
      this.tree?.light([], []);
      return;
    }
    const ranked = result.ranked.slice();
    // A label that was chosen in the tree is shown even when others are better.
    const place = ranked.findIndex((r) => r.label === this.chosen);
    if (place >= this.shown) ranked.splice(this.shown - 1, 0, ...ranked.splice(place, 1));
    drawScores(byId("scores"), { ranked, shown: this.shown, chosen: this.selected(), thresholds: this.thresholds, names: this.names, choose: (label) => this.choose(label) });
    const given = result.ranked.filter((r) => reading(r, this.thresholds.get(r.label)).given).map((r) => this.names.get(r.label) ?? r.label);
    const beyond = result.labels.filter((l) => !result.ranked.some((r) => r.label === l)).map((l) => this.names.get(l) ?? l);
    const all = [...given, ...beyond];
    byId("verdict").textContent = all.length ? `${all.length === 1 ? "Label" : `${all.length} labels`}: ${all.join(", ")}` : "None of these: no label reaches its threshold.";
    byId("scores-note").textContent = result.known
      ? (ranked.some((r) => r.threshold !== null || r.steps) ? "The mark on a bar is the label’s threshold." : "")
      : "The model knows none of these words: what it says is not about this text.";
    const scores = new Map();
    for (const entry of result.ranked) for (const step of entry.steps ?? []) scores.set(step.label, step.score);
    this.tree?.light(result.labels, scores);
  }

  async drawSlider() {
    const label = this.selected();
    const card = byId("threshold-card");
    card.hidden = label === null || !this.result;
    if (card.hidden) return;
    byId("threshold-title").textContent = `Threshold of ${this.names.get(label) ?? label}`;
    byId("threshold-reset").hidden = !this.thresholds.has(label);
    if (this.drawn === `${this.model}\n${label}` && document.activeElement?.id === "threshold-slider") return;
    try {
      if (!this.details.has(label)) this.details.set(label, await get("v1/label", { model: this.model, label, top: 0 }));
      if (label !== this.selected()) return;
      problem("threshold-problem", null);
      this.drawn = `${this.model}\n${label}`;
      drawThreshold(byId("threshold"), this.details.get(label), this.thresholds.get(label), (threshold) => {
        this.thresholds.set(label, threshold);
        byId("threshold-reset").hidden = false;
        this.draw();
      });
    } catch (error) {
      problem("threshold-problem", error);
    }
  }

  async explain() {
    this.explaining?.abort();
    this.explaining = new AbortController();
    const { signal } = this.explaining;
    const label = this.selected();
    const { written } = this.result;
    if (label === null) { byId("why").hidden = true; return; }
    try {
      const { reasons } = await post("v1/explain", { model: this.model, ...written, label, top: 12, spans: true }, signal);
      problem("why-problem", null);
      const why = reasons[0];
      const name = this.names.get(label) ?? label;
      byId("why-title").textContent = `Why ${name}`;
      drawReading(byId("reading"), written.text ?? "", why.spans, name);
      const words = why.words.filter((w) => w.adds !== 0).map((w) => [w.word, w.adds, w.count > 1 ? `× ${w.count}` : ""]);
      if (words.length) drawDiverging(byId("words"), words);
      else byId("words").replaceChildren(el("p", { class: "mute small" }, this.result.known ? "No single word tips the scale for this label." : "None of the words is known to the model."));
      if (why.neighbours?.length) {
        const list = why.neighbours.slice(0, 5).map((n) => `${n.document} (${number(n.adds)})`).join(", ");
        byId("words").append(el("p", { class: "mute small" }, `Nearest training documents with this label: ${list}. A word’s bar is how far the score falls without it.`));
      }
    } catch (error) {
      if (error.name !== "AbortError") problem("why-problem", error);
    }
  }
}
