// The hooks and their health.
import { act, ago, ask, count, dialog, h, ms, problem, put, svg, text } from "./dom.js";
import { facts } from "./event.js";

export async function showHooks(view) {
  const found = await ask("hooks");
  put(view, h("h1", { tabindex: "-1" }, "Hooks"));
  if (!found.enabled) put(view, h("p", { class: "problem" }, "Hooks are disabled: the settings do not say \"enableHooks\": true. No hook runs."));
  if (!found.hooks.length) put(view, h("p", { class: "waiting" }, "No hooks are configured; hookline init writes a first one."));
  put(view, agents(found.agents));
  const events = Map.groupBy ? Map.groupBy(found.hooks, (hook) => hook.event) : grouped(found.hooks);
  for (const [event, hooks] of events) {
    put(view, h("section", { "aria-label": event }, h("h2", {}, text(event), " ", h("span", { class: "fired" }, `fired ${count(found.fired[event] ?? 0, "time")}`)), h("div", { class: "cards" }, hooks.map((hook) => card(hook, () => reload(view))))));
  }
  if (found.functions.length) {
    put(view, h("h2", {}, "Functions of programs"), h("ul", { class: "notes" }, found.functions.map((one) => h("li", {}, text(`${one.event} ${one.hook}`, 200), `: ${count(one.runs, "run")}, ${count(one.failures, "failure")}, last ${ago(one.lastRun)}`))));
  }
}

/** Configured, observed, enforced: each with the date of its last evidence, or that there is none. */
function words(given) {
  return h("ul", { class: "words" },
    h("li", { class: given.configured ? "yes" : "no" }, given.configured ? "configured" : "not configured"),
    ["observed", "enforced"].map((word) => h("li", { class: given[word] ? "yes" : "no", title: given[word] ? text(given[word], 40) : null }, given[word] ? [`${word} ${ago(given[word])}`, given[`${word}By`] ? [" by ", text(given[`${word}By`], 40)] : null] : `not ${word}`)));
}

function agents(known) {
  return h("section", { "aria-label": "Agents" }, h("h2", {}, "Agents"),
    h("p", { class: "message" }, "Configured: hooks can run there. Observed: the log has a run. Enforced: the log has a deny. ", h("code", {}, "hookline doctor --prove"), " tests it."),
    h("ul", { class: "agents" }, known.map((one) => h("li", {}, h("strong", {}, text(one.name, 60)), words(one),
      one.problem ? h("p", { class: "problem" }, text(one.problem, 400)) : null,
      one.files.length ? h("p", { class: "message" }, text(one.files.join(", "), 400)) : null))));
}

async function reload(view) {
  view.replaceChildren();
  await showHooks(view);
}

function grouped(hooks) {
  const groups = new Map();
  for (const hook of hooks) groups.set(hook.event, [...(groups.get(hook.event) ?? []), hook]);
  return groups;
}

function card(hook, changed) {
  const plot = h("div", { class: "plots" }, hook.histogram.length ? histogram(hook) : null);
  if (hook.runs > 1) ask("durations", { hook: hook.hook, event: hook.event }).then((values) => { if (values.length > 1) plot.append(sparkline(values)); }, () => {});
  return h("article", { class: `card ${hook.state}` },
    h("div", { class: "head" }, h("h3", {}, text(hook.hook, 120)), h("span", { class: `badge state-${hook.state}` }, hook.state)),
    words(hook.words),
    hook.description ? h("p", { class: "message" }, text(hook.description, 300)) : null,
    hook.runs
      ? h("p", { class: "numbers" }, h("span", {}, count(hook.runs, "run")), h("span", {}, count(hook.blocks, "block")), h("span", { class: hook.failures ? "bad" : "" }, count(hook.failures, "failure")), hook.timeouts ? h("span", { class: "bad" }, count(hook.timeouts, "timeout")) : null, h("span", {}, `last ${ago(hook.lastRun)}`))
      : h("p", { class: "never" }, h("strong", {}, "never ran"), hook.why ? [": ", text(hook.why, 600)] : null),
    hook.runs && hook.why ? h("p", { class: "never" }, text(hook.why, 600)) : null,
    plot,
    facts({ Matcher: h("code", {}, text(hook.matcher || "*", 200)), Timeout: ms(hook.timeout), Budget: hook.budget ? ms(hook.budget) : "", Order: hook.order, From: text(`${hook.file}${hook.line ? `:${hook.line}` : ""}`, 300), Trust: hook.needsTrust ? text(hook.trust) : "not needed" }),
    hook.needsTrust && hook.trust !== "trusted" ? h("p", { class: "advice" }, "To trust it, run in a terminal: ", h("code", {}, "hookline trust")) : null,
    switcher(hook, changed));
}

