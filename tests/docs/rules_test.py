"""What the checks in this folder find, on little pages that are made up. Run by ctest, or by python3 rules_test.py."""

import pathlib
import tempfile
import unittest

import first_commands_test
import pages

PAGE = "# Title\n\nWhat it is for.\n\n```console\n{}\n```\n"


class Links(unittest.TestCase):
    def broken(self, text):
        with tempfile.TemporaryDirectory() as made:
            root = pathlib.Path(made).resolve()
            (root / "docs").mkdir()
            (root / "docs" / "other.md").write_text("# Other page\n\n## `--class NAME=GLOB`, and more\n\n## Twice\n\n## Twice\n")
            page = root / "docs" / "page.md"
            page.write_text(text)
            return [sentence.partition(": ")[2] for sentence in pages.broken_links(page, root)]

    def test_to_files_and_headings_that_are_there_are_no_trouble(self):
        self.assertEqual(self.broken("# Here\n[a](other.md) [b](other.md#other-page) [c](#here) [d](../docs) [e](https://a.example/x)\n"
                                     "[two\nlines](other.md#--class-nameglob-and-more) ![p](other.md) [f](other.md#twice-1)\n"), [])

    def test_that_lead_nowhere_are_found(self):
        self.assertEqual(self.broken("[a](none.md)"), ["(none.md): there is no file docs/none.md"])
        self.assertEqual(self.broken("[a](other.md#none)"), ["(other.md#none): docs/other.md has no heading with the anchor #none"])
        self.assertEqual(self.broken("[a](other.md#twice-2)"), ["(other.md#twice-2): docs/other.md has no heading with the anchor #twice-2"])
        self.assertEqual(self.broken("[a](#none)"), ["(#none): docs/page.md has no heading with the anchor #none"])
        self.assertEqual(self.broken("[a](../../x)"), ["(../../x) leaves the repository"])
        self.assertEqual(self.broken("see [it]\n\n[it]: none.md\n"), ["(none.md): there is no file docs/none.md"])
        self.assertEqual(self.broken("[![p](none.png)](none.md)"),
                         ["(none.png): there is no file docs/none.png", "(none.md): there is no file docs/none.md"])

    def test_in_code_are_none(self):
        self.assertEqual(self.broken("```\n[a](none.md)\n```\n\n    [a](none.md)\n\n`[a](none.md)` ``[a](none.md) ` ``"), [])

    def test_a_page_that_the_index_forgets_is_found(self):
        with tempfile.TemporaryDirectory() as made:
            index, one, two = (pathlib.Path(made).resolve() / name for name in ("README.md", "one.md", "two.md"))
            index.write_text("[one](one.md#part) `[two](two.md)`")
            self.assertEqual(pages.unlinked_pages(index, [index, one, two]), [two])


class Headings(unittest.TestCase):
    def test_get_the_anchors_of_github(self):
        text = "# Up & down: *two* [words](a.md)\n\n```\n# no heading\n```\n## It's 5 % ##\n### snake_case `a|b` – é\n"
        self.assertEqual(pages.anchors_of(text), {"up--down-two-words", "its-5-", "snake_case-ab--é"})


class Cells(unittest.TestCase):
    def test_a_long_one_is_found_with_its_line(self):
        self.assertEqual(pages.long_cells.__defaults__, (120,))
        text = "| a | b |\n|---|---|\n| " + "x" * 120 + " |   y |\n| z | " + "x" * 121 + " |\n"
        self.assertEqual(list(pages.long_cells(text)), [(4, 121, "x" * 40)])

    def test_code_and_prose_are_no_cells_and_escaped_bars_no_borders(self):
        long = "x" * 121
        self.assertEqual(list(pages.long_cells(f"```\n| {long} |\n```\n\n    | {long} |\n\na {long} | b\n")), [])
        self.assertEqual([length for _, length, _ in pages.long_cells("| " + "x" * 60 + " \\| " + "x" * 60 + " |")], [124])


