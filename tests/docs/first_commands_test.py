"""The commands with which the pages open work as they are shown. Run by ctest, or by

    EVENER_PROGRAM=build/release/bin/evener python3 first_commands_test.py [PAGE...]

All commands of a page run in one shell, in an empty folder, where ./evener stands for the program. Every line that is shown
below a command has to be in its output, in that order; pages.first_missing() has the rules.
"""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

import pages

LONGEST_S = 250  # a few seconds on a quiet machine; what runs beside it may want all of its cores
named_pages = []


def run_in_one_shell(commands, program, longest_s=LONGEST_S):
    """Exit code and output of each command; the code is None for one that didn't end, or didn't begin."""
    with tempfile.TemporaryDirectory(prefix="evener-docs-") as made:
        work, results, cache = (pathlib.Path(made) / name for name in ("work", "results", "cache"))
        for folder in (work, results, cache):
            folder.mkdir()
        script = ""
        for number, command in enumerate(commands):
            text = re.sub(r"(?<![\w./])\./evener(?![\w./-])", lambda _: shlex.quote(program), command.text)
            output = shlex.quote(str(results / str(number)))
            script += f"exec >{output} 2>&1\n{text}\necho $? >{output}.code\n"
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "LC_ALL": "C.UTF-8"}
        shell = subprocess.Popen(["bash", "-c", script], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            shell.wait(longest_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # what it left running, such as a server
            except ProcessLookupError:
                pass
            shell.wait()
        found = []
        for number in range(len(commands)):
            output, code = results / str(number), results / f"{number}.code"
            ended = code.read_text().strip() if code.exists() else ""
            shown = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
            found.append((int(ended) if ended else None, shown))
        return found


def problems_of(text, program, opens=True, longest_s=LONGEST_S):
    """A sentence for each thing in which the first console block of a page, which opens it, isn't what the program does."""
    try:
        if opens:
            pages.check_opening(text)
        commands = pages.first_console_block(text)
    except ValueError as error:
        return [str(error)]
    problems = []
    for command, (code, output) in zip(commands, run_in_one_shell(commands, program, longest_s)):
        where = f"line {command.line_number}: $ {command.text}\n"
        if code is None:
            problems.append(f"{where}didn't end within {longest_s} s; its output:\n{output}")
            break
        if code != command.exit_code:
            problems.append(f"{where}ended with the exit code {code}, not {command.exit_code}; its output:\n{output}")
            continue
        missing = pages.first_missing(command.shown, output)
        if missing:
            problems.append(f"{where}line {missing[0]} is not in its output (or not in this order): {missing[1]}\nThe output:\n{output}")
    return problems


class FirstCommands(unittest.TestCase):
    def test_of_each_page_do_what_it_shows(self):
        program = os.environ.get("EVENER_PROGRAM")
        self.assertTrue(program, "the variable EVENER_PROGRAM has to name the program")
        program = str(pathlib.Path(program).resolve())
        for page in [pathlib.Path(name).resolve() for name in named_pages] or [pages.ROOT / "README.md", *pages.pages_of_docs()]:
            text = page.read_text(encoding="utf-8")
            is_of_docs = page.parent == pages.ROOT / "docs"
            if page.name in pages.INDEX_PAGES and (is_of_docs or "```console" not in text):
                continue
            with self.subTest(page=page.name):
                if "import evener" in text.partition("```console")[2].partition("```")[0] and not has_python_module():
                    print(f"SKIPPED: {page.name} needs the Python module (PYTHONPATH)", file=sys.stderr)
                    continue
                problems = problems_of(text, program, opens=is_of_docs)
                if problems:
                    self.fail(f"{page}:\n" + "\n".join(problems))


def has_python_module():
    return subprocess.run(["python3", "-c", "import evener"], stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    named_pages = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
