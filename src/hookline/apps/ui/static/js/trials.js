// Hooks that are tried out: what each would have kept back, and what became of these calls.
import { ask, clock, count, h, link, ms, put, text } from "./dom.js";
import { facts } from "./event.js";

const SEQUELS = { ran: "ran", refused: "refused by a person or a rule of the agent", blocked: "blocked by another hook", unknown: "passed, and it is not known what then happened" };
const MOST_NAMES = 10;

export async function showTrials(view) {
  const found = await ask("trials");
  put(view, h("h1", { tabindex: "-1" }, "Trials"),
    h("p", { class: "message" }, "Hooks in mode shadow run, but their decisions are not applied. In a terminal: ", h("code", {}, "hookline log --stats --shadow")));
  if (!found.trials.length) return void put(view, h("p", { class: "waiting" }, found.none));
  put(view, found.trials.map(card));
}

function card(one) {
  return h("article", { class: "run tried" },
    h("div", { class: "title" }, h("h2", {}, text(one.event, 40), " ", text(one.hook, 120)), h("span", { class: "badge" }, text(one.mode, 20))),
    h("p", { class: "numbers" },
      h("span", {}, count(one.runs, "run")), one.machines ? h("span", {}, `on ${count(one.machines, "machine")}`) : null,
      h("span", { class: one.wouldBlock ? "bad" : "" }, `would have blocked ${one.wouldBlock.toLocaleString()}`), h("span", {}, `asked about ${one.wouldAsk.toLocaleString()}`),
      one.wouldStop ? h("span", {}, `stopped the agent at ${one.wouldStop.toLocaleString()}`) : null, one.wouldChange ? h("span", {}, `changed ${one.wouldChange.toLocaleString()}`) : null,
      h("span", { class: one.failures ? "bad" : "" }, count(one.failures, "failure")), h("span", {}, `p95 ${ms(one.p95)}`)),
    one.keptBack ? [became(one), facts({ Sessions: String(one.sessions), Tools: names(one.tools), "Asked by": names(one.agents), People: names(one.people) }), examples(one)]
      : h("p", { class: "message" }, "It would have blocked nothing."),
    facts({ From: text(one.origin, 300), "First run": clock(one.since), "Last run": clock(one.lastRun) }),
    h("p", { class: "advice" }, text(one.promote, 600)));
}

function became(one) {
  const rows = Object.entries(SEQUELS).filter(([name]) => one.sequels[name]);
  return h("div", {}, h("h3", {}, `What became of these ${one.keptBack.toLocaleString()}`),
    h("ul", { class: "sequels" }, rows.map(([name, words]) => h("li", {}, `${one.sequels[name].toLocaleString()} ${words}`)),
      one.repeated ? h("li", {}, `${one.repeated.toLocaleString()} the same as an earlier one of the session`) : null));
}

function names(counts) {
  const all = Object.entries(counts);
  if (!all.length) return null;
  return [all.slice(0, MOST_NAMES).map(([name, number], index) => [index ? ", " : "", text(name || "no subject", 80), ` ${number.toLocaleString()}`]), all.length > MOST_NAMES ? `, ${all.length - MOST_NAMES} more` : ""];
}

function examples(one) {
  const columns = ["Time", "It said", "Then", "Event"];
  return h("div", { class: "scroll" }, h("table", { class: "plain" }, h("caption", { class: "unseen" }, "The newest of them"), h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, [...one.examples].reverse().map((example) => {
      const cells = [clock(example.time), text(example.stderr || example.stdout || example.subject, 300), example.sequel, link(`event/${encodeURIComponent(example.fire)}`, "all about it")];
      return h("tr", {}, cells.map((cell, index) => h(index ? "td" : "th", { scope: index ? null : "row", "data-name": columns[index] }, cell)));
    }))));
}
