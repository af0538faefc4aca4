#!/usr/bin/env python3
"""Writes what a node serves of the dashboard as C++: embed_assets.py OUTPUT FILE...

Modules become one script, sheets one stylesheet (bundle.py); all else stays as it is. Each comes as
it is and as gzip. The same files make the same output, byte by byte: the gzip holds no time, names
are sorted.
"""

import gzip
import hashlib
import pathlib
import sys

import bundle

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
BYTES_A_LINE = 24

HEADER = """// Made of ops/dashboard by embed_assets.py.
#include <array>

#include "ops/dashboard/assets.h"

namespace eroica {
namespace {

using std::literals::string_view_literals::operator""sv;

"""

FOOTER = """
}  // namespace

std::span<const Asset> Assets() { return kAssets; }

}  // namespace eroica
"""


def path_of(name):
    return "/" if name == "index.html" else "/assets/" + name


def literal(content):
    """Octal escapes have a fixed length: a digit behind one is no part of it."""
    lines = []
    for begin in range(0, len(content), BYTES_A_LINE):
        lines.append(
            '    "'
            + "".join(f"\\{byte:03o}" for byte in content[begin : begin + BYTES_A_LINE])
            + '"'
        )
    lines[-1] += "sv" if lines else ""
    return "\n".join(lines)


def embed(files):
    """The text of the C++ file."""
    entries = []
    assets = bundle.served(files)
    for name in sorted(assets, key=path_of):
        content = assets[name]
        if not content:
            raise SystemExit(f"embed_assets.py: {name} is empty")
        etag = hashlib.sha256(content).hexdigest()[:32]
        zipped = gzip.compress(content, 9, mtime=0)
        content_type = CONTENT_TYPES[pathlib.Path(name).suffix]
        entries.append(
            f'    Asset{{\n    .path = "{path_of(name)}",\n    .content_type = "{content_type}",\n'
            f'    .etag = "\\"{etag}\\"",\n    .bytes =\n{literal(content)},\n'
            f"    .gzip =\n{literal(zipped)}}},\n"
        )
    return (
        HEADER
        + f"constexpr std::array<Asset, {len(entries)}> kAssets = {{{{\n"
        + "".join(entries)
        + "}};\n"
        + FOOTER
    )


def main(output, *names):
    files = [pathlib.Path(name) for name in names]
    unknown = [file for file in files if file.suffix not in CONTENT_TYPES]
    if unknown:
        raise SystemExit(f"embed_assets.py: no content type is known for {unknown[0]}")
    pathlib.Path(output).write_text(embed(files))


if __name__ == "__main__":
    main(*sys.argv[1:])
