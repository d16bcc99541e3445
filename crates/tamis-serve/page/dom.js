// Small helpers. Text reaches the page through textContent only; nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}

export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
export const byId = (id) => document.getElementById(id);

/** Sets a CSS variable: a length that styles use, in percent. */
export function at(node, name, percent) {
  node.style.setProperty(name, String(Math.max(0, Math.min(100, percent))));
  return node;
}

/** Shows what went wrong where it went wrong, or takes it away. */
export function problem(id, error) {
  const node = byId(id);
  node.hidden = !error;
  node.textContent = error ? error.message : "";
}

export const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 0.9995 ? 1 : 0)} %`;

export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e5) return value.toExponential(1).replaceAll("-", "−");
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.001 || size < 0.00005 ? 3 : 4;
  return value.toFixed(digits).replace(/^-(?=.*[1-9])/, "−").replace("-", "");
}

/** A name without what its parent's name says already: hockey under rec.sport for rec.sport.hockey. */
export function under(name, parent) {
  const rest = parent && name.startsWith(parent) ? name.slice(parent.length) : "";
  return /^[./:>|\\][^./:>|\\]/.test(rest) ? rest.slice(1) : name;
}

export const grouped = (n) => n.toLocaleString("en");

/** Arrow keys move between the items that `find` gives; Home and End go to the ends. */
export function arrows(container, find, keys = { ArrowDown: 1, ArrowUp: -1 }) {
  container.addEventListener("keydown", (event) => {
    const items = find().filter((item) => !item.hidden);
    const from = items.indexOf(document.activeElement);
    if (from < 0) return;
    let to = event.key in keys ? (from + keys[event.key] + items.length) % items.length : -1;
    if (event.key === "Home") to = 0;
    if (event.key === "End") to = items.length - 1;
    if (to < 0) return;
    event.preventDefault();
    items[to].focus();
    items[to].dispatchEvent(new CustomEvent("reached", { bubbles: true }));
  });
}
