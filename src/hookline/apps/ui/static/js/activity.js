// A chart of events over time, and the calls that were blocked most often.
import { ask, count, h, put, svg, text } from "./dom.js";

const WIDTH = 960;
const HEIGHT = 72;
const PARTS = [["blocked", "bar-blocked"], ["stopped", "bar-blocked"], ["asked", "bar-asked"], ["wouldBlock", "bar-would"]];
const WORDS = { blocked: "blocked", stopped: "stopped", asked: "asked", wouldBlock: "would block" };

/** Fills the box; a log that can't be read is reported by the timeline. */
export async function activity(box, filters) {
  let done;
  try { done = await ask("activity", filters); } catch { return; }
  if (!box.isConnected && box.childElementCount) return;
  box.replaceChildren();
  if (!done.chart.length) return;
  const total = Object.values(done.events).reduce((sum, each) => sum + each, 0);
  const counted = Object.entries(done.events).map(([word, number]) => `${number.toLocaleString()} ${word}`).join(", ");
  put(box,
    h("figure", { class: "over-time" },
      h("figcaption", {}, `${count(total, "event")}: ${counted}. Each bar is ${span(done.step)}.`), chart(done.chart)),
    done.blockedCalls.length ? h("section", { class: "most" }, h("h2", {}, "Blocked most often"),
      h("ol", {}, done.blockedCalls.map((one) => h("li", {}, h("span", { class: "times" }, `${one.count.toLocaleString()} ×`), " ", text(one.tool, 60), " ", h("code", { class: "call" }, text(one.call, 200)))))) : null);
}

function chart(bars) {
  const most = Math.max(...bars.map((bar) => bar.events), 1);
  const wide = Math.min(40, WIDTH / bars.length);
  const image = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none", "aria-label": "Events over time" });
  bars.forEach((bar, index) => {
    if (!bar.events) return;
    const group = svg("g", {}, svg("title", {}, sentence(bar)));
    let top = HEIGHT;
    const rest = bar.events - PARTS.reduce((sum, [name]) => sum + bar[name], 0);
    for (const [number, kind] of [...PARTS.map(([name, kind]) => [bar[name], kind]), [rest, "bar-allowed"]]) {
      if (!number) continue;
      const high = Math.max(2, (number / most) * (HEIGHT - 8));
      top -= high;
      group.append(svg("rect", { class: kind, x: (index * wide + 1).toFixed(2), y: top.toFixed(2), width: Math.max(1, wide - 2).toFixed(2), height: high.toFixed(2) }));
    }
    image.append(group);
  });
  return image;
}

function sentence(bar) {
  const parts = PARTS.filter(([name]) => bar[name]).map(([name]) => `${bar[name].toLocaleString()} ${WORDS[name]}`);
  return `${new Date(bar.time).toLocaleString()}: ${count(bar.events, "event")}${parts.length ? `, ${parts.join(", ")}` : ""}`;
}

function span(seconds) {
  for (const [unit, word] of [[86_400, "day"], [3600, "hour"], [60, "minute"]]) if (seconds % unit === 0) return count(seconds / unit, word);
  return count(seconds, "second");
}
