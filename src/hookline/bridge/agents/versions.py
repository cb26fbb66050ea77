"""Which version of each agent the bridge was run with: the only place that says so."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checked:
    """The version of an agent whose contract was checked."""

    version: str
    package: str | None = None
    """The package that `make bridge-live` installs to run it; None for an agent that was not run."""

    @property
    def was_run(self) -> bool:
        """True if the agent itself was run; otherwise only its documentation was read."""
        return self.package is not None


CHECKED: Mapping[str, Checked] = {
    # Claude Code's program comes inside this Python package; the others are npm packages.
    "claude": Checked("2.1.325", "claude-agent-sdk==0.2.182"),
    "codex": Checked("0.166.0", "@openai/codex@0.166.0"),
    "gemini": Checked("0.61.0", "@google/gemini-cli@0.61.0"),
    "copilot": Checked("1.0.102", "@github/copilot@1.0.102"),
    "cursor": Checked("3.9"),
}
