"""tools/gpu-check without a GPU: what it packs runs on a machine that has nothing, and its commands on made-up cards."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["EVENER_ROOT"])
MADE_UP = ROOT / "build" / "release" / "lib" / "made_up"
PARTS = ("works", "right", "fast", "cores")
LIMIT_BYTES = 60 << 20
SYSTEM = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1")


def results_in(folder):
    file = folder / "results.jsonl"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []  # the last may not be whole yet
    return [json.loads(line) for line in lines]


class GpuCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory(prefix="gpu-check-test-")
        cls.folder = pathlib.Path(cls.work.name)
        cls.packed = cls.folder / "packed"
        # The native engine computes on these. LibTorch's trainings only begin, by --dry-run, on the late device.
        cls.cards = cls.folder / "cards"
        cls.cards.mkdir()
        for name in ("cuda", "libmade_up_card.so"):
            (cls.cards / name).symlink_to(MADE_UP / name)
        subprocess.run([ROOT / "tools" / "gpu-check", "pack", cls.packed], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def command(self, out, *words):
        cards = MADE_UP if "--dry-run" in words else self.cards
        return [self.packed / "tools" / "gpu-check", "run", *words, "--made-up", cards, "--small", "--rounds", "1", "--out", out]

    def run_to_the_end(self, name, *words):
        out = self.folder / name
        done = subprocess.run(self.command(out, *words), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)
        return results_in(out)

    def test_every_training_could_begin(self):
        results = self.run_to_the_end("dry", *PARTS, "--dry-run", "--deadline", "1000")
        tried = [each["name"] for each in results if each["detail"] == "by --dry-run"]
        self.assertGreater(len(tried), 60)
        for part in ("first training, torch", "resnet18 on cuda:0..cpu/t1", "mlp on cuda:0..cpu/t1+cpu/t1..cpu/t1", "--batch max",
                     "resnet34 128 bf16 forced", "cuda:0 bf16"):  # fmt: skip
            self.assertIn(part, tried)

    def test_the_parts_run_to_their_end(self):
        results = self.run_to_the_end("parts", *PARTS, "--deadline", "1000")
        good = [each["name"] for each in results if each["result"] == "ok"]
        for part in ("doctor", "first training, native", "tests on the GPU", "mlp native on cuda:0", "resumed"):
            self.assertIn(part, good)
        self.assertIn("mlp 64 fp32", [each["name"] for each in results if each["result"] == "figure"])

    def test_results_come_one_by_one(self):
        out = self.folder / "one_by_one"
        process = subprocess.Popen(self.command(out, "right", "--dry-run"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(results_in(out)) < 2:
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "it ended before a result could be read")
        process.send_signal(signal.SIGINT)  # what was found out until then is kept
        process.wait()
        self.assertGreaterEqual(len(results_in(out)), 2)

    def test_results_are_none_after_the_deadline(self):
        out = self.folder / "deadline"
        done = subprocess.run(self.command(out, *PARTS, "--deadline", "1"), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no time was left", done.stdout)
        self.assertEqual(results_in(out), [])

    def test_only_what_has_the_text_in_its_name(self):
        names = [each["name"] for each in self.run_to_the_end("only", "right", "--dry-run", "--only", "frozen_stages")]
        self.assertEqual(names, ["machine", "frozen stage", "frozen stage --replicas threads"])

    def test_it_is_small(self):
        size = sum(path.stat().st_size for path in self.packed.rglob("*") if path.is_file())
        self.assertLess(size, LIMIT_BYTES)

    def test_it_runs_where_nothing_else_is(self):
        root = self.folder / "root"
        for name in ("gpu", "system", "lib64", "proc", "tmp"):
            (root / name).mkdir(parents=True)
        shutil.copytree(self.packed, root / "gpu", dirs_exist_ok=True)
        cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        for line in cache.splitlines():
            words = line.split()
            if words and words[0] in SYSTEM and "x86-64" in line and not (root / "system" / words[0]).exists():
                shutil.copy(os.path.realpath(words[-1]), root / "system" / words[0])
        shutil.copy(os.path.realpath("/lib64/ld-linux-x86-64.so.2"), root / "lib64" / "ld-linux-x86-64.so.2")
        inside = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", f"--root={root}"]
        environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "LD_LIBRARY_PATH": "/gpu/lib:/system"}

        def run(*words):
            return subprocess.run([*inside, *words], capture_output=True, text=True, check=False, env=environment)

        first = run("/gpu/build/release/bin/evener", "--version")
        if "unshare" in first.stderr:
            self.skipTest(f"no empty root can be made here: {first.stderr.strip()}")
        self.assertIn("evener", first.stdout, first.stderr)
        trained = run("/gpu/build/release/bin/evener", "train", "mlp:784-48-10", "--data", "synth:digits:200", "--engine", "native",
                      "--epochs", "1", "--out", "/tmp/run")  # fmt: skip
        self.assertIn(trained.returncode, (0, 3), trained.stderr)
        self.assertTrue((root / "tmp" / "run" / "record.json").exists())


if __name__ == "__main__":
    unittest.main()
