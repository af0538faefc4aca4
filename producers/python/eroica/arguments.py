"""What a script hands over, made into what the core takes: exact str and int in bounds.

A value of a wrong type becomes a name that says so, or the value for "not known"; nothing here
raises an Exception, whatever the methods of the value do.
"""

import itertools
import operator

MAX_NAME = 4096  # characters: the core cuts names there, too
MAX_RANKS = 1 << 20
MAX_BYTES = (1 << 63) - 1
_PLAIN = (int, float, bool, type(None))


def text_of(value):
    """An exact str. A str, a number or None is its own text; anything else is named by its
    type: its __str__ may be slow (a tensor on a device)."""
    kind = type(value)
    if kind is str:
        return value if len(value) <= MAX_NAME else value[:MAX_NAME]
    try:
        if isinstance(value, str):
            return str.__str__(value)[:MAX_NAME]
        if kind is bytes:
            return value[:MAX_NAME].decode("utf-8", "replace")
        if kind in _PLAIN:
            return str(value)[:MAX_NAME]
    except Exception:
        pass
    return f"(no name: {type_name_of(value)})"


def type_name_of(value):
    try:
        return str.__str__(type.__dict__["__name__"].__get__(type(value)))[:MAX_NAME]
    except Exception:
        return "object"


def number_of(value, least, most, otherwise):
    """An exact int within the bounds; otherwise where the value is none, or beyond them."""
    if type(value) is not int:
        try:
            value = int(value) if isinstance(value, float) else operator.index(value)
            value = int.__int__(value)
        except Exception:
            return otherwise
    return value if least <= value <= most else otherwise


def ranks_of(value):
    """A tuple of exact ints, or a range; None where the value is no list of ranks."""
    if value is None:
        return None
    try:
        if type(value) is range:
            inside = value and all(0 <= end < MAX_RANKS for end in (value[0], value[-1]))
            return value if inside else None
        members = tuple(itertools.islice(value, MAX_RANKS + 1))
        if len(members) > MAX_RANKS:
            return None
        ranks = tuple(number_of(member, 0, MAX_RANKS - 1, -1) for member in members)
    except Exception:
        return None
    return ranks if ranks and min(ranks) >= 0 else None


def decimal_of(text):
    """The number that a variable of the environment holds, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
