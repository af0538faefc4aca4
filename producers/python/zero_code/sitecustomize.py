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
    """As if this file were not there: its own module takes our place, and its errors are its
    own."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    folders = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_load_eroica()
_load_hidden_sitecustomize()
