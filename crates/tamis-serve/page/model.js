// The page of the model: what it is, how good, what it mistakes, what fewer words would have cost.

import { byId, el, grouped, number, problem, svg } from "./dom.js";
import { get } from "./api.js";
import { fact } from "./label.js";

const MEASURES = { "P@1": "first label is right (P@1)", RPrec: "R-precision", MAP: "mean average precision", "F1@macro": "macro F1" };

/** What the short names on this page mean. */
const GLOSSARY = [
  [/^rcut\((\d+)\)/, (m) => (m[1] === "1" ? "every text gets its best label" : `every text gets its ${m[1]} best labels`)],
  [/^scut/, () => "each label has its own threshold, tuned on documents kept apart"],
  [/^pcut/, () => "labels are given as often as the training documents have them"],
  [/^precision\(([\d.]+)/, (m) => `labels are given only where at least ${100 * Number(m[1])} of 100 are right`],
  [/^fixed\((.+?)\)/, (m) => `a label is given when its score is at least ${m[1]}`],
  [/^none: the best path/, () => "a text gets the path of the taxonomy on which it most likely ends"],
  [/^none/, () => "labels are ranked, none is given"],
  [/^(tsa|rbf|exact|greedy-exact) along/, () => "thresholds along each path of the taxonomy, tuned together"],
  [/chi2max/, () => "chi2max: the largest χ² of a word over all labels, large for words that tell a label from the rest"],
  [/chi2avg/, () => "chi2avg: the mean χ² of a word over all labels"],
  [/\big\b/, () => "ig: information gain, how much a word says about which label it is"],
  [/\bbns\b/, () => "bns: bi-normal separation of documents with and without the label"],
  [/@(\d+)/, (m) => `@${m[1]}: only words of more than ${m[1]} ${m[1] === "1" ? "document" : "documents"}`],
  [/\blr\(/, () => "lr(a,b): the worse of two ranks"],
  [/\bsvm/, () => "svm: a linear support vector machine, one weight for each word and label"],
  [/\blogistic/, () => "logistic: logistic regression, one weight for each word and label"],
  [/\bbayes/, () => "bayes: multinomial naive Bayes"],
  [/\bknn\((\d+)/, (m) => `knn(${m[1]}): the ${m[1]} most similar training documents vote`],
];

export function glossary(...expressions) {
  return GLOSSARY.flatMap(([pattern, says]) => {
    const found = expressions.map((e) => pattern.exec(e)).find(Boolean);
    return found ? [says(found)] : [];
  });
}

/** What fewer words would have cost, as a plot. */
function frontier(points, taken) {
  const [W, H, L, R, T, B] = [560, 220, 48, 16, 12, 34];
  const low = Math.min(...points.map((p) => p.quality - p.error)), high = Math.max(...points.map((p) => p.quality + p.error));
  const air = 0.08 * (high - low || 0.1);
  const x = (n) => L + ((W - L - R) * (Math.log(n) - Math.log(points[0].features))) / (Math.log(points.at(-1).features) - Math.log(points[0].features) || 1);
  const y = (v) => T + ((H - T - B) * (high + air - v)) / (high - low + 2 * air || 1);
  const picture = svg("svg", { class: "curve", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "R-precision against the number of words" });
  for (const v of [low, (low + high) / 2, high]) {
    picture.append(svg("line", { class: "grid", x1: L, x2: W - R, y1: y(v), y2: y(v) }), svg("text", { x: L - 6, y: y(v) + 3.5, "text-anchor": "end" }, v.toFixed(3)));
  }
  const band = [...points.map((p) => [x(p.features), y(p.quality + p.error)]), ...points.map((p) => [x(p.features), y(p.quality - p.error)]).reverse()];
  picture.append(svg("polygon", { class: "band", points: band.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ") }),
    svg("path", { class: "p", d: points.map((p, i) => `${i ? "L" : "M"}${x(p.features).toFixed(1)} ${y(p.quality).toFixed(1)}`).join("") }));
  let last = -Infinity;
  points.forEach((p) => {
    const here = !p.all && p.features === taken;
    const dot = svg("circle", { class: here ? "dot taken" : "dot", cx: x(p.features), cy: y(p.quality), r: here ? 5 : 3 });
    dot.append(svg("title", {}, `${grouped(p.features)}${p.all ? " (all)" : ""} words: ${p.quality.toFixed(4)} ± ${p.error.toFixed(4)}`));
    picture.append(dot);
    if (x(p.features) - last > 52) {
      picture.append(svg("text", { x: x(p.features), y: H - 18, "text-anchor": "middle" }, grouped(p.features)));
      last = x(p.features);
    }
  });
  picture.append(svg("text", { x: (L + W - R) / 2, y: H - 4, "text-anchor": "middle" }, "words the model looks at; R-precision on documents kept apart, ± standard error"));
  return picture;
}

/** The page of the model. */
export async function drawModel(name, names, openLabel) {
  try {
    const m = await get("v1/model", { model: name });
    problem("model-problem", null);
    const row = (term, ...value) => [el("dt", {}, term), el("dd", {}, ...value)];
    const called = (label) => names.get(label) ?? label;
    const link = (label) => el("button", { type: "button", class: "link", onclick: () => openLabel(label) }, called(label));
    const words = glossary(m.deciding, m.selector, m.classifier);
    byId("model-page").replaceChildren(
      el("h1", {}, m.name),
      el("div", { class: "facts" }, fact(grouped(m.labels), m.taxonomy ? "labels in a taxonomy" : "labels"), fact(grouped(m.features), "words it looks at"), fact(grouped(m.documents), "training documents"),
        ...m.quality.map((q) => fact(q.value.toFixed(3), MEASURES[q.measure] ?? q.measure))),
      m.quality.length > 0 && m.folds > 0 && el("p", { class: "mute small" }, m.folds === 1 ? "Quality was measured on the validation part of the corpus." : `Quality was measured in ${m.folds}-fold cross-validation on the training documents.`),
      el("dl", {}, row("Classifier", m.classifier), row("Words chosen by", `${m.selector}, ${grouped(m.features)} of ${grouped(m.vocabulary)}`), row("Labels decided by", m.deciding), row("Made by", m.program), row("File", `${grouped(m.bytes)} bytes${m.generation > 1 ? `, replaced ${m.generation - 1} times since the server started` : ""}`)),
      words.length > 0 && el("details", { class: "glossary" }, el("summary", {}, "What these names mean"), el("ul", {}, words.map((w) => el("li", {}, w)))),
      m.choices.length > 0 && el("h2", {}, "Why it is as it is"),
      m.choices.length > 0 && el("ul", {}, m.choices.map((c) => el("li", {}, c))),
      m.frontier.length > 1 && el("h2", {}, "What fewer words would cost"),
      m.frontier.length > 1 && el("div", { class: "plot" }, frontier(m.frontier, m.features)),
      m.confusions.length > 0 && el("h2", {}, "What it takes for what"),
      m.confusions.length > 0 && el("div", { class: "wide" }, el("table", { id: "confusions" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Documents of"), el("th", { scope: "col" }, "had first"), el("th", { scope: "col", class: "n" }, "how many"))),
        el("tbody", {}, m.confusions.map((c) => el("tr", {}, el("td", {}, link(c.label)), el("td", {}, link(c.taken_for)), el("td", { class: "n" }, number(c.documents).replace(/\.\d+$/, ""))))))));
  } catch (error) {
    problem("model-problem", error);
  }
}