class ConsoleBlocks(unittest.TestCase):
    def problems(self, block, **options):
        return first_commands_test.problems_of(PAGE.format(block), "/bin/echo", **options)

    def assert_finds(self, what, block):
        self.assertIn(what, "\n".join(self.problems(block)))

    def test_that_show_what_comes_are_right(self):
        self.assertEqual(self.problems("$ ./evener one  1.25 k; echo two\none   37 k\n$ ./evener a \\\n    b\na b"), [])
        self.assertEqual(self.problems("$ seq 3; echo last >&2\n1\n...\nlast"), [])
        self.assertEqual(self.problems("$ seq 3\n1\n2"), [])  # anything may follow
        self.assertEqual(self.problems("$ echo made >file\n$ cat file\nmade"), [])
        self.assertEqual(self.problems("$ ls"), [])
        self.assertEqual(self.problems("$ (exit 3)\n(exit code 3)"), [])
        self.assertEqual(self.problems("$ sleep 60 &\n$ echo b\nb", longest_s=20), [])
        self.assertEqual(self.problems("$ echo a long line; echo b...; echo another long line\na ...\nb...\nanother long"), [])

    def test_a_line_that_does_not_come_is_found(self):
        self.assert_finds("line 8 is not in its output (or not in this order): two", "$ ./evener one\none\ntwo")
        self.assert_finds("line 8 is not in its output", "$ echo a; echo b\nb\na")
        self.assert_finds("line 7 is not in its output", "$ echo onetwo\none")
        self.assert_finds("line 7 is not in its output", "$ echo one two\ntwo")
        self.assert_finds("line 9 is not in its output", "$ echo a\na\n...\nb")

    def test_another_exit_code_is_found(self):
        self.assert_finds("ended with the exit code 3, not 0", "$ (exit 3)")
        self.assert_finds("ended with the exit code 0, not 2", "$ true\n(exit code 2)")
        self.assert_finds("ended with the exit code 127, not 0", "$ no-such-command-as-this")

    def test_a_command_that_does_not_end_is_found(self):
        self.assertIn("didn't end within 0.2 s", self.problems("$ sleep 60", longest_s=0.2)[0])

    def test_a_page_has_to_open_with_one(self):
        self.assert_finds("line 6: before the first command ('$ ...') stands 'one'", "one\n$ ./evener one")
        self.assert_finds("it has no block ```console with a command", "")
        for text in ("# T\n\nA.\n\n```\n$ true\n```\n", "# T\n\nA.\n\n    code\n\n```console\n$ true\n```\n"):
            self.assertIn("its first block of code has to begin", first_commands_test.problems_of(text, "/bin/echo")[0])
        self.assertIn("it has to open with", first_commands_test.problems_of("# T\n\nA.\n", "/bin/echo")[0])
        for text in ("# T\n\n```console\n$ true\n```\n", "# T\n\nA.\n\n## U\n\n```console\n$ true\n```\n"):
            self.assertIn("a title and a paragraph", first_commands_test.problems_of(text, "/bin/echo")[0])
            self.assertEqual(first_commands_test.problems_of(text, "/bin/echo", opens=False), [])

    def test_numbers_stand_for_each_other(self):
        for one, two in (("1", "2.5"), ("12,345", "7"), ("98.5%", "3"), ("1.2k img", "900 img"), ("28x28", "8x8"), ("1e-05", "0.1"),
                         ("a -0.5", "a 0.5"), ("10:15:03", "9:01:00"), ("cpu/t1", "cpu/t2")):
            self.assertEqual(pages.comparable(one), pages.comparable(two))
        for one, two in (("1 ms", "1 s"), ("1ms", "1s"), ("a1", "b1"), ("1", "one"), ("mlp", "mlp2")):
            self.assertNotEqual(pages.comparable(one), pages.comparable(two))


if __name__ == "__main__":
    unittest.main()
