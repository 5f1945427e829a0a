"""Links of the pages lead somewhere, and docs/README.md to every page. Run by ctest, or by python3 links_test.py."""

import unittest

import pages

CHECKED = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/peers/README.md", "experiments/README.md", "examples/README.md"]


class Links(unittest.TestCase):
    def test_each_leads_to_a_file_and_a_heading(self):
        for page in [*(pages.ROOT / name for name in CHECKED), *pages.pages_of_docs()]:
            if not page.exists():
                continue
            with self.subTest(page=str(page.relative_to(pages.ROOT))):
                broken = list(pages.broken_links(page))
                if broken:
                    self.fail("links that lead nowhere:\n" + "\n".join(broken))

    def test_the_index_leads_to_every_page_of_docs(self):
        unlinked = pages.unlinked_pages(pages.ROOT / "docs" / "README.md", pages.pages_of_docs())
        if unlinked:
            self.fail("docs/README.md has no link to " + ", ".join(page.name for page in unlinked))


if __name__ == "__main__":
    unittest.main()
