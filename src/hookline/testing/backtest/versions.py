"""The versions of the hooks that are compared: today's, those of a revision, those of a settings file."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hookline.client.config import Config
from hookline.protocol.constants import FiredBy, HookType
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.paths import default_paths
from hookline.settings.trust.store import TrustState, TrustStore, default_trust_path
from hookline.testing.backtest.scratch import NoCopyError, project_at
from hookline.testing.cases.run import MakeConfig

MakeIn = Callable[[str, Path | None], Config]
"""The configuration that the options ask for, in a directory and with a trust store, if not the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of the hooks, and where it runs."""

    make_config: MakeConfig
    project: str = ""
    copy: str = ""
    """Where its hooks find the project; empty for the project itself."""
    note: str | None = None


@contextmanager
def today(make: MakeIn, project: str) -> Iterator[Version]:
    """Today's hooks. Scripts run in a copy of the project, if git has it; packs need none."""
    config = make(project, None)

    def make_config(_: Mapping[str, str]) -> Config:
        return make(project, None)

    if not any(_is_script(hook) for hook in config.get_settings().hooks):
        yield Version(make_config=make_config)
        return
    with ExitStack() as opened:
        try:
            copy = str(opened.enter_context(project_at(project)))
        except NoCopyError:
            note = "git does not have this project, so the scripts run in the project itself"
            yield Version(make_config=make_config, note=note)
            return
        folder = opened.enter_context(TemporaryDirectory(prefix="hookline-trust-"))
        in_copy = _in_copy(make, config, copy, Path(folder) / "trust.json")
        yield Version(make_config=in_copy, project=project, copy=copy)


@contextmanager
def of_revision(project: str, revision: str) -> Iterator[Version]:
    """The hooks of a revision, in a copy of the project at that revision."""
    with project_at(project, revision) as copy:
        # Named files are trusted: the user who names a revision wants its hooks to run.
        files = [path for _, path in default_paths(copy).by_source() if path.is_file()]
        yield Version(
            make_config=lambda _: Config(
                copy, settings_files=files, quiet=True, log_file=False, fired_by=FiredBy.REPLAY
            ),
            project=project,
            copy=str(copy),
        )


def of_file(project: str, file: Path) -> Version:
    """The hooks of a settings file, with the scripts of today."""

    def make(_: Mapping[str, str]) -> Config:
        return Config(project, settings_files=[file], quiet=True, log_file=False, fired_by=FiredBy.REPLAY)

    note = f"the scripts of {file} run as they are now: a settings file does not say how they were"
    return Version(make_config=make, note=note)


def _in_copy(make: MakeIn, config: Config, copy: str, trust: Path) -> MakeConfig:
    """The same configuration in the copy. Hooks that are trusted in the project are trusted there, and no others."""
    usual = TrustStore(default_trust_path())
    project = config.get_working_dir()
    trusted = {
        hook.location
        for hook in config.get_settings().hooks
        if hook.needs_trust and usual.state_of(hook, project) is TrustState.TRUSTED
    }

    there = make(copy, trust).get_settings().hooks
    TrustStore(trust).trust([hook for hook in there if hook.needs_trust and hook.location in trusted], copy)
    return lambda _: make(copy, trust)


def _is_script(hook: HookEntry) -> bool:
    return hook.type is HookType.COMMAND and hook.command is not None
