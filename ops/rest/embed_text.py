"""Makes the C++ source that carries a text file: embed_text.py FILE NAME OUTPUT. The text is kOpenApiDocument's or another
std::string_view's in the namespace eroica."""

import pathlib
import sys

# Compilers take string literals up to 65,536 bytes; those that follow each other are one.
PIECE = 8_000


def main(path, name, output):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
    literals = "\n".join('R"~~~(%s)~~~"' % piece for piece in pieces)
    source = (
        "#include <string_view>\n\nnamespace eroica {\n\n"
        "extern const std::string_view %s;\nconst std::string_view %s =\n%s;\n\n}  // namespace eroica\n" % (name, name, literals)
    )
    pathlib.Path(output).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
