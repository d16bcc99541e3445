// The taxonomy as a tree that opens along the path which lit up.

import { at, byId, el, grouped, percent, under } from "./dom.js";

/** Trees with more nodes than this start closed. */
const OPEN_AT_FIRST = 12;

export class Tree {
  constructor(node, nodes, choose) {
    this.choose = choose;
    this.items = new Map();
    this.parents = new Map(nodes.map((n) => [n.label, n.parent]));
    this.names = new Map(nodes.map((n) => [n.label, n.name]));
    /** Branches that were opened for a text, and are closed again with it. */
    this.opened = new Set();
    const children = new Map();
    for (const n of nodes) children.set(n.parent, [...(children.get(n.parent) ?? []), n]);
    const list = (parent, role) => el("ul", { role, class: role === "tree" ? "tree" : null, "aria-label": role === "tree" ? "Taxonomy" : null },
      (children.get(parent) ?? []).map((n) => this.item(n, children, list)));
    this.list = list(null, "tree");
    node.replaceChildren(this.list);
    if (nodes.length <= OPEN_AT_FIRST) for (const n of nodes) this.open(n.label, true);
    this.list.querySelector('[role="treeitem"]')?.setAttribute("tabindex", "0");
    this.list.addEventListener("keydown", (event) => this.key(event));
    const filter = byId("tree-filter");
    filter.hidden = nodes.length <= OPEN_AT_FIRST;
    filter.value = "";
    filter.oninput = () => this.filter(filter.value);
  }

  item(n, children, list) {
    const below = children.get(n.label) ?? [];
    const meter = el("span", { class: "meter", "aria-hidden": "true", hidden: true }, el("i"));
    const count = el("span", { class: "n" }, n.documents === null ? "" : grouped(n.documents));
    const twist = el("span", { class: "twist", "aria-hidden": "true" }, below.length ? "▸" : "");
    const name = el("span", { class: "name", title: n.name }, under(n.name, this.names.get(n.parent)));
    if (n.name !== n.label && !n.name.includes(n.label)) name.append(el("span", { class: "code" }, n.label));
    const row = el("div", { class: "node" }, twist, name, count, meter);
    const item = el("li", { role: "treeitem", tabindex: "-1", "aria-expanded": below.length ? "false" : null, "data-label": n.label }, row);
    if (below.length) {
      const group = list(n.label, "group");
      group.hidden = true;
      item.append(group);
    }
    row.addEventListener("click", (event) => {
      this.opened.delete(n.label);
      if (below.length && (event.target === twist || !n.documents)) this.open(n.label);
      else { this.choose(n.label); if (below.length) this.open(n.label); }
      this.focus(item);
    });
    this.items.set(n.label, { item, meter, count, twist, below: below.length, documents: n.documents });
    return item;
  }

  isOpen(label) {
    return this.items.get(label)?.item.getAttribute("aria-expanded") === "true";
  }

  open(label, wanted) {
    const { item, twist, below } = this.items.get(label) ?? {};
    if (!below) return;
    const open = wanted ?? !this.isOpen(label);
    item.setAttribute("aria-expanded", String(open));
    item.querySelector(':scope > [role="group"]').hidden = !open;
    twist.textContent = open ? "▾" : "▸";
  }

  /** Shows only nodes whose name or label has the text, and the way to them. */
  filter(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) {
      for (const { item } of this.items.values()) item.hidden = false;
      for (const label of this.filtered ?? []) this.open(label, false);
      this.filtered = null;
      return;
    }
    this.filtered ??= new Set();
    const shown = new Set();
    for (const [label, name] of this.names) {
      if (!name.toLowerCase().includes(wanted) && !label.toLowerCase().includes(wanted)) continue;
      for (let at = label; at; at = this.parents.get(at)) {
        shown.add(at);
        if (at !== label && !this.isOpen(at)) { this.open(at, true); this.filtered.add(at); }
      }
    }
    for (const [label, { item }] of this.items) item.hidden = !shown.has(label);
  }

  focus(item) {
    for (const other of this.list.querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus();
  }

  visible() {
    return [...this.list.querySelectorAll('[role="treeitem"]')].filter((i) => !i.hidden && !i.parentElement.closest("[hidden]"));
  }

  key(event) {
    const item = event.target.closest('[role="treeitem"]');
    if (!item) return;
    const all = this.visible(), place = all.indexOf(item), label = item.dataset.label;
    const expanded = item.getAttribute("aria-expanded");
    const move = (to) => to && this.focus(to);
    const does = {
      ArrowDown: () => move(all[place + 1]),
      ArrowUp: () => move(all[place - 1]),
      Home: () => move(all[0]),
      End: () => move(all.at(-1)),
      ArrowRight: () => (expanded === "false" ? this.open(label, true) : expanded === "true" && move(item.querySelector('[role="treeitem"]'))),
      ArrowLeft: () => (expanded === "true" ? this.open(label, false) : move(item.parentElement.closest('[role="treeitem"]'))),
      Enter: () => this.choose(label),
      " ": () => this.choose(label),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  /** Lights up the paths to the given labels, and shows the score of every node that has one. Branches that were opened for
   * another text close. */
  light(ends, scores) {
    for (const { item, meter, count, documents } of this.items.values()) {
      item.classList.remove("lit", "end");
      meter.hidden = true;
      count.textContent = documents === null ? "" : grouped(documents);
    }
    for (const [label, score] of scores) {
      const found = this.items.get(label);
      if (!found) continue;
      found.meter.hidden = false;
      at(found.meter.firstChild, "--at", 100 * score);
      found.count.textContent = percent(score);
    }
    const path = new Set();
    for (const end of ends) {
      this.items.get(end)?.item.classList.add("end");
      for (let label = end; label; label = this.parents.get(label)) {
        this.items.get(label)?.item.classList.add("lit");
        if (label !== end) path.add(label);
      }
    }
    for (const label of [...this.opened]) if (!path.has(label)) { this.open(label, false); this.opened.delete(label); }
    for (const label of path) if (!this.isOpen(label)) { this.open(label, true); this.opened.add(label); }
  }
}
