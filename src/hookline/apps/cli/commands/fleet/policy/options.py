"""The options that several subcommands of `hookline fleet policy` have."""

import argparse
from datetime import UTC, datetime, timedelta

from hookline.fleet.policy.documents import ALL_TEAMS, now
from hookline.log.read.timespec import read_span


def add_key(parser: argparse.ArgumentParser) -> None:
    """Adds `--key`."""
    parser.add_argument("--key", metavar="FILE", required=True, help="the private key, of hookline fleet policy keygen")


def add_force(parser: argparse.ArgumentParser) -> None:
    """Adds `--force`."""
    parser.add_argument(
        "--force", action="store_true", help="publish with a key that machines are not known to obey, as in a rotation"
    )


def add_teams(parser: argparse.ArgumentParser) -> None:
    """Adds `--teams`."""
    parser.add_argument(
        "--teams", metavar="LIST", type=_teams, default=(ALL_TEAMS,), help="for which teams, by commas (default: all)"
    )


def add_expires(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Adds `--expires`."""
    usual = "" if default is None else f" (default: {default})"
    parser.add_argument(
        "--expires",
        metavar="WHEN",
        type=_moment,
        default=None if default is None else _moment(default),
        required=default is None,
        help=f"until when: 30m, 12h, 90d, or a day such as 2027-01-31{usual}",
    )


def add_public_keys(parser: argparse.ArgumentParser) -> None:
    """Adds `--public-key`."""
    parser.add_argument(
        "--public-key", metavar="KEY", action="append", help="whose signature counts (default: this machine's settings)"
    )


def _teams(text: str) -> tuple[str, ...]:
    teams = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not teams:
        raise argparse.ArgumentTypeError("give at least one team, such as all")
    return teams


def _moment(text: str) -> datetime:
    if (span_s := read_span(text)) is not None:
        try:
            return now() + timedelta(seconds=int(span_s))
        except OverflowError:
            raise argparse.ArgumentTypeError(f"{text} is too long; write 90d, or a day such as 2027-01-31") from None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"{text} is not a time; write 30m, 12h, 90d or 2027-01-31"
        raise argparse.ArgumentTypeError(message) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if moment <= now():
        raise argparse.ArgumentTypeError(f"{text} has passed already; give a later time")
    return moment
