"""Loaded by every Python process on whose PYTHONPATH this folder stands (`eroica run` puts it
there).

It loads the package where somebody asked for Eroica, then the sitecustomize that this one hides, if
there is one.
"""

import os
import sys


def _load_eroica():
    if os.environ.get("EROICA_DISABLE", "0") not in ("", "0", "false", "no", "off"):
        return
    if not (os.environ.get("EROICA_RECORDING") or os.environ.get("EROICA_BOOTSTRAP")):
        return
    try:
        try:
            import eroica  # noqa: F401
        except ImportError:
            # Not installed: the package lies beside this folder. At the end, so that it hides
            # nothing.
            folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            sys.path.append(folder)
            try:
                import eroica  # noqa: F401
            finally:
                sys.path.remove(folder)
    except Exception as error:
        try:
            sys.stderr.write(f"eroica: off: {type(error).__name__}: {error}\n")
        except Exception:
            pass


def _load_hidden_sitecustomize():
    """As if this file were not there: its own module takes our place, and its errors are its own:
    they are reported here, as site.py does, because a frame of ours would stand above them."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    folders = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    own = sys.modules["sitecustomize"]
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules["sitecustomize"] = own
        _report(error)


def _report(error):
    if isinstance(error, ImportError) and error.name == "sitecustomize":
        return
    if sys.flags.verbose:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename in _ABOVE:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return
    sys.stderr.write(
        "Error in sitecustomize; set PYTHONVERBOSE for traceback:\n"
        f"{type(error).__name__}: {error}\n"
    )


# The code that stands above the hidden file: this one and the import system.
_ABOVE = (
    __file__,
    _report.__code__.co_filename,
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
)

_load_eroica()
_load_hidden_sitecustomize()
