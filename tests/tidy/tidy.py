#!/usr/bin/env python3
"""Checks the whole tree against the rules of tests/tidy/rules.py. Prints what breaks them as path:line: message; exit code 1 if anything does."""

import pathlib
import subprocess
import sys

import rules


def list_by_git(root):
    """Paths that are tracked, or new and not ignored. None where this is no work tree, or there is no git."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return listing.stdout.decode().rstrip("\0").split("\0") if listing.returncode == 0 and listing.stdout else None


def read_tree(root):
    """Every file that belongs to the repository, those that are no text as empty. Without git: all but build folders and hidden ones."""
    paths = list_by_git(root)
    if paths is None:
        files = (path.relative_to(root) for path in pathlib.Path(root).rglob("*") if path.is_file())
        paths = [str(path) for path in files if path.parts[0] != "build" and not path.parts[0].startswith(".")]
    tree = {}
    for path in sorted(paths):
        file = pathlib.Path(root, path)
        if not file.is_file():  # deleted, but not yet from the index
            continue
        content = file.read_bytes()
        tree[path] = "" if b"\0" in content else content.decode(errors="replace")
    return tree


def main(root):
    tree = read_tree(root)
    violations = [(path, line, rule.__name__, message) for rule in rules.ALL for path, line, message in rule(tree)]
    for path, line, rule, message in sorted(violations):
        print(f"{path}:{line}: [{rule}] {message}")
    print(f"{len(tree)} files, {len(rules.ALL)} rules, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
