// Builds the page. Untrusted text enters it only here, as text nodes: nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
// Characters that act on the text around them or can't be seen, each shown by its code.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;
const LONG = 4000;

/** An element with properties (attributes, `on…` listeners) and children: nodes, or texts of ours. */
export function h(tag, given = {}, ...children) {
  return fill(document.createElement(tag), given, children);
}

/** The same for SVG. */
export function svg(tag, given = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), given, children);
}

function fill(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Appends nodes and texts of ours, also lists of them. */
export function put(element, ...children) {
  return fill(element, {}, children);
}

/** Text of a stranger, isolated from the text around it, with unseen characters shown; cut if it is long. */
export function text(value, most = LONG) {
  const whole = value === null || value === undefined ? "" : String(value);
  const element = h("bdi");
  const shown = whole.length > most ? whole.slice(0, most) : whole;
  element.append(...pieces(shown));
  if (shown.length < whole.length) element.append("…");
  return element;
}

/** A long text with its lines, in a box; all of it after a click. */
export function block(value) {
  const whole = String(value ?? "");
  const box = h("pre", { class: "text", tabindex: "0" }, text(whole));
  if (whole.length <= LONG) return box;
  const more = h("button", { class: "quiet", onclick: () => { box.replaceChildren(text(whole, Infinity)); more.remove(); } },
    `Show all ${whole.length.toLocaleString()} characters`);
  return h("div", {}, box, more);
}

function pieces(shown) {
  const nodes = [];
  let done = 0;
  for (const found of shown.matchAll(UNSEEN)) {
    if (found.index > done) nodes.push(document.createTextNode(shown.slice(done, found.index)));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(h("span", { class: "code", title: "a character that can't be seen" }, `U+${code}`));
    done = found.index + found[0].length;
  }
  nodes.push(document.createTextNode(shown.slice(done)));
  return nodes;
}

export const badge = (outcome) => h("span", { class: `badge ${outcome.replaceAll(" ", "-")}` }, outcome);

/** What an event or a hook came to, and whether it was changed. */
export const outcome = (entry) => [badge(entry.outcome ?? "note"), entry.isRewritten ? [" ", badge("rewritten")] : null];

/** The command or the file of a tool call. */
export const call = (entry, most = 200) => (entry.call ? h("code", { class: "call" }, text(entry.call, most)) : null);

export function ms(value) {
  if (typeof value !== "number") return "";
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
  return `${(value / 60_000).toFixed(1)} min`;
}

export function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return "never";
  if (seconds < 10) return "just now";
  for (const [unit, size] of [["d", 86_400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  }
  return `${Math.floor(seconds)} s ago`;
}

const two = (number) => String(number).padStart(2, "0");

/** The time of a record: the clock, and the day if it is not today. */
export function clock(time) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return text(time, 40);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const shown = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const isToday = new Date().toDateString() === at.toDateString();
  return h("time", { datetime: at.toISOString(), title: `${day} ${shown}` }, isToday ? "" : h("span", { class: "day" }, `${day.slice(5)} `), shown);
}

export const count = (number, word) => `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`;

export const link = (path, ...children) => h("a", { href: `#/${path}` }, ...children);

/** A link that covers its whole row; links beside it stay links. */
export const rowLink = (path, ...children) => h("a", { href: `#/${path}`, class: "whole" }, ...children);

let announced = 0;
/** Says something to screen readers, at most every few seconds. */
export function announce(message) {
  if (Date.now() - announced < 5000) return;
  announced = Date.now();
  document.getElementById("announce").textContent = message;
}

/** What the server answers as JSON; an Error with its message if it refuses. */
export async function ask(path, given = {}, init = {}) {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const reply = await fetch(`/api/${path}${query.size ? `?${query}` : ""}`, init);
  const body = await reply.text();
  let value = null;
  try { value = JSON.parse(body); } catch { /* a refusal as plain text */ }
  if (!reply.ok) throw new Error(value?.error ?? (body.trim() || `the server answered ${reply.status}`));
  return value;
}

/** The same for something that is done, after the person has confirmed it. */
export const act = (path, value = {}) =>
  ask(path, {}, { method: "POST", body: JSON.stringify(value), headers: { "x-hookline-confirmed": "yes", "content-type": "application/json" } });

/** A dialog; `buttons` are pairs of a label and a function. Returns when it is closed. */
export function dialog(title, content, buttons) {
  return new Promise((resolve) => {
    const box = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => { box.remove(); resolve(); } },
      h("h2", { id: "dialog-title" }, title), content,
      h("div", { class: "buttons" },
        buttons.map(([label, run, kind]) => h("button", { class: kind, onclick: async () => { if ((await run()) !== false) box.close(); } }, label)),
        h("button", { class: "quiet", onclick: () => box.close() }, "Close")));
    document.body.append(box);
    box.showModal();
  });
}

/** What can't be shown, and why. */
export const problem = (error) => h("p", { class: "problem", role: "alert" }, text(error.message ?? error));
