// One event in full.
import { act, ask, badge, block, call, clock, count, dialog, h, link, ms, outcome, problem, put, text } from "./dom.js";
import { diff } from "./diff.js";
import { tree, treeOrRaw } from "./tree.js";

const WAYS = { cold: "cold: a new process", warm: "warm: a pre-started interpreter", worker: "worker: a resident process", http: "a request", function: "a function of the program" };

export async function showEvent(view, { given }) {
  const event = await ask(`events/${encodeURIComponent(given)}`);
  const end = event.end ?? event.runs[0] ?? {};
  const results = h("section", { class: "results", "aria-live": "polite" });
  put(view, 
    h("p", { class: "crumbs" }, link("", "← Timeline"), end.session ? [" · ", link(`session/${encodeURIComponent(end.session)}`, "session")] : null),
    h("div", { class: "title" },
      h("h1", { tabindex: "-1" }, text(end.event, 60), " ", h("span", { class: "subject" }, text(end.subject ?? "", 200))),
      outcome(end)),
    call(end),
    h("p", { class: "message" }, text(end.message, 2000)),
    facts({ Time: clock(end.time), Took: ms(end.duration), "Decided by": (end.by ?? []).length ? text(end.by.join(", ")) : "", Model: end.model && text(end.model), "Fired by": end.asker && text([end.asker, end.agentEvent].filter(Boolean).join(" ")), Machine: end.machine && text(`${end.machine} ${end.user}`), Session: end.session && text(end.session), Id: text(event.fire) }),
    h("div", { class: "buttons" },
      h("button", { onclick: () => replay(event.fire, results) }, "Replay with today's hooks"),
      h("button", { class: "quiet", onclick: () => copyCase(event.fire, results) }, "Copy as test case")),
    results,
    provenance(end.provenance),
    h("h2", {}, count(event.runs.length, "hook")),
    event.runs.map((run, index) => showRun(run, event.inputs[run.inputIndex], index)),
    event.others.length ? [h("h2", {}, "Notes"), h("ul", { class: "notes" }, event.others.map((other) => h("li", {}, badge(other.kind ?? "note"), " ", text(other.message), other.traceback ? block(other.traceback) : null)))] : null);
}

function showRun(run, input, index) {
  const facts_ = { Decision: text(run.decision ?? "none"), Way: run.way && (WAYS[run.way] ?? text(run.way)), "Exit code": run.exitCode ?? "", Signal: run.signal ?? "", Error: run.error && text(run.error), Command: run.command && h("code", {}, text(run.command, 1000)), From: run.origin && text(`${run.origin}: ${run.location ?? ""}`), Source: run.source && text(run.source), Format: run.dialect && text(`${run.dialect} (${run.theirEvent ?? ""})`), Cut: run.truncated && "the output is longer than hooksConfig.outputLimit" };
  return h("details", { class: `run ${run.outcome}`, open: index < 5 },
    h("summary", {}, h("h3", {}, text(run.hook, 200)), badge(run.outcome), h("span", { class: "way" }, text(run.way ?? "", 20)), h("span", { class: "took" }, ms(run.duration))),
    facts(facts_),
    run.changes.map((change) => h("div", { class: "said" }, h("h4", {}, `Rewrites ${change.field}`), diff(change.before, change.after))),
    h("div", { class: "sides" }, treeOrRaw("Input (stdin)", input), h("div", {}, treeOrRaw("Output (stdout)", run.stdout), run.stderr ? treeOrRaw("stderr", run.stderr) : null)));
}

function provenance(fields) {
  const rows = Object.entries(fields ?? {});
  if (!rows.length) return null;
  return [h("h2", {}, "Where each field comes from"),
    h("div", { class: "scroll" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Field of the answer"), h("th", { scope: "col" }, "Hook"))),
      h("tbody", {}, rows.map(([path, hooks]) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, text(path, 200))), h("td", {}, text(hooks.join(", "), 500)))))))];
}

export function facts(given) {
  return h("dl", { class: "facts" }, Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

async function copyCase(fire, results) {
  try {
    const { text: lines } = await ask(`events/${encodeURIComponent(fire)}/case`);
    const copied = await navigator.clipboard.writeText(lines).then(() => true, () => false);
    await dialog("Test case", h("div", {}, h("p", {}, copied ? "Copied. Put it into a file named *.hooks.toml beside your settings; hookline test runs it." : "Copy this into a file named *.hooks.toml beside your settings; hookline test runs it."), block(lines)), []);
  } catch (error) { results.replaceChildren(problem(error)); }
}

async function replay(fire, results) {
  const ask_ = h("p", {}, "Runs today's hooks on this event again. No tool is executed, and nothing is added to the log. Side effects of the hooks are real: a hook that sends mail sends it.");
  await dialog("Replay this event?", ask_, [["Replay", () => { run(); }, "main"]]);
  async function run() {
    results.replaceChildren(h("p", { class: "waiting" }, "The hooks run…"));
    try { results.replaceChildren(showReplay(await act(`events/${encodeURIComponent(fire)}/replay`))); } catch (error) { results.replaceChildren(problem(error)); }
  }
}

function showReplay(found) {
  const verdict = found.problem ? h("p", { class: "problem" }, text(found.problem))
    : found.differences.length ? h("p", { class: "different" }, "Today it would be decided differently.")
      : h("p", { class: "same" }, "Today's hooks decide the same.");
  return h("div", { class: "replay" }, h("h2", {}, "Replayed now ", found.outcome ? outcome(found) : null), verdict,
    found.differences.map((one) => h("div", { class: "said" }, h("h4", {}, text(one.what, 100)), diff(one.before, one.now))),
    found.reason ? h("p", {}, "Reason: ", text(found.reason)) : null,
    found.elsewhere ? h("p", { class: "empty" }, "It happened in another project: ", text(found.elsewhere, 300), ". These are the hooks of the project that this page is about.") : null,
    found.hidden ? h("p", { class: "empty" }, "The log has hidden a secret in this input, so hooks may judge it differently.") : null,
    found.effect ? h("div", { class: "said" }, h("h4", {}, "Rewritten to"), tree(found.effect)) : null,
    (found.messages ?? []).map((message) => h("p", { class: "empty" }, text(message))),
    found.runs ? h("ul", { class: "notes" }, found.runs.map((one) => h("li", {}, text(one.hook, 200), ` ${ms(one.duration)} `, text(one.output?.decision ?? one.error ?? "", 200)))) : null);
}
