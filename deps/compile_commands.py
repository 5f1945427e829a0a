#!/usr/bin/env python3
"""Writes the commands that compile each source file, for clangd and clang-tidy, out of those that CMake tells.

CMake names the files that include others (cmake/compile_together.cmake) in their place, and a precompiled header that
only the compiler of the build can read.
"""
import json
import pathlib
import re
import sys

NOT_FOR_TOOLS = re.compile(r" -Winvalid-pch -include \S+/cmake_pch\.hxx| -o \S+(?= -c )")


def members(path, root):
    """The sources that a file of ours includes; a source itself otherwise."""
    if path.parent.parent.name != "together":
        return [path]
    return [root / name for name in re.findall(r'^#include "(.*)"$', path.read_text(), re.MULTILINE)]


def entries(commands, root):
    for entry in commands:
        path = pathlib.Path(entry["file"])
        if path.name.startswith("cmake_pch."):
            continue
        command = NOT_FOR_TOOLS.sub("", entry["command"])
        for member in members(path, root):
            yield {"directory": entry["directory"], "file": str(member), "command": command.replace(str(path), str(member))}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: compile_commands.py BUILD_FOLDER FILE")
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    target = pathlib.Path(sys.argv[2])
    new = target.with_suffix(".new")
    new.write_text(json.dumps(list(entries(commands, target.parent)), indent=1) + "\n")
    new.replace(target)


if __name__ == "__main__":
    main()
