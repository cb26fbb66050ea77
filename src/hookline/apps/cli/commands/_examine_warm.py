"""What `hookline doctor` says about interpreters that wait for events."""

from hookline.apps.cli.commands._signs import Health, Sign
from hookline.engine.system import passes_of
from hookline.inspect.view import Setup
from hookline.protocol.constants import DEFAULT_MAX_WARM
from hookline.runners.process.features import FEATURES, unknown_word
from hookline.runners.warm_policy import cold_variable

_ABOUT = "warm hooks"


def warm_sign(setup: Setup) -> Sign:
    """Whether interpreters of Python scripts are started before their events."""
    if unknown := unknown_word():
        return Sign(_ABOUT, Health.ODD, unknown)
    warm = setup.options.warm
    most = DEFAULT_MAX_WARM * warm if isinstance(warm, bool) else warm.max
    if not most:
        why = "hooksConfig.warm is false" if warm is False else "hooksConfig.warm.max is 0"
        return Sign(_ABOUT, Health.GOOD, f"off: {why}")
    if FEATURES.why_cold is not None:
        return Sign(_ABOUT, Health.GOOD, f"off: {FEATURES.why_cold}; hooks run all the same")
    if cold := _why_cold(setup):
        return Sign(_ABOUT, Health.ODD, cold)
    return Sign(_ABOUT, Health.GOOD, f"the interpreters of at most {most} Python scripts wait for events")


def _why_cold(setup: Setup) -> str | None:
    """The variable that keeps all hooks cold, or the first hook with one of its own."""
    passes = passes_of(setup.options.environment)
    inherited = {name: value for name, value in setup.environ.items() if passes is None or passes(name)}
    if why := cold_variable(inherited):
        return f"every Python hook is cold: {why}"
    for hook in setup.active():
        if why := cold_variable(hook.env):
            return f"{hook.label} is always cold: in its env, {why}"
    return None
