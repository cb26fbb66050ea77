// Sessions, and one of them as a story.
import { ask, badge, call, clock, count, h, link, ms, outcome, put, rowLink, text } from "./dom.js";
import { hasFailure } from "./timeline.js";

export async function showSessions(view) {
  const sessions = await ask("sessions");
  put(view, h("h1", { tabindex: "-1" }, "Sessions"));
  if (!sessions.length) return void put(view, h("p", { class: "waiting" }, "No session is recorded yet."));
  const names = ["Session", "Last call", "Project", "Agent", "First", "Last", "Runs", "Blocks", "Failures"];
  const table = h("table", { class: "rows sessions" }, h("caption", { class: "unseen" }, "Sessions, the latest first"), h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))));
  table.append(h("tbody", {}, sessions.map((one) => {
    const cells = [rowLink(`session/${encodeURIComponent(one.session)}`, text(one.session, 60)), call(one, 80) ?? "", one.project ? text(one.project, 200) : "", one.agent ? text(one.agent, 40) : "", clock(one.first), clock(one.last), one.runs.toLocaleString(), number(one.blocks, "bad"), number(one.failures, "warn")];
    return h("tr", {}, cells.map((cell, index) => h(index ? "td" : "th", { scope: index ? null : "row", "data-name": names[index] }, cell)));
  })));
  put(view, h("div", { class: "scroll" }, table));
}

const number = (value, kind) => h("span", { class: value ? kind : "none" }, value.toLocaleString());

export async function showSession(view, { given }) {
  const found = await ask("session", { id: given });
  const list = h("ol", { class: "story" }, found.rows.map(chapter));
  let next = found.next;
  const more = h("button", { class: "quiet wide", hidden: next === null, onclick: async () => {
    const page = await ask("session", { id: given, before: next });
    list.prepend(...page.rows.map(chapter));
    next = page.next;
    more.hidden = next === null;
  } }, "Load earlier records");
  const facts = found.summary;
  put(view, 
    h("p", { class: "crumbs" }, link("sessions", "← Sessions"), " · ", link(`?session=${encodeURIComponent(given)}`, "as a timeline")),
    h("h1", { tabindex: "-1" }, "Session ", text(given, 60)),
    facts ? h("p", { class: "message" }, `${count(facts.runs, "run")} of hooks, ${count(facts.blocks, "block")}, ${count(facts.failures, "failure")}`, facts.agent ? [" · asked by ", text(facts.agent, 40)] : null, facts.project ? [" · ", text(facts.project, 200)] : null) : null,
    more, list);
}

function chapter(row) {
  const title = h("span", {}, h("span", { class: "event" }, text(row.event ?? row.kind, 60)), row.subject ? [" ", h("span", { class: "subject" }, text(row.subject, 120))] : null);
  const runs = row.kind === "event" ? row.runs : [];
  return h("li", { class: row.outcome.replaceAll(" ", "-") },
    h("div", { class: "when" }, clock(row.time)),
    h("div", { class: "what" },
      h("div", { class: "head" }, row.fire ? rowLink(`event/${encodeURIComponent(row.fire)}`, title) : title, outcome(row), hasFailure(row) ? badge("failed") : null, row.model ? h("span", { class: "model" }, text(row.model, 60)) : null),
      call(row),
      sentence(row) === row.outcome ? null : h("p", {}, text(sentence(row), 600)),
      runs.length ? h("ul", { class: "chips" }, runs.slice(0, 20).map((run) => h("li", { class: run.outcome.replaceAll(" ", "-"), title: run.outcome }, text(run.hook, 60), ` ${ms(run.duration)}`)), runs.length > 20 ? h("li", {}, `${runs.length - 20} more`) : null, row.isCut ? h("li", {}, "…") : null) : null));
}

// The message without what stands beside it.
const sentence = (row) => String(row.message ?? "").replace(/^[^:]*: /, "").replace(/ \([^()]*, [\d.]+ ms\)$/, "");
