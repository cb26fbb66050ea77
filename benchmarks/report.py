"""Writes what was measured: a table, the growth, and a plot."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

from benchmarks.race import ALL, ASYNCIO, BARE, FLOOR, NODE, OURS, SUBPROCESS, Times

BEGIN = "<!-- figures: written by benchmarks/run.py, not by hand -->"
END = "<!-- end of figures -->"
COLOURS = {
    FLOOR: "#9aa0a6",
    OURS: "#1a73e8",
    BARE: "#aecbfa",
    SUBPROCESS: "#f9ab00",
    ASYNCIO: "#e8710a",
    NODE: "#188038",
}


@dataclass(frozen=True)
class Figure:
    """One measured number and its goal; no unit means a ratio."""

    name: str
    value: float | None
    goal: float
    unit: str = ""

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        if self.value is None:
            return "skipped"
        return "met" if self.value <= self.goal else "missed"

    @property
    def shown(self) -> str:
        """The value as people read it."""
        if self.value is None:
            return "-"
        return f"{self.value:.4g} {self.unit}" if self.unit else f"{self.value:.2f}"

    @property
    def goal_shown(self) -> str:
        """The goal as people read it."""
        return f"{self.goal:g} {self.unit}".strip() if self.unit else f"{self.goal:.2f}"


@dataclass(frozen=True)
class Measured:
    """Everything that one run found out."""

    machine: str
    rounds: int
    figures: list[Figure]
    with_sh: list[Figure]
    """Beside the figures: some of them once more, with sh in place of bash."""
    times: dict[str, Times]
    growth: dict[str, Times]
    missing: dict[str, str]
    engine: dict[str, float]


def page(run: Measured) -> str:
    """The generated part of docs/performance.md."""
    lines = [
        f"Measured on: {run.machine}. {run.rounds} rounds, six times that for one hook, three for 8, two for 32.",
        "",
    ]
    lines += [f"Left out: {name}, because {reason}." for name, reason in run.missing.items()]
    lines += ["| figure | measured | at most | |", "|---|---|---|---|"]
    lines += [f"| {each.name} | {each.shown} | {each.goal_shown} | {each.verdict} |" for each in run.figures]
    lines += ["", "With sh in place of bash, on all sides:", ""]
    lines += [f"- {each.name}: {each.shown}" for each in run.with_sh]
    lines += ["", "Ratios to the floor (milliseconds in brackets):", ""]
    lines += [f"| | {' | '.join(ALL)} |", f"|---|{'---|' * len(ALL)}"]
    for name, each in run.times.items():
        if _races(each):
            lines.append(f"| {name} | {' | '.join(_cell(each, who) for who in ALL)} |")
    lines += ["", "![Ratios to the floor](performance.svg)", ""]
    lines += ["How the time of an event grows with the number of its hooks (medians, milliseconds):", ""]
    lines += [f"| hooks at once | {' | '.join(run.growth)} |", f"|---|{'---|' * len(run.growth)}"]
    for who in (FLOOR, OURS):
        lines.append(f"| {who} | {' | '.join(_milliseconds(each, who) for each in run.growth.values())} |")
    spans = run.engine
    lines += ["", f"Merging the answers of 100 hooks: {spans['merging_us']:.0f} µs."]
    lines += [f"`hookline --help`: {spans['help_ms']:.0f} ms; `python -c pass`: {spans['pass_ms']:.0f} ms."]
    return "\n".join(lines)


def write(docs: Path, text: str, times: dict[str, Times]) -> None:
    """Puts the figures between their marks, and the plot beside the page."""
    target = docs / "performance.md"
    before, _, rest = target.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    target.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    (docs / "performance.svg").write_text(plot({name: each for name, each in times.items() if _races(each)}))


def plot(times: dict[str, Times]) -> str:
    """Bars of the ratios to the floor, grouped by scenario."""
    bar, gap, left, scale, longest = 13, 16, 250, 110, 4.0
    shapes: list[str] = []
    y = 40
    for place, who in enumerate(ALL):
        shapes.append(f'<rect x="{left + place * 130}" y="10" width="11" height="11" fill="{COLOURS[who]}"/>')
        shapes.append(f'<text x="{left + place * 130 + 16}" y="20">{escape(who)}</text>')
    for name, each in times.items():
        shapes.append(f'<text x="{left - 10}" y="{y + 26}" text-anchor="end">{escape(name)}</text>')
        for who in ALL:
            ratio = each.ratio(who)
            if ratio is None:
                continue
            width = min(ratio, longest) * scale
            shapes.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="{bar - 2}" fill="{COLOURS[who]}"/>')
            shapes.append(f'<text x="{left + width + 4:.1f}" y="{y + 10}">{ratio:.2f}</text>')
            y += bar
        y += gap
    width = left + len(ALL) * 130
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" font-family="sans-serif" '
        'font-size="11">\n'
        f'<rect width="{width}" height="{y}" fill="white"/>\n'
        f'<line x1="{left + scale}" y1="34" x2="{left + scale}" y2="{y - gap}" stroke="#9aa0a6" '
        'stroke-dasharray="3 3"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _races(times: Times) -> bool:
    return SUBPROCESS in times.total


def _cell(times: Times, who: str) -> str:
    ratio = times.ratio(who)
    return f"{ratio:.2f} ({_milliseconds(times, who)})" if ratio is not None else _milliseconds(times, who)


def _milliseconds(times: Times, who: str) -> str:
    return f"{median(times.total[who]) / 1e6:.1f}" if who in times.total else "-"
