// What the address says: #/VIEW/REST?model=…&label=…&text=…

/** An address that nothing can be read from is the first view. */
const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
};

export function read() {
  const hash = location.hash.startsWith("#/") ? location.hash.slice(2) : "";
  const at = hash.indexOf("?");
  const [view, ...rest] = (at < 0 ? hash : hash.slice(0, at)).split("/");
  const parameters = new URLSearchParams(at < 0 ? "" : hash.slice(at + 1));
  return { view, rest: decoded(rest.join("/")), model: parameters.get("model"), label: parameters.get("label"), text: parameters.get("text"), beside: parameters.get("beside") };
}

/** An address; what is not said is left out. */
export function address(view, rest, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== undefined && v !== null && v !== ""));
  return `#/${view}${rest ? `/${encodeURIComponent(rest)}` : ""}${query.size ? `?${query}` : ""}`;
}

/** Writes parameters into the address without a new entry in the history. */
export function note(parameters) {
  const now = read();
  const next = { model: now.model, label: now.label, beside: now.beside, ...parameters };
  const hash = address(now.view || "try", now.rest, next);
  if (hash !== location.hash) history.replaceState(null, "", hash);
}
