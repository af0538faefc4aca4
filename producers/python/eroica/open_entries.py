"""What is open of an object that can be entered again while it is, and by several threads at once
(which run at the same time where Python has no GIL): a thread reads and changes only what it has
entered itself."""

from threading import get_ident


def opened(entries, entry):
    """entries: a dict of the object's own, empty at first. entry: what closed() gives back."""
    entries.setdefault(get_ident(), []).append(entry)


def closed(entries):
    """Takes off and returns the newest entry of this thread; that of another, where this one has none
    (the object was entered there); None, where nothing is open."""
    thread = get_ident()
    mine = entries.get(thread)
    if mine:
        try:
            entry = mine.pop()
        except IndexError:  # another thread has just closed it
            return _closed_elsewhere(entries)
        if not mine:
            entries.pop(thread, None)
        return entry
    return _closed_elsewhere(entries)


def _closed_elsewhere(entries):
    for theirs in list(entries.values()):
        try:
            return theirs.pop()
        except IndexError:
            continue
    return None
