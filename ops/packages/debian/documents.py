#!/usr/bin/env python3
"""Writes changelog.gz of the Debian packages, the pages of the manual and the completion scripts.

The changelog is CHANGELOG.md in Debian's form. Its first version must be the project's: a release
without a word on what changed is none. Pages and scripts come from the program: what it says of
itself. The same input gives the same bytes.
"""

import argparse
import datetime
import gzip
import os
import re
import shutil
import subprocess
import tempfile
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


def write_manual(program, folder):
    shutil.rmtree(folder, ignore_errors=True)  # pages of commands that are no more
    os.makedirs(folder)
    with tempfile.TemporaryDirectory() as pages:
        subprocess.run([program, "manual", "--output", pages], check=True)
        for name in sorted(os.listdir(pages)):
            with open(os.path.join(pages, name), encoding="utf-8") as file:
                write_compressed(os.path.join(folder, name + ".gz"), file.read())


def write_completion(program, folder):
    os.makedirs(folder, exist_ok=True)
    for shell in ("bash", "zsh", "fish"):
        with open(os.path.join(folder, shell), "wb") as file:
            subprocess.run([program, "completion", shell], check=True, stdout=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("version", "maintainer", "changes", "program", "output"):
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
    write_completion(arguments.program, os.path.join(arguments.output, "completion"))
    write_manual(arguments.program, os.path.join(arguments.output, "man1"))


if __name__ == "__main__":
    main()
