"""Just enough C++ to check the rules of the house: text without comments and literals, includes, and where functions begin and end."""

import re

# Raw strings first, so that what they hold is not taken for comments or literals. Digit separators (65'536) are no character literals.
_TOKENS = re.compile(
    r'R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"'
    r'|//[^\n]*'
    r'|/\*.*?\*/'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)
# What may stand before a brace that opens no function although a parenthesis precedes it.
_NO_FUNCTION = re.compile(r'^\s*(?:class|struct|enum|union|namespace|extern)\b')


def _blank(match):
    text = match.group(0)
    if text.startswith(("//", "/*")):
        return "".join(c if c == "\n" else " " for c in text)
    return '"' + "".join(c if c == "\n" else " " for c in text[1:-1]) + '"'


def without_comments_and_literals(text):
    """The same length and lines; comments and what stands in quotes become blanks."""
    return _TOKENS.sub(_blank, text)


def includes(text):
    """(line number, name as written with its quotes or angle brackets)."""
    # The names of includes stand in quotes, so only comments may go.
    bare = _TOKENS.sub(lambda m: _blank(m) if m.group(0).startswith(("//", "/*")) else m.group(0), text)
    return [(bare.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in _INCLUDE.finditer(bare)]


def functions(text):
    """(first line, last line) of every function body with its signature; lambdas and local classes count to the function around them."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "".join(c if c == "\n" else " " for c in m.group(0)),
                  without_comments_and_literals(text), flags=re.MULTILINE)
    found = []
    stack = []  # one entry a brace: the line where its function began, or None
    head_start = 0
    for position, character in enumerate(code):
        if character == "{":
            head = code[head_start:position]
            inside = any(line is not None for line in stack)
            begins = not inside and ")" in head and not _NO_FUNCTION.match(head) and not re.search(r"=\s*$", head)
            first = code.count("\n", 0, head_start + len(head) - len(head.lstrip())) + 1
            stack.append(first if begins else None)
            head_start = position + 1
        elif character == "}":
            if stack:
                first = stack.pop()
                if first is not None:
                    found.append((first, code.count("\n", 0, position) + 1))
            head_start = position + 1
        elif character == ";":
            head_start = position + 1
    return found
