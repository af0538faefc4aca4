"""A function of the host with a look at each of its calls: what every hook into a framework is made
of.

The wrapper has the original's name, signature and attributes; arguments, result and exception pass
through unchanged. What the looks raise is said once and never reaches the host. Compilers (Dynamo)
see the original.
"""

import functools
import inspect

from eroica import life, own_frames


def watch(original, begins, ended=None, made=None):
    """The wrapper of original.

    begins(args, kwargs): before each call; its result, where it is not None, goes to
    ended(token, result, error) when the call has returned (error None) or raised (result None).
    made(token, result): what the caller gets instead of the result; token: of begins, None or not.
    """

    @functools.wraps(original, _named(original))
    def watched(*args, **kwargs):
        try:
            token = None
            try:
                token = begins(args, kwargs)
            except Exception:
                life.say_exception(_name_of(original) + " is not watched")
            if token is None or ended is None:
                result = original(*args, **kwargs)
            else:
                try:
                    result = original(*args, **kwargs)
                except BaseException as error:
                    _end(original, ended, token, None, error)
                    raise
                _end(original, ended, token, result, None)
            return result if made is None else _made(original, made, token, result)
        except BaseException as error:
            own_frames.hide(error)
            raise

    if inspect.isfunction(original):
        watched._torchdynamo_inline = original
    return watched


def _named(original):
    """What of the original's attributes a function can have: a method of an extension may have a
    name that is no text."""
    texts = ("__name__", "__qualname__", "__module__")
    return [
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if name not in texts or type(getattr(original, name, None)) is str
    ]


def _end(original, ended, token, result, error):
    try:
        ended(token, result, error)
    except Exception:
        life.say_exception(_name_of(original) + " is not watched")


def _made(original, made, token, result):
    try:
        return made(token, result)
    except Exception:
        life.say_exception(_name_of(original) + " is not watched")
        return result


def _name_of(original):
    return str(getattr(original, "__qualname__", "a function"))
