"""Values of arguments that several commands take."""

import argparse
import math
from collections.abc import Callable

_DIGITS_MOST = 19


def whole_number(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number of {least} or more")
        return int(text)

    return read


def process(text: str) -> int | None:
    """The number of a process; None: it is none, so it names a file."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MOST else None


def seconds(least: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"'{text}' is no time of {least:g} seconds or more")
        return value

    return read
