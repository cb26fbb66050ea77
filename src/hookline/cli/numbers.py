"""Numbers on the command line; one that does not fit is told together with what would."""

import argparse
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """Reads a whole number that is not smaller than this."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least {least}")
        return number

    return read


def milliseconds(text: str) -> float:
    """Reads a duration."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    # Written so that nan, which is neither smaller nor larger than anything, does not pass.
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of milliseconds")
    return number
