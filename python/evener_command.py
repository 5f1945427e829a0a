"""The command evener of the wheel, beside the package, whose libraries it doesn't load."""
import importlib.metadata
import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "evener" / "bin" / "evener"


def _pinned():
    """{"torch": "2.11.0"}: the wheels that the modules were built for; empty where this isn't installed as a wheel."""
    if not PROGRAM.exists():
        return {}
    try:
        requirements = importlib.metadata.requires("evener") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    pairs = (line.partition(";")[0].split("==") for line in requirements if "==" in line)
    return {name.strip(): version.strip() for name, version in pairs}


def complaint():
    """A sentence where a wheel is missing or has another version; otherwise an empty one."""
    for name, version in _pinned().items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return f"evener needs {name} {version}, which is not installed: pip install {name}=={version}"
        if found.partition("+")[0] != version:
            return f"evener was built for {name} {version}, which {found} doesn't fit: pip install {name}=={version}"
    return ""


def main():
    """Becomes the program, so that signals and exit codes are its own."""
    if problem := complaint():
        sys.exit(f"evener: {problem}")
    os.execv(PROGRAM, ["evener", *sys.argv[1:]])
