"""Tables of the pages stay readable: no cell is longer than 120 characters. Run by ctest, or by python3 cells_test.py."""

import unittest

import pages

CHECKED = ["README.md", "CONTRIBUTING.md", "bench/peers/README.md"]


class Cells(unittest.TestCase):
    def test_none_is_longer_than_120_characters(self):
        for page in [*(pages.ROOT / name for name in CHECKED), *pages.pages_of_docs()]:
            with self.subTest(page=str(page.relative_to(pages.ROOT))):
                found = list(pages.long_cells(page.read_text(encoding="utf-8")))
                if found:
                    told = "\n".join(f"line {number}: {length} characters: {begin}..." for number, length, begin in found)
                    self.fail(f"cells of more than 120 characters; make them a sentence, a list or a section:\n{told}")


if __name__ == "__main__":
    unittest.main()
