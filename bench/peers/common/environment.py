"""The Python environment of the other software: made on first use in .deps/peers, nowhere else."""

import pathlib
import platform
import re
import shutil
import subprocess
import sys

from common import machine, software
from common.context import Failure, say

PEERS = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS, ZENTORCH = PEERS / "requirements.txt", PEERS / "zentorch.txt"
DISK_GB = 3.6
DOWNLOAD_GB = 2.3
# Room for the wheels while they are unpacked.
NEEDED_GB = DISK_GB + DOWNLOAD_GB + 0.5


def python_of(root):
    """The environment's interpreter; installs it if it is missing or of another Python, and adds what it lacks."""
    folder = root / ".deps" / "peers"
    stamp = folder / "installed"
    python = folder / "bin" / "python"
    if sys.version_info < (3, 10):
        raise Failure(f"Python 3.10 or newer is needed for torch 2.11; this is {sys.version.split()[0]}")
    if not python.exists() or version_of(folder) != platform.python_version():
        make(folder, python, root / ".deps" / "wheels")
    lacking = missing(folder, REQUIREMENTS)
    if lacking:
        say(f"Adding to {folder}: {', '.join(lacking)}")
        add(python, lacking)
    if not stamp.exists():
        stamp.touch()
    for name, path in software.preloads(folder).items():
        if path is None:
            say(f"{name} isn't installed: PyTorch runs without it (README.md in bench/peers)")
    if machine.is_amd() and missing(folder, ZENTORCH):
        done = subprocess.run([*pip(python), "--quiet", *missing(folder, ZENTORCH)], stdout=sys.stderr, check=False)
        if done.returncode != 0:
            say("zentorch, AMD's extension of PyTorch, can't be installed here: it is left out")
    return python


def has_zentorch(python):
    """Whether AMD's extension is there, which is for its processors alone."""
    return machine.is_amd() and not missing(python.parent.parent, ZENTORCH)


def version_of(folder):
    """Of the environment's Python."""
    lines = (line.partition("=") for line in (folder / "pyvenv.cfg").read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == "version"), "")


def missing(folder, requirements):
    """NAME==VERSION of each pinned package that the environment hasn't got."""
    there = {plain(path.stem) for path in folder.glob("lib/python*/site-packages/*.dist-info")}
    return [f"{name}=={version}" for name, version in pinned(requirements) if plain(f"{name}-{version}") not in there]


def plain(name):
    return re.sub(r"[-_.]+", "-", name.lower())


def installed_python(root):
    """The environment's interpreter where it is installed already, in whichever versions; else None."""
    folder = root / ".deps" / "peers"
    return folder / "bin" / "python" if (folder / "installed").exists() else None


def pinned(requirements=REQUIREMENTS):
    """(name, version) of every package that this Python takes."""
    found = []
    for line in requirements.read_text().splitlines():
        package, _, marker = line.partition(";")
        least = re.search(r'python_version >= "3\.(\d+)"', marker)
        if "==" in package and (least is None or sys.version_info >= (3, int(least[1]))):
            found.append(tuple(package.strip().lower().split("==")))
    return sorted(found)


def make(folder, python, wheels):
    """An empty environment with what the set-up has downloaded already, which needn't be downloaded again."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    (folder / "installed").unlink(missing_ok=True)
    free_gb = shutil.disk_usage(folder.parent).free / 1e9
    if free_gb < NEEDED_GB:
        raise Failure(f"{folder.parent} has {free_gb:.1f} GB free; the other software needs {NEEDED_GB:.1f} GB to install")
    say(
        f"Installing the software to compare with into {folder}: {len(pinned())} packages, "
        f"about {DOWNLOAD_GB} GB to download and {DISK_GB} GB on disk (once; delete the folder to undo)."
    )
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        reason = (made.stdout + made.stderr).strip().splitlines()[-8:]
        raise Failure("can't make a Python environment (on Debian and Ubuntu: apt install python3-venv)\n" + "\n".join(reason))
    # A wheel for another Python fails, and pip gets its own.
    for wheel in sorted(wheels.glob("*.whl")):
        name, version = wheel.name.lower().split("-")[:2]
        if (name.replace("_", "-"), version) in pinned():
            subprocess.run([*pip(python), "--quiet", wheel], capture_output=True, check=False)


def add(python, packages):
    installed = subprocess.run([*pip(python), *packages], stdout=sys.stderr, check=False)
    if installed.returncode != 0:
        raise Failure(f"pip could not install {' '.join(packages)} (see above); run this again to go on")


def pip(python):
    return [python, "-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
