// Which view is shown, by the part of the address behind #.
import { ask, h, problem, text } from "./dom.js";
import { showEvent } from "./event.js";
import { showHooks } from "./hooks.js";
import { showMachines } from "./machines.js";
import { showSession, showSessions } from "./sessions.js";
import { showSettings } from "./settings.js";
import { showTimeline } from "./timeline.js";
import { showTrials } from "./trials.js";

// The token is a cookie now; nobody should find it in the history.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);

const VIEWS = [
  [/^$/, showTimeline, "timeline", "Timeline"],
  [/^event\/([^/]+)$/, showEvent, "timeline", "Event"],
  [/^sessions$/, showSessions, "sessions", "Sessions"],
  [/^session\/([^/]+)$/, showSession, "sessions", "Session"],
  [/^machines$/, showMachines, "machines", "Machines"],
  [/^hooks$/, showHooks, "hooks", "Hooks"],
  [/^trials$/, showTrials, "trials", "Trials"],
  [/^settings$/, showSettings, "settings", "Settings"],
];
const main = document.getElementById("main");
let leave = () => {};
let turn = 0;

async function route(isFirst = false) {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  if (location.hash === "#main") return main.focus();
  const mine = ++turn;
  leave();
  leave = () => {};
  const [pattern, show, name, title] = VIEWS.find(([pattern]) => pattern.test(path)) ?? VIEWS[0];
  document.title = `${title} · hookline`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const view = h("div", { class: `view ${name}` });
  main.replaceChildren(h("p", { class: "waiting" }, "Loading…"));
  const slow = setTimeout(() => main.replaceChildren(h("p", { class: "waiting", role: "status" }, "Reading… The first look at a large log takes a while: it gets an index.")), 2000);
  try {
    const found = pattern.exec(path) ?? [];
    const left = await show(view, { given: found[1] === undefined ? "" : decodeURIComponent(found[1]), query: new URLSearchParams(query) });
    if (mine !== turn) return left?.();
    leave = left ?? leave;
  } catch (error) {
    if (mine !== turn) return undefined;
    view.replaceChildren(h("h1", {}, title), problem(error));
  } finally {
    clearTimeout(slow);
  }
  main.replaceChildren(view);
  if (!isFirst) main.querySelector("h1")?.focus();
}

addEventListener("hashchange", () => route());
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey;
  if (event.key === "/" && !isTyping && document.querySelector("#filter-tool")) {
    event.preventDefault();
    document.querySelector("#filter-tool").focus();
  }
});
route(true);
ask("settings").then((settings) => {
  document.getElementById("place").replaceChildren(text(settings.project, 200));
  // The hooks and settings here are not those of the machines.
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === "machines") link.hidden = !settings.fleet;
    else if (link.dataset.view === "hooks" || link.dataset.view === "settings") link.hidden = settings.fleet;
  }
}, () => {});
