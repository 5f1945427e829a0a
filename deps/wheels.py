#!/usr/bin/env python3
"""Fetches the pinned wheels and unpacks them side by side into one folder, without touching any Python installation.

A wheel is whole in the folder when its RECORD is there, which is moved in last, and every file named in it has its
size: so an interrupted set-up goes on where it was, and a deleted file is noticed.
"""
import argparse
import collections
import csv
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile

from progress import Failure, Progress, say, size_text

PYTHON = "3.11"  # the wheels' tag, whatever Python runs this: only headers and libraries are used
# pip takes each tag literally: a wheel for glibc 2.25 is not found under 2.28.
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in range(28, 4, -1)] + [
    f"manylinux{year}_x86_64" for year in ("2014", "2010", "1")]

Wheel = collections.namedtuple("Wheel", "name version sha256 fetch_bytes disk_bytes")


def read_list(path):
    wheels = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})\s+# (\d+) (\d+)", line)
        if not match:
            raise Failure(f"{path}:{number}: expected NAME==VERSION --hash=sha256:HEX  # BYTES BYTES, found: {line}")
        wheels.append(Wheel(match[1].replace("-", "_"), match[2], match[3], int(match[4]), int(match[5])))
    return wheels


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def folder_bytes(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except FileNotFoundError:
                pass  # pip moves its files while we look
    return total


def need_space(folder, size, what):
    free = shutil.disk_usage(folder).free
    if free < size:
        raise Failure(f"not enough space for {what}: {size_text(free)} free in {folder}, {size_text(size)} needed.",
                      "Free some, or use a copy of the program on another disk, then run the same command again.")


# ---- fetching

def cached(wheel, folder):
    """The wheel's file in a folder, if it is there and has the pinned content."""
    for path in sorted(pathlib.Path(folder).glob(f"{wheel.name}-{wheel.version}-*.whl")):
        if path.stat().st_size == wheel.fetch_bytes and sha256(path) == wheel.sha256:
            return path
    return None


def find_pip():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return [python, "-m", "pip"]
    raise Failure("no Python with pip found.", "Install python3-pip, or load an environment that has it.")


def pip_failure(wheel, log):
    text = log.read_text(errors="replace")
    sys.stderr.write(f"---- {log}\n" + "".join(text.splitlines(True)[-12:]) + "----\n")
    if "No space left" in text:
        return Failure("the disk is full.", "Free some space, then run the same command again.")
    if "THESE PACKAGES DO NOT MATCH THE HASHES" in text:
        return Failure(f"the package index offers another {wheel.name} {wheel.version} than the pinned one.",
                       "Is a mirror or proxy altering files? The pinned hash is in deps/wheels-*.txt.")
    return Failure(f"{wheel.name} {wheel.version} could not be fetched from the package index.",
                   "Check the connection, the proxy settings and `pip config list`, then run the same command again;",
                   "wheels already fetched are kept. For a machine without a network: ./evener setup --offline DIR",
                   "on one that has it.")


def fetch_one(pip, wheel, cache, temporary, progress, done):
    part = temporary / "fetch"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    requirement = part / "requirement.txt"
    requirement.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    command = [*pip, "download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-cache-dir",
               "--disable-pip-version-check", "--progress-bar=off", "--python-version", PYTHON,
               "--implementation", "cp", "--abi", "cp" + PYTHON.replace(".", "")]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    command += ["--dest", str(part / "dest"), "-r", str(requirement)]
    log = temporary.parent / "log" / "pip.log"
    environment = dict(os.environ, TMPDIR=str(part), PYTHONDONTWRITEBYTECODE="1")
    with open(log, "w") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
        try:
            while process.poll() is None:
                time.sleep(0.25)
                progress.show(done + min(folder_bytes(part), wheel.fetch_bytes), f"{wheel.name} {wheel.version}")
        except BaseException:
            process.kill()
            process.wait()
            raise
    files = list((part / "dest").glob("*.whl")) if process.returncode == 0 else []
    if len(files) != 1:
        progress.end()
        raise pip_failure(wheel, log)
    os.replace(files[0], cache / files[0].name)
    shutil.rmtree(part)


def fetch(wheels, cache, temporary, nearby, offline):
    """Makes the cache hold all wheels; returns the bytes that came over the network."""
    cache.mkdir(parents=True, exist_ok=True)
    absent = []
    for wheel in wheels:
        if cached(wheel, cache):
            continue
        if nearby and (found := cached(wheel, nearby)):
            shutil.copyfile(found, cache / "copy.part")
            os.replace(cache / "copy.part", cache / found.name)
            continue
        absent.append(wheel)
    if not absent:
        return 0
    if offline:
        raise Failure(f"{nearby} lacks {', '.join(f'{w.name} {w.version}' for w in absent)}.",
                      "It was made for another version of evener, or without --with-cuda. Make it again on a machine",
                      "with a network: ./evener setup --offline DIR")
    total = sum(wheel.fetch_bytes for wheel in absent)
    need_space(cache, int(1.1 * max(wheel.fetch_bytes for wheel in absent)) + total, "the wheels")
    say(f"wheels: fetching {', '.join(f'{w.name} {w.version}' for w in absent)}, {size_text(total)}")
    pip, progress, done = find_pip(), Progress("wheels (fetch)", total), 0
    for wheel in absent:
        fetch_one(pip, wheel, cache, temporary, progress, done)
        done += wheel.fetch_bytes
        progress.show(done)
    progress.end()
    return total


# ---- unpacking

def record_entries(record):
    with open(record, newline="") as file:
        return [row for row in csv.reader(file) if row]


def is_whole(wheel, site):
    record = site / f"{wheel.name}-{wheel.version}.dist-info" / "RECORD"
    if not record.is_file():
        return False
    base = str(site) + "/"
    try:
        return all(not row[2] or os.stat(base + row[0]).st_size == int(row[2]) for row in record_entries(record))
    except OSError:
        return False


def remove_strays(known, site):
    """Takes out wheels that no list names in this version, file by file: others share their folders."""
    names = {f"{wheel.name}-{wheel.version}.dist-info" for wheel in known}
    for info in site.glob("*.dist-info"):
        if info.name in names:
            continue
        say(f"wheels: removing {info.name[:-len('.dist-info')]}, which is not wanted any more")
        record = info / "RECORD"
        for row in record_entries(record) if record.is_file() else []:
            path = site / row[0]
            if path.resolve().is_relative_to(site.resolve()) and path != record:
                path.unlink(missing_ok=True)
        shutil.rmtree(info)
        for path, _, _ in os.walk(site, topdown=False):
            if not os.listdir(path):
                os.rmdir(path)
        site.mkdir(exist_ok=True)


def remove_old_files(known, cache):
    """Drops cached files of earlier versions: torch alone is half a gigabyte."""
    versions = {wheel.name: wheel.version for wheel in known}
    for path in cache.glob("*.whl"):
        name, version = path.name.split("-")[:2]
        if versions.get(name, version) != version:
            path.unlink()


def merge(source, target):
    """Moves a tree into another: whole folders where the target has none, else file by file."""
    for entry in sorted(source.iterdir(), key=lambda path: (path.name.endswith(".dist-info"), path.name)):
        goal = target / entry.name
        if entry.is_dir() and goal.is_dir():
            merge(entry, goal)
        else:
            os.replace(entry, goal)


def unpack_one(wheel, path, site, temporary, progress, done):
    part = temporary / "unpack"
    shutil.rmtree(part, ignore_errors=True)
    info = f"{wheel.name}-{wheel.version}.dist-info"
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            archive.extract(member, part)  # refuses to leave the folder
            done += member.file_size
            progress.show(done, f"{wheel.name} {wheel.version}")
    record = part / info / "RECORD"
    os.replace(record, temporary / "RECORD")
    shutil.rmtree(site / info, ignore_errors=True)
    merge(part, site)
    os.replace(temporary / "RECORD", site / info / "RECORD")
    shutil.rmtree(part)
    return done


def ensure(wheels, known, arguments):
    site, cache, temporary = arguments.site, arguments.cache, arguments.temporary
    site.mkdir(parents=True, exist_ok=True)
    todo = [wheel for wheel in wheels if not is_whole(wheel, site)]
    if not todo:
        remove_strays(known, site)
        return
    start = time.monotonic()
    fetched = fetch(todo, cache, temporary, arguments.nearby, arguments.offline)
    total = sum(wheel.disk_bytes for wheel in todo)
    need_space(site, int(1.02 * total), "unpacking the wheels")
    remove_strays(known, site)
    progress, done = Progress("wheels (unpack)", total), 0
    for wheel in todo:
        done = unpack_one(wheel, cached(wheel, cache), site, temporary, progress, done)
    progress.end()
    remove_old_files(known, cache)
    seconds = time.monotonic() - start
    say(f"wheels: {len(todo)} in place, {size_text(fetched)} fetched, {size_text(done)} unpacked, {seconds:.0f} s")
    with open(temporary.parent / "log" / "steps.tsv", "a") as steps:
        steps.write(f"wheels\t{seconds:.0f}\t{fetched}\t{done + fetched}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["ensure", "fetch"])
    parser.add_argument("--list", action="append", required=True, help="wheels that are wanted; may be repeated")
    parser.add_argument("--also", action="append", default=[], help="wheels that may stay where they are there")
    for folder in ("cache", "site", "temporary"):
        parser.add_argument(f"--{folder}", type=pathlib.Path, required=True)
    parser.add_argument("--nearby", type=pathlib.Path, help="a folder that may have the wheels already")
    parser.add_argument("--offline", action="store_true", help="don't use the network")
    arguments = parser.parse_args()
    wheels = [wheel for path in arguments.list for wheel in read_list(path)]
    known = wheels + [wheel for path in arguments.also for wheel in read_list(path)]
    arguments.temporary.mkdir(parents=True, exist_ok=True)
    if arguments.action == "fetch":
        fetch(wheels, arguments.cache, arguments.temporary, arguments.nearby, arguments.offline)
    else:
        ensure(wheels, known, arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the caller, who was stopped too, says so
    except (Failure, OSError) as error:
        say(str(error))
        for advice in getattr(error, "advice", ()):
            print(f"  {advice}", file=sys.stderr)
        sys.exit(1)
