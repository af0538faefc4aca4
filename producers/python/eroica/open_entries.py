"""What is open of an object that can be entered again while it is, and by several threads at once
(which run at the same time where Python has no GIL): a list of (thread, entry). Each change of it is
one operation of the list, and a thread takes off what it has entered itself."""

from threading import get_ident


def opened(entries, entry):
    """entries: a list of the object's own, empty at first. entry: what closed() gives back."""
    entries.append((get_ident(), entry))


def closed(entries):
    """Takes off and returns the newest entry of this thread; the object's first, where this one has
    none (it was entered on another thread); None, where nothing is open."""
    thread = get_ident()
    while entries:
        try:
            row = entries[-1]
            if row[0] != thread:
                row = _of_thread(entries[:], thread)
            entries.remove(row)
            return row[1]
        except (IndexError, ValueError):  # another thread has just closed it
            continue
    return None


def _of_thread(rows, thread):
    for row in reversed(rows):
        if row[0] == thread:
            return row
    return rows[0]
