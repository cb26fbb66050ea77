// Where hooks come from, and whether they are trusted.
import { ask, h, ms, put, text } from "./dom.js";

export async function showSettings(view) {
  const found = await ask("settings");
  put(view, h("h1", { tabindex: "-1" }, "Settings"));
  if (found.notice) put(view, h("p", { class: "problem" }, text(found.notice)));
  if (found.problems.length) {
    put(view, h("h2", {}, "Problems"), h("ul", { class: "problems" }, found.problems.map((one) => h("li", { class: one.isError ? "bad" : "warn" }, text(one.text)))));
  }
  put(view, h("h2", {}, "Files"), table(["Layer", "File", "State"], found.files.map((file) => [
    text(file.source, 40), h("code", {}, text(file.file, 400)),
    [file.exists ? "read" : h("span", { class: "none" }, "not there"), file.needsTrust ? ", its hooks need trust" : "", file.dialect !== "hookline" ? [", ", text(file.dialect, 40)] : null]])));
  put(view, h("h2", {}, "Hooks"), found.hooks.length ? table(["Event", "Hook", "State", "Trust", "Matcher", "Timeout", "Command", "Source"], found.hooks.map((hook) => [
    text(hook.event, 40), text(hook.hook, 120), h("span", { class: `badge state-${hook.state}` }, hook.state),
    [hook.needsTrust ? text(hook.trust, 40) : h("span", { class: "none" }, "not needed"), hook.uncovered.length ? h("div", { class: "warn" }, "not covered: ", text(hook.uncovered.join(", "), 200)) : null],
    h("code", {}, text(hook.matcher || "*", 120)), ms(hook.timeout), h("code", {}, text(hook.command ?? "", 300)), [text(hook.source, 40), " ", h("span", { class: "from" }, text(`${hook.file}${hook.line ? `:${hook.line}` : ""}`, 300))]]))
    : h("p", { class: "waiting" }, "No hooks are configured; hookline init writes a first one."));
  if (found.hooks.some((hook) => hook.state === "untrusted" || hook.state === "changed")) put(view, h("p", { class: "advice" }, "Hooks of a project run only when you have reviewed and trusted them, at a terminal: ", h("code", {}, "hookline trust")));
  if (found.unused.length) put(view, h("h2", {}, "Never used"), table(["Hook", "Why", "File"], found.unused.map((hook) => [text(hook.hook, 120), text(hook.reason, 400), h("code", {}, text(`${hook.file}: ${hook.location}`, 300))])));
  put(view, h("p", { class: "none" }, "The log is ", h("code", {}, text(found.log, 400)), "; trust is ", text(found.trust, 40), "."));
}

function table(names, rows) {
  return h("div", { class: "scroll" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, index) => h(index ? "td" : "th", { scope: index ? null : "row", "data-name": names[index] }, cell)))))));
}
