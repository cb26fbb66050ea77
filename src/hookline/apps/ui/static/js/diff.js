// The difference of two values, line by line.
import { h, text } from "./dom.js";

const MOST_LINES = 600;
const AROUND = 3;

/** What was, and what came of it. */
export function diff(before, after) {
  const [old, now] = [lines(before), lines(after)];
  const steps = old.length > MOST_LINES || now.length > MOST_LINES ? [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])] : compare(old, now);
  const near = steps.map((_, index) => steps.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(([sign]) => sign !== " "));
  const box = h("pre", { class: "diff", tabindex: "0" });
  steps.forEach(([sign, line], index) => {
    if (near[index]) {
      const word = { "-": "removed: ", "+": "added: " }[sign];
      const tag = { "-": "del", "+": "ins" }[sign] ?? "span";
      box.append(h(tag, {}, word ? h("span", { class: "unseen" }, word) : null, `${sign} `, text(line, 2000)));
    } else if (near[index - 1]) box.append(h("span", { class: "gap" }, "  ⋯"));
  });
  return box;
}

function lines(value) {
  if (value === undefined || value === null) return [];
  return (typeof value === "string" ? value : JSON.stringify(value, null, 2)).split("\n");
}

function compare(old, now) {
  // The longest common part of every two ends of the texts.
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) common[i][j] = old[i] === now[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) { steps.push([" ", old[i++]]); j++; }
    else if (i < old.length && (j === now.length || common[i + 1][j] >= common[i][j + 1])) steps.push(["-", old[i++]]);
    else steps.push(["+", now[j++]]);
  }
  return steps;
}
