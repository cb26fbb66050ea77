// The events as they happen, newest first.
import { activity } from "./activity.js";
import { announce, ask, badge, call, clock, count, h, link, ms, outcome, problem, put, rowLink, text } from "./dom.js";

const MOST_ROWS = 1000;
const EVENTS = ["BeforeTool", "AfterTool", "BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeAgent", "AfterAgent", "SessionStart", "SessionEnd", "PreCompress", "Notification"];
const DECISIONS = ["allowed", "blocked", "asked", "stopped", "would block", "rewritten", "no opinion", "failed", "skipped", "would ask"];
const COLUMNS = ["Time", "Event", "Outcome", "Decided by", "Model or agent", "Session", "Took"];
const kept = { filters: {}, isLive: true };

export async function showTimeline(view, { query }) {
  if (query.size) kept.filters = Object.fromEntries(query);
  const table = h("table", { class: "rows" },
    h("caption", { class: "unseen" }, "Events, newest first"),
    h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))));
  const body = h("tbody");
  table.append(body);
  const state = { body, next: null, waiting: [], source: null, longest: 1 };
  const older = h("button", { class: "quiet wide", onclick: () => load(true) }, "Load older");
  const fresh = h("button", { class: "fresh", hidden: true, onclick: () => { flush(); scrollTo({ top: 0 }); } }, "New events");
  const note = h("p", { class: "waiting" });
  const live = h("button", { class: "live", "aria-pressed": String(kept.isLive), onclick: toggle }, "Live");
  const form = filters(() => { kept.filters = read(form); start(); });
  const chart = h("div", { class: "activity" });
  ask("projects").then((known) => offer(form.form.elements.project, known), () => {});
  put(view,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Timeline"), live),
    form, chart, fresh, h("div", { class: "scroll" }, table), note, older);

  async function start() {
    state.source?.close();
    activity(chart, kept.filters);
    if (await load()) listen();
  }

  /** Reads a page; returns whether that worked. */
  async function load(isMore = false) {
    note.textContent = isMore ? "" : "Reading the log…";
    older.disabled = true;
    try {
      const page = await ask("rows", { ...kept.filters, before: isMore ? state.next : "" });
      if (!isMore) { body.replaceChildren(); state.longest = 1; }
      body.append(...page.rows.map(row));
      state.next = page.next;
      older.hidden = page.next === null;
      note.textContent = body.childElementCount ? "" : Object.keys(kept.filters).length ? "No record matches the filters." : "Nothing is recorded yet. Events appear here as soon as a hook runs.";
    } catch (error) {
      body.replaceChildren();
      note.replaceChildren(problem(error));
      return false;
    } finally {
      older.disabled = false;
    }
    return true;
  }

  function listen() {
    state.source?.close();
    if (!kept.isLive) return;
    state.source = new EventSource(`/api/live?${new URLSearchParams(kept.filters)}`);
    state.source.addEventListener("rows", (event) => {
      state.waiting.push(...JSON.parse(event.data));
      state.waiting.splice(0, state.waiting.length - MOST_ROWS);
      if (scrollY < 300) flush();
      fresh.textContent = `${count(state.waiting.length, "new event")} ↑`;
      fresh.hidden = state.waiting.length === 0;
    });
    state.source.addEventListener("reload", () => load());
  }

  function flush() {
    if (!state.waiting.length) return;
    const rows = state.waiting.splice(0);
    const blocked = rows.filter((one) => one.outcome === "blocked" || one.outcome === "stopped").length;
    body.prepend(...rows.reverse().map((one) => { const made = row(one); made.classList.add("new"); return made; }));
    while (body.childElementCount > MOST_ROWS) body.lastElementChild.remove();
    note.textContent = "";
    fresh.hidden = true;
    announce(`${count(rows.length, "new event")}${blocked ? `, ${blocked} blocked` : ""}`);
  }

  function toggle() {
    kept.isLive = !kept.isLive;
    live.setAttribute("aria-pressed", String(kept.isLive));
    start();
  }

  await start();
  return () => state.source?.close();
}

