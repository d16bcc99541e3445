// What is on the page, to take along: as a command, as Python, as JSON, as an address.

import { byId } from "./dom.js";
import { address } from "./address.js";

/** A word of a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export const curl = (base, body) =>
  `curl -H 'Content-Type: application/json' ${quoted(`${base}v1/classify`)} \\\n  -d ${quoted(JSON.stringify(body))}`;

export const python = (base, body) =>
  `import json, urllib.request\n\nbody = json.loads(${JSON.stringify(JSON.stringify(body))})\nrequest = urllib.request.Request(${JSON.stringify(`${base}v1/classify`)}, json.dumps(body).encode(), {"Content-Type": "application/json"})\nprint(json.load(urllib.request.urlopen(request)))`;

/** Hands a file to whoever sits there. */
export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function copy(text, what) {
  const done = byId("take-done");
  try {
    await navigator.clipboard.writeText(text);
    done.textContent = `${what} copied.`;
    byId("take-text").hidden = true;
  } catch {
    // A page that was not loaded safely may not write there.
    byId("take-text").hidden = false;
    byId("take-text").value = text;
    byId("take-text").select();
    done.textContent = "Copy it from here:";
  }
}

export function listenToTaking(trying) {
  const base = () => new URL(".", location.href.split("#")[0]).href;
  const body = () => ({ model: trying.model.name, ...trying.document(), top: 3 });
  byId("take-curl").addEventListener("click", () => copy(curl(base(), body()), "The command is"));
  byId("take-python").addEventListener("click", () => copy(python(base(), body()), "The program is"));
  byId("take-json").addEventListener("click", () => {
    const { written, sent, ...answer } = trying.result;
    download("tamis.json", "application/json", `${JSON.stringify({ ...written, ...answer }, null, 2)}\n`);
  });
  byId("take-link").addEventListener("click", () => {
    const text = trying.isPlain() ? trying.document().text : null;
    copy(location.href.split("#")[0] + address("try", "", { model: trying.model.name, label: trying.chosen, text }), "The address, with the text in it, is");
  });
}
