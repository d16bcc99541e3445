// The taxonomy as a tree that opens along the path which lit up.

import { at, byId, el, grouped, percent, under } from "./dom.js";

/** Nodes with more children than this start closed. */
const OPEN_AT_FIRST = 12;

export class Tree {
  constructor(node, nodes, choose) {
    this.root = node;
    this.choose = choose;
    this.items = new Map();
    this.parents = new Map(nodes.map((n) => [n.label, n.parent]));
    this.names = new Map(nodes.map((n) => [n.label, n.name]));
    const children = new Map();
    for (const n of nodes) children.set(n.parent, [...(children.get(n.parent) ?? []), n]);
    const list = (parent, role) => el("ul", { role, class: role === "tree" ? "tree" : null, "aria-label": role === "tree" ? "Taxonomy" : null },
      (children.get(parent) ?? []).map((n) => this.item(n, children, list)));
    this.list = list(null, "tree");
    node.replaceChildren(this.list);
    const roots = children.get(null) ?? [];
    if (roots.length && nodes.length <= OPEN_AT_FIRST) for (const n of nodes) this.open(n.label, true);
    this.list.querySelector('[role="treeitem"]')?.setAttribute("tabindex", "0");
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  item(n, children, list) {
    const below = children.get(n.label) ?? [];
    const meter = el("span", { class: "meter", "aria-hidden": "true", hidden: true }, el("i"));
    const count = el("span", { class: "n" }, n.documents === null ? "" : grouped(n.documents));
    const twist = el("span", { class: "twist", "aria-hidden": "true" }, below.length ? "▸" : "");
    const row = el("div", { class: "node" }, twist, el("span", { class: "name", title: n.name }, under(n.name, this.names.get(n.parent))), count, meter);
    const item = el("li", { role: "treeitem", tabindex: "-1", "aria-expanded": below.length ? "false" : null, "data-label": n.label }, row);
    if (below.length) {
      const group = list(n.label, "group");
      group.hidden = true;
      item.append(group);
    }
    row.addEventListener("click", (event) => {
      if (below.length && (event.target === twist || !n.documents)) this.open(n.label);
      else { this.choose(n.label); if (below.length) this.open(n.label); }
      this.focus(item);
    });
    this.items.set(n.label, { item, meter, count, twist, below: below.length, documents: n.documents });
    return item;
  }

  open(label, wanted) {
    const { item, twist, below } = this.items.get(label) ?? {};
    if (!below) return;
    const open = wanted ?? item.getAttribute("aria-expanded") !== "true";
    item.setAttribute("aria-expanded", String(open));
    item.querySelector(':scope > [role="group"]').hidden = !open;
    twist.textContent = open ? "▾" : "▸";
  }

  focus(item) {
    for (const other of this.list.querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus();
  }

  visible() {
    return [...this.list.querySelectorAll('[role="treeitem"]')].filter((i) => !i.parentElement.closest("[hidden]"));
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

  /** Lights up the paths to the given labels, and shows the score of every node that has one. */
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
    for (const end of ends) {
      this.items.get(end)?.item.classList.add("end");
      for (let label = end; label; label = this.parents.get(label)) {
        this.items.get(label)?.item.classList.add("lit");
        this.open(label, true);
      }
    }
  }
}

export const treeCard = () => byId("tree-card");
