#!/usr/bin/env python3
"""Installs the pinned real clients: clients.py CACHE_DIR [NAME ...] prints NAME<TAB>BINARY.

Needs npm. No install script is run (the platform packages carry the binaries) and no lock
file is written. About 400 MB a client, so keep CACHE_DIR between runs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

# name: (npm package, version, where the binary lies below node_modules)
PINS = {
    "codex": ("@openai/codex", "0.171.0", "@openai/codex-*/vendor/*/bin/codex"),
    "claude": ("@anthropic-ai/claude-code", "2.1.332", "@anthropic-ai/claude-code-*/claude"),
}


class InstallError(Exception):
    """A client could not be installed; the text says which and why."""


def binary_below(folder, pattern):
    """The first executable that matches, or None."""
    return next(iter(sorted((folder / "node_modules").glob(pattern))), None)


def install(cache, name):
    """Returns the path of the pinned client's binary, installing it first where it is missing."""
    package, version, pattern = PINS[name]
    folder = Path(cache).resolve() / ("%s-%s" % (name, version))
    found = binary_below(folder, pattern)
    if found:
        return found
    if not shutil.which("npm"):
        raise InstallError("npm is needed to install %s" % package)
    shutil.rmtree(folder, ignore_errors=True)  # a half install is worse than none
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "name": "acceptance-" + name}))
    command = [
        "npm",
        "install",
        "--ignore-scripts",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "%s@%s" % (package, version),
    ]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr)
    found = binary_below(folder, pattern)
    if done.returncode != 0 or not found:
        raise InstallError("could not install %s@%s (npm ended with %d)" % (package, version, done.returncode))
    return found


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for name in sys.argv[2:] or sorted(PINS):
        try:
            print("%s\t%s" % (name, install(sys.argv[1], name)))
        except (InstallError, KeyError) as error:
            sys.exit("clients: %s" % error)


if __name__ == "__main__":
    main()
