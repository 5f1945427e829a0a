"""The Python environment of the other software: made on first use in .deps/peers, nowhere else."""

import hashlib
import pathlib
import shutil
import subprocess
import sys

from common.context import Failure, say

REQUIREMENTS = pathlib.Path(__file__).resolve().parent.parent / "requirements.txt"
DISK_GB = 3.6
DOWNLOAD_GB = 2.3
# Room for the wheels while they are unpacked.
NEEDED_GB = DISK_GB + DOWNLOAD_GB + 0.5


def python_of(root):
    """The environment's interpreter; installs it if it is missing, incomplete or of other versions."""
    folder = root / ".deps" / "peers"
    stamp = folder / "installed"
    python = folder / "bin" / "python"
    packages = pinned()
    wanted = hashlib.sha256(repr((packages, sys.version)).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and python.exists():
        return python
    if sys.version_info < (3, 10):
        raise Failure(f"Python 3.10 or newer is needed for torch 2.11; this is {sys.version.split()[0]}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    free_gb = shutil.disk_usage(folder.parent).free / 1e9
    if free_gb < NEEDED_GB:
        raise Failure(f"{folder.parent} has {free_gb:.1f} GB free; the other software needs {NEEDED_GB:.1f} GB to install")
    say(
        f"Installing the software to compare with into {folder}: {len(packages)} packages, "
        f"about {DOWNLOAD_GB} GB to download and {DISK_GB} GB on disk (once; delete the folder to undo)."
    )
    install(folder, python, root / ".deps" / "wheels")
    stamp.write_text(wanted)
    return python


def installed_python(root):
    """The environment's interpreter where it is installed already, in whichever versions; else None."""
    folder = root / ".deps" / "peers"
    return folder / "bin" / "python" if (folder / "installed").exists() else None


def pinned():
    """(name, version) of every package."""
    lines = REQUIREMENTS.read_text().splitlines()
    return sorted(tuple(line.strip().lower().split("==")) for line in lines if "==" in line)


def install(folder, python, wheels):
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        reason = (made.stdout + made.stderr).strip().splitlines()[-8:]
        raise Failure("can't make a Python environment (on Debian and Ubuntu: apt install python3-venv)\n" + "\n".join(reason))
    command = [python, "-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    # What the set-up has downloaded needn't be downloaded again; a wheel for another Python fails, and pip gets its own.
    for wheel in sorted(wheels.glob("*.whl")):
        name, version = wheel.name.lower().split("-")[:2]
        if (name.replace("_", "-"), version) in pinned():
            subprocess.run([*command, "--quiet", wheel], capture_output=True, check=False)
    installed = subprocess.run([*command, "-r", REQUIREMENTS], stdout=sys.stderr, check=False)
    if installed.returncode != 0:
        raise Failure(f"pip could not install {REQUIREMENTS} (see above); run this again to go on")
