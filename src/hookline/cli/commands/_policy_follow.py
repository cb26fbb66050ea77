"""A follower in this process: what it does is told on stderr, and logged."""

import asyncio
import threading
from contextlib import suppress

from hookline.config import Config
from hookline.contract.fleet import Server
from hookline.contract.records import LogLevel, SettingsRecord
from hookline.contract.text import tell
from hookline.fleet.policy.follow import Follower, News
from hookline.log.redact import Redactor
from hookline.settings.policy.place import PolicyPlace
from hookline.system import file_sinks


async def follow_here(server: Server, place: PolicyPlace) -> None:
    """Follows until it is cancelled."""
    config = Config(".", quiet=True)
    options = config.get_settings().options
    sinks = file_sinks(options, Redactor(options.redact, config.get_environ()))

    def report(news: News) -> None:
        tell(news.message)
        level = LogLevel.WARN if news.is_problem else LogLevel.INFO
        for sink in sinks:
            sink.write(SettingsRecord(level=level, message=news.message, origin=str(place.current)))

    try:
        await Follower(server, place, report).run()
    finally:
        for sink in sinks:
            sink.close()


def follow_in_thread(server: Server, place: PolicyPlace) -> threading.Thread:
    """Follows beside whatever this program does, until it ends."""

    def run() -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(follow_here(server, place))

    thread = threading.Thread(target=run, name="policy", daemon=True)
    thread.start()
    return thread
