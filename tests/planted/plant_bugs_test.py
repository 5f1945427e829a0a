"""What tools/plant-bugs writes and concludes, in a small repository with programs that only seem to be tests."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plant-bugs"
FILES = {"src/data/a.cpp": "int a() { return 1; }\n", "src/data/b.cpp": "int b() { return 2; }\n",
         "src/data/c.cpp": "int c() { return 3; }\n", "tests/base/paths.cpp": "// paths\n",
         "tests/data/a_test.cpp": "\n", "tests/docs/links_test.py": "\n"}

# A test program: reads what each of its tests does from files beside it, and counts how often it was started with a bug.
PROGRAM = """#!/usr/bin/env bash
here=${0%/*}
names=${2#--gtest_filter=}
[[ $EVENER_PLANTED == 0 ]] || echo "$names" >> "$here/started"
IFS=: read -ra names <<< "$names"
for name in "${names[@]}"; do
  case $(cat "$here/$name") in
    sees) [[ $EVENER_PLANTED == 0 ]] && continue ;;
    broken) ;;
    chance) [[ -e $here/$name.failed ]] && continue; touch "$here/$name.failed" ;;
    *) continue ;;
  esac
  echo "[  FAILED  ] $name (1 ms)"
  exit 1
done
"""


def load(root):
    loader = importlib.machinery.SourceFileLoader("plant_bugs", str(TOOL))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("plant_bugs", loader))
    loader.exec_module(tool)
    tool.ROOT, tool.PLACE = root, root / "build/planted"
    tool.TREE = tool.PLACE / "tree"
    tool.BUILD = tool.TREE / "build/release"
    tool.LOG = tool.PLACE / "reached.tsv"
    return tool


class PlantBugs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        (self.root / ".gitignore").write_text("build/\n")
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.tool = load(self.root)

    def bug(self, file, number):
        text = (self.root / file).read_text()
        value = text[text.index("return") + 7]
        return self.tool.Bug(file, text.index(value + ";"), value, "7", "another value", number)

    def written(self, bugs):
        """Which files a start with these bugs writes."""
        sources = [path for path in self.tool.TREE.rglob("*") if path.suffix in (".cpp", ".py")] if self.tool.TREE.exists() else []
        for path in sources:
            os.utime(path, (1, 1))
        self.tool.write_tree(bugs)
        return sorted(str(path.relative_to(self.tool.TREE)) for path in self.tool.TREE.rglob("*")
                      if path.suffix in (".cpp", ".py") and path.stat().st_mtime != 1)

    def test_a_later_start_writes_only_what_differs(self):
        first = [self.bug("src/data/a.cpp", 1), self.bug("src/data/b.cpp", 2)]
        self.assertEqual(self.written(first), sorted(FILES))
        self.assertIn("evener_planted::has(2) ? (7) : (2)", (self.tool.TREE / "src/data/b.cpp").read_text())
        self.assertEqual(self.written(first), [])
        self.assertEqual(self.written([first[0], self.bug("src/data/c.cpp", 2)]), ["src/data/b.cpp", "src/data/c.cpp"])
        self.assertEqual((self.tool.TREE / "src/data/b.cpp").read_text(), FILES["src/data/b.cpp"])
        (self.root / "tests/data/a_test.cpp").write_text("// other\n")
        (self.root / "src/data/b.cpp").unlink()
        self.assertEqual(self.written([first[0], self.bug("src/data/c.cpp", 2)]), ["tests/data/a_test.cpp"])
        self.assertFalse((self.tool.TREE / "src/data/b.cpp").exists())

    def test_a_bug_that_spoils_a_later_line_is_left_out_alone(self):
        (self.root / "deps").mkdir()
        (self.root / "deps/setup.sh").write_text(f"""
        file='{self.tool.TREE}/src/data/a.cpp'
        ! grep -q 'has(' "$file" || {{ echo "$file:2:1: error: something was not declared"; exit 1; }}
        """)
        bugs = [self.bug("src/data/a.cpp", 1), self.bug("src/data/b.cpp", 2)]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(self.tool.build(bugs, []), bugs[1:])
        self.assertIn("not planted  src/data/a.cpp:1: another value", output.getvalue())

    def tried(self, tests):
        """What becomes of a bug with such tests, in their order: (what saw it, what failed by chance)."""
        bin_folder = self.tool.BUILD / "bin"
        bin_folder.mkdir(parents=True, exist_ok=True)
        (self.tool.BUILD / "tests").mkdir(exist_ok=True)
        (bin_folder / "test_data").write_text(PROGRAM)
        (bin_folder / "test_data").chmod(0o755)
        for name, what in tests.items():
            (bin_folder / name).write_text(what)
        asked = [self.tool.Test("test_data", name) for name in tests]
        seconds = {test: 0.1 * place for place, test in enumerate(asked)}
        seen, _, by_chance = self.tool.try_bug(self.bug("src/data/a.cpp", 1), set(asked), seconds)
        return seen, by_chance

    def test_what_fails_twice_with_a_bug_and_never_without_has_found_it(self):
        self.assertEqual(self.tried({"S.Fine": "passes", "S.Sees": "sees"}), ("data.S.Sees", []))
        self.assertEqual(self.tried({"S.Luck": "chance", "S.Fine": "passes"}), (None, ["data.S.Luck"]))
        self.assertEqual(self.tried({"S.Other": "broken", "S.Fine": "passes"}), (None, ["data.S.Other"]))
        # What failed by chance hides nothing that others of its process see.
        self.assertEqual(self.tried({"S.Luck2": "chance", "S.Sees": "sees"}), ("data.S.Sees", ["data.S.Luck2"]))

    def test_tests_without_a_program_are_asked_too(self):
        self.tool.BUILD.mkdir(parents=True)
        told = f"echo \"$EVENER_PLANTED_TEST\t1\t0\" >> '{self.tool.LOG}'; "
        cases = {"docs.sees": "[ -n \"$EVENER_PLANTED_LOG\" ] && { " + told + "}; [ \"${EVENER_PLANTED:-0}\" = 0 ]",
                 "docs.fine": "true", "docs.skips": "echo SKIPPED:", "data.Other": "false"}
        lines = []
        for name, script in cases.items():
            (self.root / name).write_text(script)
            lines.append(f'add_test({name} "sh" "{self.root / name}")')
            lines.append(f'set_tests_properties({name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")')
        (self.tool.BUILD / "CTestTestfile.cmake").write_text("\n".join(lines))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            tests_of, seconds = self.tool.reached(["docs"], 2)
        sees = self.tool.Test("ctest", "docs.sees")
        self.assertEqual(tests_of, {1: {sees}})
        self.assertEqual({test.name for test in seconds}, {"docs.sees", "docs.fine"})
        self.assertIn("left out: docs.skips is skipped here", output.getvalue())
        self.assertEqual(self.tool.try_bug(self.bug("src/data/a.cpp", 1), {sees}, seconds)[0], "docs.sees")
        self.assertEqual(self.tool.targets_of(["data", "docs"]), ["test_data", "src/all"])
        self.assertEqual(self.tool.targets_of([]), ["all"])


if __name__ == "__main__":
    unittest.main()
