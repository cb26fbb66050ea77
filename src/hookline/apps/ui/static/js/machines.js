// The machines of a fleet: who is silent, out of date, or without working guards.
import { ago, ask, count, h, link, put, text } from "./dom.js";

export async function showMachines(view) {
  const { machines } = await ask("machines");
  put(view, h("h1", { tabindex: "-1" }, "Machines"));
  if (!machines.length) return void put(view, h("p", { class: "waiting" }, "No machine has reported yet; each machine runs hookline fleet run."));
  const bad = machines.filter((one) => one.problems.length);
  put(view, h("p", { class: "message" }, `${count(machines.length, "machine")}, ${bad.length ? `${bad.length} with problems` : "none with a problem"}`));
  const names = ["Machine", "User", "Team", "Last seen", "Policy", "Hooks", "Canary", "Problems"];
  put(view, h("div", { class: "scroll" }, h("table", { class: "rows machines" },
    h("caption", { class: "unseen" }, "Machines, by name"),
    h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, [...bad, ...machines.filter((one) => !one.problems.length)].map((one) => {
      const cells = [
        text(one.machine, 80), text(one.user, 60), text(one.team, 60), one.lastSeen ? ago(one.lastSeen) : "never",
        one.policy === null ? h("span", { class: "none" }, "none") : String(one.policy), hooks(one),
        one.canary ? ago(one.canary) : h("span", { class: "none" }, "none yet"),
        one.problems.length ? h("ul", { class: "problems" }, one.problems.slice(0, 10).map((each) => h("li", { class: "bad" }, text(each, 300)))) : h("span", { class: "badge ok" }, "ok")];
      return h("tr", {}, cells.map((cell, index) => h(index ? "td" : "th", { scope: index ? null : "row", "data-name": names[index] }, cell)));
    })))), h("p", {}, link("", "All their records"), " are in the timeline."));
}

function hooks(machine) {
  const summary = `${machine.running} of ${machine.hooks} can run`;
  if (!machine.words.length) return summary;
  return h("details", {}, h("summary", {}, summary), h("ul", {}, machine.words.map((hook) =>
    h("li", { class: hook.can_run ? "" : "bad" }, text(`${hook.event} ${hook.name}`, 160), " (", hook.can_run ? null : [text(hook.state, 40), ", "], `last run ${hook.last_run ? ago(hook.last_run) : "never"})`))));
}
