"""Values of arguments that several commands take."""

import argparse
import math
from collections.abc import Callable


def whole_number(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number of {least} or more")
        return int(text)

    return read


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
