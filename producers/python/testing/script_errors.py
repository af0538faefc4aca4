"""What a script of its own sees of its errors: tracebacks and contexts, as text that can be compared
between runs with and without Eroica."""

import traceback


def show(call):
    """Prints the traceback and the contexts of what the call raises, as a script sees them that
    handles another error."""
    try:
        try:
            raise RuntimeError("the script's own")
        except RuntimeError:
            call()
    except BaseException as error:
        contexts = [error]
        while contexts[-1].__context__ is not None:
            contexts.append(contexts[-1].__context__)
        entries = traceback.extract_tb(error.__traceback__)
        print(getattr(call, "__name__", "?"))
        for entry in entries:
            print("  ", entry.filename.rpartition("/")[2], entry.lineno, entry.name, entry.line)
        print("  ", [(type(each).__name__, str(each)) for each in contexts])
        return
    print(getattr(call, "__name__", "?"), "raises nothing")
