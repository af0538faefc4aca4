"""Attributes of the host's modules and classes that Eroica replaces, until the process ends.

The owner is not kept alive: a module that somebody holds when the interpreter ends is cleared in
another order, and what is in it is destroyed later than without Eroica.
"""

import weakref

from eroica import life

_NONE = object()


def replace(owner, name, patched):
    """Sets owner's attribute to patched. At exit the original is back, unless somebody else has
    replaced the attribute since."""
    original = vars(owner).get(name, _NONE)
    setattr(owner, name, patched)
    reference = weakref.ref(owner)
    life.at_end(lambda: _restore(reference(), name, patched, original))


def _restore(owner, name, patched, original):
    if owner is None or vars(owner).get(name) is not patched:
        return
    if original is _NONE:  # it was a base class's
        delattr(owner, name)
    else:
        setattr(owner, name, original)
