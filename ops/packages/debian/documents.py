#!/usr/bin/env python3
"""Writes changelog.gz and eroica.1.gz of the Debian packages.

The changelog is CHANGELOG.md in Debian's form. Its first version must be the project's: a release
without a word on what changed is none. The same input gives the same bytes.
"""

import argparse
import datetime
import gzip
import os
import re
import textwrap

HEADING = re.compile(r"^## (\d+\.\d+\.\d+), (\d{4}-\d{2}-\d{2})$")


def releases(text):
    """[(version, date, [change])] of the page, the newest first."""
    found = []
    for line in text.splitlines():
        heading = HEADING.match(line)
        if heading:
            found.append((heading.group(1), datetime.date.fromisoformat(heading.group(2)), []))
        elif line.startswith("- ") and found:
            found[-1][2].append(line[2:])
        elif line.startswith("  ") and found and found[-1][2]:
            found[-1][2][-1] += " " + line.strip()
    return found


def debian_changelog(text, maintainer):
    entries = []
    for version, date, changes in releases(text):
        if not changes:
            raise SystemExit(f"CHANGELOG.md: version {version} has no change")
        items = [
            textwrap.fill(change, 78, initial_indent="  * ", subsequent_indent="    ")
            for change in changes
        ]
        day = date.strftime("%a, %d %b %Y") + " 00:00:00 +0000"
        head = f"eroica ({version}) unstable; urgency=medium"
        entries.append(f"{head}\n\n" + "\n".join(items) + f"\n\n -- {maintainer}  {day}\n")
    return "\n".join(entries)


def write_compressed(path, text):
    with open(path, "wb") as file:
        file.write(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("version", "maintainer", "changes", "manual", "output"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    with open(arguments.changes, encoding="utf-8") as file:
        changes = file.read()
    newest = releases(changes)[0][0] if releases(changes) else "none"
    if newest != arguments.version:
        raise SystemExit(
            f"CHANGELOG.md: its newest version is {newest}, the project is {arguments.version}"
        )
    write_compressed(
        os.path.join(arguments.output, "changelog.gz"),
        debian_changelog(changes, arguments.maintainer),
    )
    with open(arguments.manual, encoding="utf-8") as file:
        manual = file.read().replace("@VERSION@", arguments.version)
    write_compressed(os.path.join(arguments.output, "eroica.1.gz"), manual)


if __name__ == "__main__":
    main()
