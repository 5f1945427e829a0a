"""What the checks in this folder read of a page in Markdown: its prose, links, headings, tables and console blocks."""

import pathlib
import re
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
INDEX_PAGES = ("README.md", "glossary.md")  # of docs/: they name other pages, and show no command


def pages_of_docs(root=ROOT):
    return sorted((root / "docs").glob("*.md"))


def lines_of(text):
    """Each line with its number and what it is: prose, code (the text of a block), or fence (what stands around one)."""
    fence = None
    code_may_begin = True  # a line that is indented by four is code after an empty line or other code
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if fence:
            ends = mark and mark[1].startswith(fence) and not line.strip(" `~")
            yield number, line, "fence" if ends else "code"
            fence = None if ends else fence
        elif mark:
            fence = mark[1]
            yield number, line, "fence"
        elif code_may_begin and line.startswith("    ") and line.strip():
            yield number, line, "code"
        else:
            code_may_begin = not line.strip()
            yield number, line, "prose"


def prose_of(text):
    """The text without its code, of blocks and within lines; each line stays on its number."""
    kept = "\n".join(line if kind == "prose" else "" for _, line, kind in lines_of(text))
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", lambda code: "`" + "\n" * code[2].count("\n") + "`", kept, flags=re.DOTALL)


def links_of(text):
    """Number of the line and target of each link and picture."""
    prose = prose_of(text)
    inline = r"\[[^\[\]]*\]\(\s*<?([^\s<>()]+)>?(?:\s+\"[^\"]*\")?\s*\)"
    around_a_picture = r"\[!\[[^\]]*\]\([^)]*\)\]\(([^\s)]+)\)"
    defined = r"^ {0,3}\[[^\]]+\]:\s*<?([^\s<>]+)"
    for pattern in (inline, around_a_picture, defined):
        for found in re.finditer(pattern, prose, re.MULTILINE):
            yield prose.count("\n", 0, found.start(1)) + 1, found[1]


def anchors_of(text):
    """The anchors that GitHub gives to a page's headings, and those that the page sets itself."""
    anchors = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for _, line, kind in lines_of(text):
        heading = re.match(r" {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$", line)
        if kind != "prose" or not heading:
            continue
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])  # of a link its words
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = 0
        while (f"{slug}-{count}" if count else slug) in anchors:
            count += 1
        anchors.add(f"{slug}-{count}" if count else slug)
    return anchors


def broken_links(page, root=ROOT):
    """A sentence for each link within the repository that leads nowhere."""
    for number, target in links_of(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE):
            continue
        place, _, anchor = urllib.parse.unquote(target).partition("#")
        file = (page.parent / place).resolve() if place else page
        where = f"{page.relative_to(root)}:{number}: ({target})"
        if place.startswith("/") or not file.is_relative_to(root):
            yield f"{where} leaves the repository"
        elif not file.exists():
            yield f"{where}: there is no file {file.relative_to(root)}"
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text(encoding="utf-8")):
            yield f"{where}: {file.relative_to(root)} has no heading with the anchor #{anchor}"


def unlinked_pages(index, pages):
    """The pages to which the index has no link."""
    linked = {(index.parent / target.partition("#")[0]).resolve() for _, target in links_of(index.read_text(encoding="utf-8"))}
    return [page for page in pages if page != index and page.resolve() not in linked]


def long_cells(text, most=120):
    """Number of the line, length and beginning of each cell of a table that is too long."""
    for number, line, kind in lines_of(text):
        if kind != "prose" or not line.lstrip().startswith("|"):
            continue
        for cell in re.split(r"(?<!\\)\|", line):
            if len(cell.strip()) > most:
                yield number, len(cell.strip()), cell.strip()[:40]


class Command:
    """A command of a console block, and what the page shows below it."""

    def __init__(self, line_number, text):
        self.line_number, self.text, self.shown, self.exit_code = line_number, text, [], 0


def check_opening(text):
    """ValueError, unless a page begins with a title, a paragraph and a console block."""
    before = []
    for _, line, kind in lines_of(text):
        if kind != "prose":
            if line.strip() != "```console":
                raise ValueError("its first block of code has to begin with ```console")
            break
        before += [line] if line.strip() else []
    else:
        raise ValueError("it has to open with a block that begins with ```console")
    if len(before) < 2 or not before[0].startswith("# ") or any(re.match("#+ ", line) for line in before[1:]):
        raise ValueError("a title and a paragraph have to stand before its console block, and no other heading")


def first_console_block(text):
    """The commands of a page's first console block. ValueError says what is wrong with the block, or that there is none."""
    commands, goes_on, inside = [], False, False
    for number, line, kind in lines_of(text):
        if kind != "code":
            if inside:
                break
            inside = kind == "fence" and line.strip() == "```console"
            continue
        if not inside:
            continue
        code = re.fullmatch(r"\(exit code (\d+)\)", line.strip())
        if goes_on:
            commands[-1].text += "\n" + line
        elif line.startswith("$ "):
            commands.append(Command(number, line[2:]))
        elif not commands and line.strip():
            raise ValueError(f"line {number}: before the first command ('$ ...') stands '{line}'")
        elif commands and code:
            commands[-1].exit_code = int(code[1])
        elif commands and line.strip():
            commands[-1].shown.append((number, line))
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith(" \\")
    if not commands:
        raise ValueError("it has no block ```console with a command ('$ ...')")
    return commands


def comparable(line):
    """A line in which runs of blanks count as one, and any number, with a sign, a unit's prefix or % at it, as the same."""
    number = r"(?:(?<![\w.)\]])[-+])?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?(?:[kMGTmun](?![A-Za-z]))?%?"
    return re.sub(number, "0", " ".join(line.split()))


def first_missing(shown, output):
    """The first (number, line) of those shown that isn't in the output behind the one before; None if all are.

    A line may be shown up to one of its blanks, with or without " ..." for the rest; "..." alone stands for lines left out.
    """
    rest = iter([comparable(line) + " " for line in output.splitlines()])
    for number, line in shown:
        wanted = comparable(line).removesuffix("...").strip()
        if wanted and not any(got.startswith(wanted + " ") or got == comparable(line) + " " for got in rest):
            return number, line
    return None
