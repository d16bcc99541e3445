// The first tab: a text, its labels, why.

import { byId, el, grouped, percent, problem } from "./dom.js";
import { get, post } from "./api.js";
import { note } from "./address.js";
import { Batch, isTable } from "./batch.js";
import { drawScores, reading } from "./scores.js";
import { drawThreshold } from "./label.js";
import { listenToTaking } from "./take.js";
import { Tree } from "./tree.js";
import { Why, without } from "./why.js";

const FIRST = 8, WAIT = 140;

export class Trying {
  constructor() {
    this.text = byId("text");
    this.thresholds = new Map();
    this.chosen = null;
    this.shown = FIRST;
    this.result = null;
    this.tree = null;
    this.details = null;
    this.beside = null;
    this.colours = null;
    /** Stretches of the text that are left out, in code points. */
    this.struck = [];
    this.server = { body_limit: Infinity, batch_limit: 1 };
    this.inputs = [["text", this.text]];
    this.why = new Why(this);
    this.batch = new Batch();
    this.text.addEventListener("input", () => this.changed());
    byId("clear").addEventListener("click", () => { this.inputs.forEach(([, input]) => { input.value = ""; }); this.changed(0); this.inputs[0][1].focus(); });
    byId("more").addEventListener("click", () => { this.shown += 20; this.ask(); });
    byId("threshold-reset").addEventListener("click", () => { this.thresholds.delete(this.selected()); this.draw(); this.drawSlider(); });
    listenToTaking(this);
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
      if (file) await this.takeFile(file);
      else if (dropped) this.set(dropped);
    });
    byId("file").addEventListener("change", async () => {
      const file = byId("file").files[0];
      if (file) await this.takeFile(file);
      byId("file").value = "";
    });
  }

  /** A text to be tried, or a table of them. */
  async takeFile(file) {
    problem("text-problem", null);
    if (isTable(file.name)) {
      if (file.size > 100_000_000) { problem("text-problem", new Error(`${file.name} has ${grouped(file.size)} bytes; tamis classify takes files of any size.`)); return; }
      await this.batch.label(file.name, await file.text(), this.model, this.names, this.server);
      return;
    }
    if (file.size > this.server.body_limit) {
      problem("text-problem", new Error(`${file.name} has ${grouped(file.size)} bytes, and this server takes ${grouped(this.server.body_limit)}.`));
      return;
    }
    this.set(await file.text());
  }

  /** Another model, or a new file of the same. */
  async use(model, labels, server) {
    this.model = model;
    this.labels = labels;
    this.names = new Map(labels.map((l) => [l.label, l.name]));
    this.server = server;
    this.thresholds.clear();
    this.chosen = null;
    this.struck = [];
    this.tree = null;
    this.details = null;
    this.curves = new Map();
    this.batch.close();
    this.showFields(model.fields);
    byId("tree-card").hidden = !model.taxonomy;
    try {
      this.details = await get("v1/model", { model: model.name });
    } catch (error) {
      problem("text-problem", error);
    }
    if (model.taxonomy) {
      try {
        const { nodes } = await get("v1/taxonomy", { model: model.name });
        this.tree = new Tree(byId("tree"), nodes, (label) => this.choose(label));
        problem("tree-problem", null);
      } catch (error) {
        problem("tree-problem", error);
      }
    }
    this.introduce();
    this.changed(0);
  }

  /** One sentence about the model, and documents to begin with. */
  introduce() {
    const d = this.details;
    if (!d) return;
    const first = d.quality.find((q) => q.measure === "P@1") ?? d.quality[0];
    const words = first?.measure === "P@1" ? `the first label is right for ${percent(first.value)} of them` : first ? `${first.measure} is ${first.value.toFixed(3)}` : "";
    byId("about").textContent = `${d.single_label ? "One" : "Any"} of ${grouped(d.labels)} labels${d.taxonomy ? " in a taxonomy" : ""}, learned from ${grouped(d.documents)} documents by ${grouped(d.features)} words.${words ? ` Of documents kept apart, ${words}.` : ""}`;
    const called = (labels) => labels.map((l) => this.names.get(l) ?? l).join(", ");
    const example = (e) => el("button", { type: "button", class: "example", onclick: () => this.fill(e.texts) },
      el("b", {}, called(e.labels)), el("span", {}, Object.values(e.texts).join(" · ").slice(0, 90)));
    if (d.examples.length) byId("hint").replaceChildren(el("span", {}, "No text at hand? Documents it was trained on:"), ...d.examples.map(example));
    else if (d.kind !== "neighbours") this.hint();
    else byId("hint").replaceChildren();
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

  isPlain() {
    return this.inputs.length === 1 && this.inputs[0][0] === "text";
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
          const { for: words } = await get("v1/features", { model: this.model.name, label: some.label, top: 8 });
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

  fill(texts) {
    for (const [name, input] of this.inputs) input.value = texts[name] ?? "";
    this.changed(0);
  }

  changed(wait = WAIT) {
    clearTimeout(this.timer);
    // What was chosen and left out was about another text.
    if (this.chosen !== null) { this.chosen = null; note({ label: null }); }
    this.struck = [];
    this.timer = setTimeout(() => { this.shown = FIRST; this.ask(); }, wait);
    const length = this.inputs.reduce((sum, [, input]) => sum + input.value.length, 0);
    byId("size").textContent = length ? `${grouped(length)} characters` : "";
    byId("clear").hidden = !length;
    byId("hint").hidden = length > 0;
  }

  /** Leaves stretches of the text out, or puts them back; all of them with null. */
  strike(...stretches) {
    if (stretches[0] === null) this.struck = [];
    for (const s of stretches.filter(Boolean)) {
      const inside = (range) => range.start <= s.start && s.start < range.end;
      if (this.struck.some(inside)) this.struck = this.struck.filter((range) => !inside(range));
      else this.struck = [...this.struck, { start: s.start, end: s.end }];
    }
    // The label that is looked at stays.
    this.chosen ??= this.selected();
    this.ask();
  }

  async ask() {
    this.abort?.abort();
    this.why.abort?.abort();
    const written = this.document();
    if (!Object.values(written).some((text) => text.trim())) {
      this.result = null;
      this.draw();
      return;
    }
    this.abort = new AbortController();
    const { signal } = this.abort;
    const sent = this.struck.length ? { text: without(written.text, this.struck) } : written;
    byId("scores").classList.add("busy");
    try {
      const all = this.tree ? this.labels.length : this.shown + 1;
      const result = await post("v1/classify", { model: this.model.name, ...sent, top: Math.min(all, 10000) }, signal);
      this.result = { ...result, written, sent };
      problem("scores-problem", null);
      problem("text-problem", null);
      this.draw();
      this.drawSlider();
      this.askBeside(sent, signal);
      await this.why.draw();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.result = null;
      this.draw();
      problem(error.status === 413 ? "text-problem" : "scores-problem", error);
    } finally {
      if (!signal.aborted) byId("scores").classList.remove("busy");
    }
  }

  /** The same text by another model. */
  async askBeside(sent, signal) {
    const card = byId("beside-card");
    card.hidden = !this.beside || !this.result;
    if (card.hidden) return;
    const { model, names, details } = this.beside;
    byId("beside-title").textContent = `Labels by ${model.name}`;
    try {
      const documents = model.fields.length === 1 && model.fields[0] === "text" ? { text: Object.values(sent).join("\n") } : sent;
      const other = await post("v1/classify", { model: model.name, ...documents, top: FIRST }, signal);
      problem("beside-problem", null);
      const how = { byThresholds: details.by_thresholds, known: other.known };
      drawScores(byId("beside"), { ranked: other.ranked, shown: FIRST, chosen: null, thresholds: new Map(), names, choose: (label) => this.names.has(label) && this.choose(label), how });
      const given = new Set(other.known ? other.labels : []), ours = this.result.known ? this.result.labels : [];
      const both = ours.filter((l) => given.has(l)).length;
      byId("beside-verdict").textContent = both === ours.length && both === given.size ? "Both say the same." : `${both} in common, ${ours.length - both} only here, ${given.size - both} only there.`;
    } catch (error) {
      if (error.name !== "AbortError") problem("beside-problem", error);
    }
  }

  /** The label that is explained: the one chosen, or the best. */
  selected() {
    return this.chosen ?? this.result?.labels[0] ?? this.result?.ranked[0]?.label ?? null;
  }

  choose(label) {
    this.chosen = label;
    this.why.overlay = false;
    note({ label });
    this.draw();
    this.drawSlider();
    if (this.result) this.why.draw();
  }

  how() {
    return { byThresholds: this.details?.by_thresholds ?? true, known: this.result?.known ?? true };
  }

  draw() {
    const result = this.result;
    byId("why").hidden = !result;
    byId("take").hidden = !result;
    byId("more").hidden = !result || result.ranked.length <= this.shown;
    if (!result) {
      byId("scores").replaceChildren();
      byId("scores").classList.remove("busy");
      byId("verdict").textContent = "";
      byId("scores-note").textContent = "Labels appear here as soon as there is a text.";
      byId("threshold-card").hidden = true;
      byId("beside-card").hidden = true;
      this.tree?.light([], []);
      return;
    }
    const ranked = result.ranked.slice();
    const how = this.how();
    // A label that was chosen in the tree is shown even when others are better.
    const place = ranked.findIndex((r) => r.label === this.chosen);
    if (place >= this.shown) ranked.splice(this.shown - 1, 0, ...ranked.splice(place, 1));
    drawScores(byId("scores"), { ranked, shown: this.shown, chosen: this.selected(), thresholds: this.thresholds, names: this.names, choose: (label) => this.choose(label), how, colours: this.colours });
    const given = result.ranked.filter((r) => reading(r, this.thresholds.get(r.label), how).given).map((r) => this.names.get(r.label) ?? r.label);
    const beyond = result.known ? result.labels.filter((l) => !result.ranked.some((r) => r.label === l)).map((l) => this.names.get(l) ?? l) : [];
    const all = [...given, ...beyond];
    byId("verdict").textContent = !result.known ? "No label: no word of the text is known." : all.length ? `${all.length === 1 ? "Label" : `${all.length} labels`}: ${all.join(", ")}` : "None of these: no label reaches its threshold.";
    const marks = ranked.some((r) => r.threshold !== null || r.steps);
    byId("scores-note").textContent = !result.known
      ? "The model knows none of these words, so it cannot say anything about this text; below is what it says of an empty one."
      : !how.byThresholds ? (this.model.taxonomy ? "No threshold decides here: a text gets the path on which it most likely ends." : "No threshold decides here: a text gets the best label.")
        : marks ? "The mark on a bar is the label’s threshold." : "";
    const scores = new Map();
    for (const entry of result.ranked) for (const step of entry.steps ?? []) scores.set(step.label, step.score);
    this.tree?.light(result.known ? result.labels : [], result.known ? scores : []);
  }

  async drawSlider() {
    const label = this.selected();
    const card = byId("threshold-card");
    card.hidden = label === null || !this.result;
    if (card.hidden) return;
    byId("threshold-title").textContent = `Threshold of ${this.names.get(label) ?? label}`;
    byId("threshold-reset").hidden = !this.thresholds.has(label);
    const name = `${this.model.name}\n${label}`;
    if (this.drawn === name && document.activeElement?.id === "threshold-slider") return;
    try {
      if (!this.curves.has(label)) this.curves.set(label, await get("v1/label", { model: this.model.name, label, top: 0 }));
      if (label !== this.selected()) return;
      problem("threshold-problem", null);
      this.drawn = name;
      drawThreshold(byId("threshold"), this.curves.get(label), this.thresholds.get(label), (threshold) => {
        this.thresholds.set(label, threshold);
        byId("threshold-reset").hidden = false;
        this.draw();
      }, this.how().byThresholds);
    } catch (error) {
      problem("threshold-problem", error);
    }
  }
}
