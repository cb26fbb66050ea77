"""The options that choose records of the log."""

import argparse

from hookline.apps.cli.options import at_least, event_of, recorded_project
from hookline.errors import UsageError
from hookline.log.read.entry import LogQuery
from hookline.log.read.timespec import read_when
from hookline.protocol.text.outcome_words import RECORD_WORDS


def add_filter_options(parser: argparse.ArgumentParser, *, of_projects: bool = True) -> None:
    """Add the options that select records."""
    parser.add_argument("--event", metavar="EVENT", help="records of this event")
    parser.add_argument("--tool", metavar="NAME", help="about this tool (or source, reason, trigger, type)")
    parser.add_argument("--hook", metavar="HOOK", help="of this hook, by its name, or its command where it has none")
    parser.add_argument("--session", metavar="ID", help="of this session")
    if of_projects:
        parser.add_argument(
            "--all-projects", action="store_true", help="of all projects, not only of this one (see --project)"
        )
    parser.add_argument("--agent", metavar="AGENT", help="asked by this other agent, such as claude")
    parser.add_argument("--since", metavar="WHEN", help="not older than 90s, 10m, 2h, 7d, or 2025-02-18[T16:30]")
    parser.add_argument("--until", metavar="WHEN", help="older than that, in the same words")


def add_run_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that select single runs."""
    words = ", ".join(RECORD_WORDS)
    parser.add_argument(
        "--decision", metavar="WORD", choices=RECORD_WORDS, help=f"events and hooks with this outcome: {words}"
    )
    parser.add_argument("--failures", action="store_true", help="hooks that failed; a deny is not a failure")
    parser.add_argument("--unfinished", action="store_true", help="hooks that were started and have no recorded end")
    parser.add_argument(
        "--slower-than", metavar="MS", type=at_least(0, float), help="hooks that took more milliseconds than this"
    )


def add_statistics_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `log --stats`."""
    parser.add_argument(
        "--fail-over-budget", action="store_true", help="exit with code 1 when a hook's p95 is over its budget"
    )
    parser.add_argument("--shadow", action="store_true", help="what hooks in the mode shadow would have decided")


def query_of(given: argparse.Namespace, kinds: frozenset[str] | None = None, *, project: str | None = None) -> LogQuery:
    """The query that the options ask for, of one project or of all; a command need not have each option."""
    options = vars(given)
    event = options.get("event")
    return LogQuery(
        event=None if event is None else event_of(event).value,
        tool=options.get("tool"),
        hook=options.get("hook"),
        session=options.get("session"),
        project=project,
        agent=options.get("agent"),
        since=time_of("--since", options.get("since")),
        until=time_of("--until", options.get("until")),
        decision=options.get("decision"),
        failures=options.get("failures", False),
        slower_than_ms=options.get("slower_than"),
        hides_unmatched=options.get("skipped") is False and options.get("hook") is None,
        kinds=frozenset({"start"}) if options.get("unfinished") else kinds,
    )


# `hookline ui` has the option even where fleet/ is missing; the same as AUDIT_STREAM there.
DEFAULT_STREAM = "HOOKLINE_AUDIT"
ALL_PROJECTS = "this directory is in no project, so all projects are shown; --project DIR chooses one"


def shown_project(given: argparse.Namespace) -> str | None:
    """The project whose records are shown; None for all projects, if that is asked for or this is none."""
    is_all = given.all_projects or given.session is not None or getattr(given, "source", None) is not None
    return None if is_all else recorded_project(given)


def of_project(query: LogQuery) -> str:
    """Return the part about the project of a message that nothing was found."""
    return "" if query.project is None else f" of the project {query.project} (--all-projects looks in all)"


def time_of(option: str, given: str | None) -> str | None:
    """The time as records write it."""
    try:
        return None if given is None else read_when(given)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from error


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select machines."""
    parser.add_argument("--machine", metavar="NAME", help="only of this machine (default: all)")
    parser.add_argument("--team", metavar="NAME", help="only of this team (default: all)")


def add_stream_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for companies with one stream for each team."""
    parser.add_argument(
        "--stream", metavar="NAME", default=DEFAULT_STREAM, help=f"where the records are (default: {DEFAULT_STREAM})"
    )