function switcher(hook, changed) {
  const word = hook.enabled ? "disable" : "enable";
  const run = async () => {
    const said = h("div", {}, h("p", {}, hook.enabled ? "The hook will not run any more, in any project of yours, until it is enabled again. If it is a guard, nothing guards instead." : "The hook will run again."), h("p", {}, "The same in a terminal: ", h("code", {}, `hookline ${word} `, text(JSON.stringify(hook.hook), 200))));
    await dialog(`${hook.enabled ? "Disable" : "Enable"} this hook?`, h("div", {}, h("p", {}, h("strong", {}, text(hook.hook, 200))), said), [[hook.enabled ? "Disable" : "Enable", async () => {
      try { await act("hooks/switch", { hook: hook.hook, enabled: !hook.enabled }); await changed(); } catch (error) { said.replaceChildren(problem(error)); return false; }
    }, "main"]]);
  };
  return h("button", { class: "quiet", onclick: run }, hook.enabled ? "Disable…" : "Enable…");
}

/** How long runs took: bars of 1, 2, 5 ms and so on, with the median and the 95th percentile. */
function histogram(hook) {
  const [width, height, top] = [220, 54, 12];
  const most = Math.max(...hook.histogram.map((bin) => bin.runs));
  const step = width / Math.max(4, hook.histogram.length);
  const at = (value) => {
    const index = hook.histogram.findIndex((bin) => bin.below === null || value < bin.below);
    const bin = hook.histogram[index < 0 ? hook.histogram.length - 1 : index];
    return (index + (bin.below === null ? 0.5 : (value - bin.from) / (bin.below - bin.from))) * step;
  };
  const label = `Times of ${count(hook.runs, "run")}: p50 ${ms(hook.median)}, p95 ${ms(hook.p95)}, longest ${ms(hook.max)}`;
  const mark = (value, name) => svg("g", { class: `mark ${name}` }, svg("line", { x1: at(value), x2: at(value), y1: top, y2: height }));
  return h("figure", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "plot" }, svg("title", {}, label),
    hook.histogram.map((bin, index) => svg("rect", { x: index * step + 1, width: Math.max(1, step - 2), y: height - (height - top) * bin.runs / most, height: (height - top) * bin.runs / most, rx: 1.5 })),
    mark(hook.median, "p50"), mark(hook.p95, "p95")),
  h("figcaption", {}, h("span", { class: "p50" }, `p50 ${ms(hook.median)}`), h("span", { class: hook.budget && hook.p95 > hook.budget ? "p95 bad" : "p95" }, `p95 ${ms(hook.p95)}`), h("span", {}, `max ${ms(hook.max)}`)));
}

/** The latest runs, one after another. */
function sparkline(values) {
  const [width, height] = [220, 40];
  const most = Math.max(...values, 0.001);
  const points = values.map((value, index) => `${(index / (values.length - 1) * width).toFixed(1)},${(height - 2 - value / most * (height - 4)).toFixed(1)}`).join(" ");
  const label = `The latest ${values.length} runs, up to ${ms(most)}`;
  return h("figure", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "plot line", preserveAspectRatio: "none" }, svg("title", {}, label), svg("polyline", { points })),
    h("figcaption", {}, h("span", {}, `latest ${count(values.length, "run")}`)));
}
