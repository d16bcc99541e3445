// Notes on things that carry a data-tip: for the mouse, the keyboard and the finger.

import { byId } from "./dom.js";

/** What is touched is often drawn anew at once; its note stays for so many milliseconds whatever moves. */
const STAYS = 1000;

let shown = null, touched = -Infinity;

function show(node) {
  const tip = byId("tip");
  shown = node;
  tip.textContent = node.dataset.tip;
  tip.hidden = false;
  const box = node.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left + box.width / 2 - width / 2, document.documentElement.clientWidth - width - 8));
  const above = box.top - height - 8;
  tip.style.setProperty("left", `${left + scrollX}px`);
  tip.style.setProperty("top", `${(above > 4 ? above : box.bottom + 8) + scrollY}px`);
}

/** Away, unless it was touched just now. */
function fade() {
  if (performance.now() - touched > STAYS) hide();
}

function hide() {
  shown = null;
  byId("tip").hidden = true;
}

export function listenToTips() {
  const under = (event) => event.target.closest?.("[data-tip]");
  document.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse" && under(event)) show(under(event)); });
  document.addEventListener("pointerout", (event) => { if (event.pointerType === "mouse" && under(event) === shown) hide(); });
  document.addEventListener("focusin", (event) => { if (event.target.matches?.("[data-tip]:focus-visible")) show(event.target); });
  document.addEventListener("focusout", (event) => { if (event.target === shown) fade(); });
  // A finger shows it by touching, and takes it away by touching elsewhere.
  document.addEventListener("pointerup", (event) => { if (event.pointerType !== "mouse") { if (under(event)) { touched = performance.now(); show(under(event)); } else hide(); } });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", fade, { passive: true });
}
