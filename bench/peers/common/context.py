"""What an experiment is given: where things are, how much to do, and running the two sides."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

from common import machine

# What the names of variables begin with that set threads, kernels or allocators of one of the sides.
SETTINGS = ("OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_", "OPENBLAS_", "GOTO_", "BLIS_", "TORCH", "MALLOC_", "TCMALLOC_", "LD_PRELOAD")
BUSY_LIMIT = 0.1  # share of all CPUs that others may use before a run is remarked on


class Failure(Exception):
    """Ends the program with a message for the user."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def last_lines(text):
    return "\n".join(text.strip().splitlines()[-15:])


class Measured(float):
    """A rate of other software, and what that says of itself."""

    def __new__(cls, value, version="", settings="", compile_s=0.0):
        made = super().__new__(cls, value)
        made.version, made.settings, made.compile_s = version, settings, compile_s
        return made

    def __getnewargs__(self):
        return float(self), self.version, self.settings, self.compile_s


def measured(result, name="images_per_s"):
    """The rate of that name in what a script printed."""
    return Measured(result[name], result.get("version", ""), result.get("settings", ""), result.get("compile_s", 0.0))


@dataclass
class Context:
    root: pathlib.Path
    program: pathlib.Path  # evener
    python: pathlib.Path | None  # of the peers' environment
    results: pathlib.Path
    threads: int
    runs: int
    quick: bool
    pause_s: float
    seed: int
    precisions: tuple = ("fp32", "bf16")  # of experiments that compare several
    works: tuple = ()  # words; where there are some, experiments of several works do those with one in their names

    @property
    def precision(self):
        """Of experiments that have one: bf16, unless the processor lacks it or fp32 was asked for."""
        return self.precisions[-1]

    def wants(self, work):
        return not self.works or any(word.lower() in work.lower() for word in self.works)

    def folder(self):
        """A temporary folder below the results; use with `with`."""
        return tempfile.TemporaryDirectory(prefix="work-", dir=self.results)

    def rest(self):
        """Waits a little, then looks whether others use the processor. Returns their share of all CPUs."""
        time.sleep(self.pause_s)
        busy = machine.busy_share(0.2 if self.quick else 1.0)
        if busy > BUSY_LIMIT:
            say(f"  note: other programs use {100 * busy:.0f} % of the processor")
        return busy

    def evener(self, *words, cpu=None, simd=None, under=()):
        """Runs evener, on one CPU only if `cpu` is given, its kernels held to `simd` ("avx2"), as what the command `under`
        starts; its stdout as JSON."""
        pinned = [] if cpu is None else ["taskset", "-c", str(machine.cpus()[cpu])]
        held = [] if simd is None else ["env", f"EVENER_SIMD={simd}"]
        return self._run([*under, *held, *pinned, str(self.program), *map(str, words)])

    def evener_text(self, *words):
        """Runs evener for what it does, not for what it says."""
        self._output([str(self.program), *map(str, words)])

    def evener_lines(self, *words):
        """Runs evener; the lines of its stdout."""
        return self._output([str(self.program), *map(str, words)]).splitlines()

    def timed_evener(self, *words):
        """Runs evener; its exit code, whatever it is, its seconds, and what it printed."""
        return self.timed(self.program, *words)

    def timed(self, *command):
        """Runs a command, likewise."""
        begin = time.monotonic()
        done = self._run_quietly(list(map(str, command)))
        return done.returncode, time.monotonic() - begin, done.stdout if done.returncode == 0 else done.stderr or done.stdout

    def peer(self, script, *words):
        """Runs a script of this folder in the peers' environment; its stdout as JSON."""
        return self._run([str(self.python), str(self.root / "bench" / "peers" / script), *map(str, words)])

    def rate(self, script, *words, name="images_per_s"):
        """What such a script measured, by the name in its JSON."""
        return measured(self.peer(script, *words), name)

    def module(self, script, *words):
        """Runs a script of this folder with evener's Python module as it was built, in its Python; its stdout as JSON."""
        build = self.root / "build" / "release"
        found = re.search(r"^EVENER_MODULE_PYTHON:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
        if found is None:
            raise Failure(f"{build} has no Python module (Debian: python3-dev)")
        path = str(self.root / "bench" / "peers" / script)
        return self._run(["env", f"PYTHONPATH={build / 'python'}", found[1], path, *map(str, words)])

    def started(self, ends, ready_s, *words):
        """Starts a program that goes on, and ends with `ends`. Returns its process and the first line of its stdout, for
        which it has so many seconds."""
        command = [*map(str, words)]
        errors = ends.enter_context(open(pathlib.Path(ends.enter_context(self.folder())) / "stderr", "w+"))
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, **self._surroundings())
        ends.callback(program.wait)
        ends.callback(program.terminate)
        late = threading.Timer(ready_s, program.kill)
        late.daemon = True
        late.start()
        try:
            line = program.stdout.readline().strip()
        finally:
            late.cancel()
        if not line:
            errors.seek(0)
            raise Failure(f"no first line came (within {ready_s} s at most) from: {' '.join(command)}\n{last_lines(errors.read())}")
        return program, line

    def _surroundings(self):
        """Of every program: its environment without what would set its threads or kernels, and its folder. What torch.compile
        has compiled is kept for later rounds."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        return {"env": {**environment, "TORCHINDUCTOR_CACHE_DIR": str(self.results / "inductor")}, "cwd": self.results}

    def _run_quietly(self, command):
        return subprocess.run(command, capture_output=True, text=True, check=False, **self._surroundings())

    def _output(self, command):
        done = self._run_quietly(command)
        if done.returncode not in (0, 3):
            tail = last_lines(done.stderr or done.stdout)
            raise Failure(f"failed with exit code {done.returncode}: {' '.join(command)}\n{tail}")
        return done.stdout

    def _run(self, command):
        output = self._output(command)
        try:
            return json.loads(output)
        except json.JSONDecodeError as error:
            raise Failure(f"no JSON came from: {' '.join(command)}\n{error}\n{output[:500]}") from error
