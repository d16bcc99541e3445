// A file of documents: a table of their labels, and the same as CSV.

import { byId, el, grouped, percent, problem } from "./dom.js";
import { post } from "./api.js";
import { download } from "./take.js";

/** Most documents of a file, and rows drawn at once. */
const MOST = 20000, DRAWN = 500;
const TEXT = /^(text|body|content|message|document|abstract|description|review|comment|sentence|title|subject|question)s?$/i;

export const isTable = (name) => /\.(csv|tsv|jsonl|ndjson)$/i.test(name);

/** Rows of a CSV file (RFC 4180), whatever separates its cells. */
export function parseCsv(text) {
  const first = text.slice(0, text.indexOf("\n") < 0 ? text.length : text.indexOf("\n"));
  const count = (mark) => first.split(mark).length;
  const separator = ["\t", ";", ","].reduce((best, mark) => (count(mark) > count(best) ? mark : best), ",");
  const rows = [];
  let row = [], cell = "", inside = false;
  for (let i = text.charCodeAt(0) === 0xfeff ? 1 : 0; i < text.length; i += 1) {
    const c = text[i];
    if (inside) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i += 1; }
      else inside = false;
    } else if (c === '"' && !cell) inside = true;
    else if (c === separator) { row.push(cell); cell = ""; }
    else if (c === "\n") { row.push(cell.replace(/\r$/, "")); rows.push(row); row = []; cell = ""; }
    else cell += c;
  }
  if (cell || row.length) rows.push([...row, cell.replace(/\r$/, "")]);
  return rows.filter((cells) => cells.some((value) => value.trim()));
}

/** A file as objects, one for each document. */
export function parse(name, text) {
  if (/\.(csv|tsv)$/i.test(name)) {
    const [header, ...rows] = parseCsv(text);
    if (!header || !rows.length) throw new Error(`${name} has no row below its header.`);
    return rows.map((cells) => Object.fromEntries(header.map((key, at) => [key.trim() || `column ${at + 1}`, cells[at] ?? ""])));
  }
  return text.split("\n").map((line, at) => [line.trim(), at + 1]).filter(([line]) => line).map(([line, number]) => {
    let value;
    try {
      value = JSON.parse(line);
    } catch (error) {
      throw new Error(`${name}, line ${number}: ${error.message}`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${name}, line ${number}: an object is expected.`);
    return value;
  });
}

/** The key whose values are the text: one that is called so, or the one with most to read. */
export function textKey(rows) {
  const keys = Object.keys(rows[0]).filter((key) => rows.some((row) => typeof row[key] === "string"));
  const length = (key) => rows.slice(0, 200).reduce((sum, row) => sum + String(row[key] ?? "").length, 0);
  return keys.find((key) => TEXT.test(key)) ?? keys.sort((a, b) => length(b) - length(a))[0];
}

const cell = (value) => {
  const text = typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export class Batch {
  constructor() {
    byId("batch-close").addEventListener("click", () => this.close());
    byId("batch-download").addEventListener("click", () => download("labelled.csv", "text/csv", this.csv()));
  }

  close() {
    this.abort?.abort();
    byId("batch").hidden = true;
  }

  /** Labels the documents of a file. */
  async label(file, text, model, names, server) {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    byId("batch").hidden = false;
    problem("batch-problem", null);
    byId("batch-table").replaceChildren();
    byId("batch-download").hidden = true;
    const status = (words) => { byId("batch-status").textContent = words; };
    try {
      this.rows = parse(file, text);
      if (this.rows.length > MOST) throw new Error(`${file} has ${grouped(this.rows.length)} documents, and the page takes ${grouped(MOST)}; tamis classify takes any number.`);
      const plain = model.fields.length === 1 && model.fields[0] === "text";
      this.key = textKey(this.rows);
      if (plain && !this.key) throw new Error(`${file} has no column of text.`);
      this.names = names;
      const bodies = this.rows.map((row) => (plain ? { text: String(row[this.key] ?? "") } : Object.fromEntries(model.fields.map((f) => [f, String(row[f] ?? "")]))));
      this.shown = bodies.map((body) => Object.values(body).join(" "));
      this.answers = [];
      for (let from = 0; from < bodies.length;) {
        // As many as fit into a request.
        let to = from, size = 0;
        while (to < bodies.length && to - from < Math.min(server.batch_limit, 500)) {
          size += new Blob([JSON.stringify(bodies[to])]).size + 1;
          if (to > from && size > server.body_limit * 0.9) break;
          to += 1;
        }
        const { documents } = await post("v1/classify", { model: model.name, documents: bodies.slice(from, to), top: 1 }, signal);
        this.answers.push(...documents);
        from = to;
        status(`${grouped(from)} of ${grouped(bodies.length)} documents`);
      }
      status(`${grouped(bodies.length)} documents of ${file}${plain ? `, text from “${this.key}”` : ""}`);
      this.order = { key: "number", down: false };
      byId("batch-download").hidden = false;
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") { status(""); problem("batch-problem", error); }
    }
  }

  labels(at) {
    const answer = this.answers[at];
    return answer.known ? answer.labels : [];
  }

  sure(at) {
    const best = this.answers[at].ranked?.[0];
    return !this.answers[at].known ? -Infinity : best?.probability ?? best?.score ?? -Infinity;
  }

  draw() {
    const by = { number: (at) => at, text: (at) => this.shown[at], labels: (at) => this.labels(at).join(" "), sure: (at) => this.sure(at) }[this.order.key];
    const order = this.rows.map((_, at) => at).sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a - b) * (this.order.down ? -1 : 1));
    const probabilities = this.answers.some((answer) => answer.ranked?.[0]?.probability !== undefined);
    const heading = (key, name, n) => el("th", { class: n ? "n" : null, scope: "col", "aria-sort": this.order.key === key ? (this.order.down ? "descending" : "ascending") : "none" },
      el("button", { type: "button", onclick: () => { this.order = { key, down: this.order.key === key && !this.order.down }; this.draw(); } }, name, this.order.key === key ? (this.order.down ? " ↓" : " ↑") : ""));
    byId("batch-table").replaceChildren(
      el("thead", {}, el("tr", {}, heading("number", "Row", true), heading("text", "Text"), heading("labels", "Labels"), heading("sure", probabilities ? "How sure" : "Score", true))),
      el("tbody", {}, order.slice(0, DRAWN).map((at) => el("tr", {},
        el("td", { class: "n" }, grouped(at + 1)),
        el("td", { class: "opening" }, this.shown[at].slice(0, 120)),
        el("td", {}, this.answers[at].known ? this.labels(at).map((l) => this.names.get(l) ?? l).join(", ") || "–" : el("span", { class: "mute" }, "no word is known")),
        el("td", { class: "n" }, this.sure(at) === -Infinity ? "–" : probabilities ? percent(this.sure(at)) : this.sure(at).toFixed(3))))));
    if (order.length > DRAWN) byId("batch-table").append(el("caption", { class: "mute small" }, `The first ${grouped(DRAWN)} are shown; the CSV file has all.`));
  }

  csv() {
    const keys = [...new Set(this.rows.flatMap((row) => Object.keys(row)))];
    const head = [...keys, "tamis_labels", "tamis_sure"].map(cell).join(",");
    const lines = this.rows.map((row, at) => [...keys.map((key) => row[key]), this.labels(at).join(";"), this.sure(at) === -Infinity ? "" : String(this.sure(at))].map(cell).join(","));
    return `${[head, ...lines].join("\r\n")}\r\n`;
  }
}