/** One record as a row of the table. */
export function row(entry) {
  const what = [h("span", { class: "event" }, text(entry.event ?? entry.kind ?? "record", 60)), entry.subject ? [" ", h("span", { class: "subject" }, text(entry.subject, 80))] : null];
  const title = entry.fire ? rowLink(`event/${encodeURIComponent(entry.fire)}`, ...what) : h("span", {}, ...what);
  const isPlain = entry.kind === "event" || entry.kind === "hook";
  const by = entry.kind === "hook" ? [entry.hook] : entry.by ?? [];
  const facts = [
    clock(entry.time),
    h("div", {}, title, call(entry), entry.untrusted?.length ? h("div", { class: "message" }, "not run, because not trusted: ", text(entry.untrusted.join(", "), 200)) : null, isPlain ? null : h("div", { class: "message" }, text(entry.message, 300))),
    [outcome(entry), hasFailure(entry) ? [" ", badge("failed")] : null],
    by.length ? h("span", { class: "by" }, text(by.join(", "), 120)) : "",
    [entry.model ? h("span", { class: "model" }, text(entry.model, 60)) : null, entry.asker ? h("span", { class: "agent" }, text(entry.asker, 40)) : null],
    [entry.machine ? h("span", { class: "agent" }, text(`${entry.machine} ${entry.user}`, 80)) : null, entry.session ? link(`session/${encodeURIComponent(entry.session)}`, text(entry.machine ? entry.session.slice(entry.machine.length + 1) : entry.session, 8)) : null, entry.project ? h("span", { class: "agent" }, text(entry.project.split("/").pop() || "/", 40)) : null],
    h("span", { class: "took" }, ms(entry.duration)),
  ];
  return h("tr", { class: entry.outcome.replaceAll(" ", "-") }, facts.map((fact, index) => h(index === 1 ? "th" : "td", { scope: index === 1 ? "row" : null, "data-name": COLUMNS[index] }, fact)));
}

/** Whether a hook failed without effect on what the event came to. */
export const hasFailure = (entry) => entry.kind === "event" && entry.success === false && entry.decider !== "fault" && entry.outcome === "allowed";

function filters(changed) {
  const field = (name, label, control) => h("label", { for: `filter-${name}` }, h("span", {}, label), control);
  const input = (name, label, more = {}) => field(name, label, h("input", { id: `filter-${name}`, name, value: kept.filters[name] ?? "", autocomplete: "off", spellcheck: "false", ...more }));
  const select = (name, label, values) => field(name, label, h("select", { id: `filter-${name}`, name },
    values.map(([value, shown]) => h("option", { value, selected: (kept.filters[name] ?? "") === value }, shown))));
  const any = (values) => [["", "any"], ...values.map((value) => [value, value])];
  const check = (name, label) => h("label", { class: "check" }, h("input", { type: "checkbox", name, value: "1", checked: kept.filters[name] === "1" }), label);
  const form = h("form", { class: "filters", role: "search", "aria-label": "Filters" },
    select("show", "Show", [["", "events"], ["runs", "runs of hooks"], ["all", "all records"]]),
    select("project", "Project", [["", "all"], ...(kept.filters.project ? [[kept.filters.project, text(kept.filters.project, 200)]] : [])]),
    select("event", "Event", any(EVENTS)), input("tool", "Tool"), input("hook", "Hook"),
    select("decision", "Outcome", any(DECISIONS)), input("agent", "Agent"), input("session", "Session"),
    input("since", "Since", { placeholder: "10m, 2h, 7d", title: "10m, 2h, 7d, or 2025-02-18T16:30" }), input("until", "Until"),
    input("slower-than", "Slower than", { placeholder: "ms", inputmode: "numeric" }),
    check("failures", "Failures"), check("unfinished", "Unfinished"),
    h("button", { type: "reset", class: "quiet" }, "Clear"));
  form.addEventListener("change", changed);
  form.addEventListener("submit", (event) => { event.preventDefault(); changed(); });
  form.addEventListener("reset", () => {
    for (const control of form.elements) { if (control.type === "checkbox") control.defaultChecked = false; else if (control.tagName === "INPUT") control.defaultValue = ""; for (const option of control.options ?? []) option.defaultSelected = option.value === ""; }
    setTimeout(changed);
  });
  const isOpen = Object.keys(kept.filters).length > 0 || innerWidth > 800;
  const details = h("details", { class: "filterbox", open: isOpen }, h("summary", {}, "Filters"));
  details.append(form);
  details.elements = form.elements;
  details.form = form;
  return details;
}

/** Adds the projects that the log knows; reading it takes a while, so they come later than the rows. */
function offer(control, known) {
  const there = new Set([...control.options].map((option) => option.value));
  control.append(...known.filter((one) => !there.has(one)).map((one) => h("option", { value: one }, text(one, 200))));
}

function read(details) {
  return Object.fromEntries([...new FormData(details.form)].filter(([, value]) => value !== ""));
}
