// JSON as a tree, or any text as it is; a person chooses.
import { block, h, text } from "./dom.js";

const MOST_ITEMS = 200;
const OPEN_DEPTH = 3;
let numbered = 0;

/** A text that may be JSON, as a tree and raw. */
export function treeOrRaw(label, raw) {
  if (raw === null || raw === undefined || raw === "") return h("div", { class: "said" }, h("h4", {}, label), h("p", { class: "empty" }, "empty"));
  const value = parse(raw);
  if (value === undefined) return h("div", { class: "said" }, h("h4", {}, label), block(raw));
  const place = h("div", {}, tree(value));
  const name = `form-${++numbered}`;
  const choice = (word, isTree) => h("label", {}, h("input", { type: "radio", name, checked: isTree, onchange: () => place.replaceChildren(isTree ? tree(value) : block(raw)) }), word);
  const chooser = h("fieldset", { class: "chooser" }, h("legend", { class: "unseen" }, `${label}: form`), choice("Tree", true), choice("Raw", false));
  return h("div", { class: "said" }, h("div", { class: "head" }, h("h4", {}, label), chooser), place);
}

/** A value as nested lists. */
export function tree(value, depth = 0) {
  if (value === null || typeof value !== "object") return leaf(value);
  const entries = Object.entries(value);
  const marks = Array.isArray(value) ? "[]" : "{}";
  if (!entries.length) return h("span", { class: "mark" }, marks);
  const list = h("ul", { class: "tree" });
  const more = (from) => {
    list.append(...entries.slice(from, from + MOST_ITEMS).map(([key, item]) => item_of(key, item, depth)));
    if (entries.length > from + MOST_ITEMS) {
      const button = h("button", { class: "quiet", onclick: () => { button.parentNode.remove(); more(from + MOST_ITEMS); } }, `${entries.length - from - MOST_ITEMS} more`);
      list.append(h("li", {}, button));
    }
  };
  more(0);
  return list;
}

function item_of(key, value, depth) {
  const name = h("span", { class: "key" }, text(key, 200));
  if (value === null || typeof value !== "object" || !Object.keys(value).length) return h("li", {}, name, ": ", tree(value));
  const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
  const details = h("details", { open: depth < OPEN_DEPTH }, h("summary", {}, name, " ", h("span", { class: "mark" }, size)));
  const fill = () => { if (details.open && details.childElementCount === 1) details.append(tree(value, depth + 1)); };
  details.addEventListener("toggle", fill);
  fill();
  return h("li", {}, details);
}

function leaf(value) {
  if (typeof value !== "string") return h("span", { class: "literal" }, String(value));
  return value.includes("\n") || value.length > 300 ? block(value) : h("span", { class: "string" }, text(JSON.stringify(value)));
}

function parse(raw) {
  try {
    const value = JSON.parse(raw);
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}
