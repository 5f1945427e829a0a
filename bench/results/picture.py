"""docs/benchmarks.svg: a line for each job that evener and other software do at the same precision. Standard library alone."""

import math
from xml.sax.saxutils import escape

import rows as table

NUMBER_FORMATS = ("fp32", "bf16", "fp16", "int8")

WIDTH = 1020
JOB_X, PEER_X, PLOT_X, PLOT_END, RATIO_X = 24, 426, 644, 944, 994  # the last is where the numbers end
LINE, GROUP_GAP, HEAD = 21, 14, 142
CHARACTER = 6.7  # its width at most, on the average, in the widest of the fonts
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 30, 50, 100)
SPEEDS = ("s", "ms", "minutes")  # units besides those that end in /s
FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif"

STYLE = f"""
    text {{ font-family: {FONT}; font-size: 12px; fill: var(--ink); }}
    .stripe {{ fill: var(--stripe); }}
    .card {{ fill: var(--card); stroke: var(--line); }}
    .title {{ font-size: 17px; font-weight: 600; }}
    .group {{ font-weight: 600; font-size: 13px; }}
    .dim, .tick {{ fill: var(--dim); }}
    .tick {{ font-size: 11px; text-anchor: middle; }}
    .ratio {{ text-anchor: end; font-variant-numeric: tabular-nums; }}
    .grid {{ stroke: var(--line); }}
    .one {{ stroke: var(--ink); stroke-width: 1.5; }}
    .target {{ stroke: var(--ink); stroke-width: 2; }}
    .span {{ stroke-width: 2.5; stroke-linecap: round; }}
    .few {{ stroke-dasharray: 1 4.5; }}
    .met {{ stroke: var(--met); fill: var(--met); }}
    .undecided {{ stroke: var(--undecided); fill: var(--undecided); }}
    .missed {{ stroke: var(--missed); fill: var(--missed); }}
    .none {{ stroke: var(--none); fill: var(--none); }}
    circle.undecided {{ fill: var(--card); }}
    .dot {{ stroke-width: 2; }}
    svg {{ --card: #ffffff; --stripe: #f6f8fa; --ink: #1f2328; --dim: #59636e; --line: #d8dee4; --met: #0a7d5a; --undecided: #b06a00;
      --missed: #c62f3b; --none: #6e7781; }}
    @media (prefers-color-scheme: dark) {{
      svg {{ --card: #151b23; --stripe: #1b222b; --ink: #e6edf3; --dim: #9aa4af; --line: #313943; --met: #3fb98a; --undecided: #e0a03c;
        --missed: #f4717a; --none: #8d96a0; }}
    }}
"""


def belongs(row):
    """Whether a row is in the picture: other software, the same precision, a speed with a ratio and what lies around it."""
    return bool(
        row["peer"]
        and not table.is_ourselves(row)
        and table.has_equal_precisions(row)
        and all(table.number(row[column]) is not None for column in ("ratio", "low", "high"))
        and (row["unit"].endswith("/s") or row["unit"] in SPEEDS)
    )


def chosen(found):
    """Of each job the newest row of all processors, jobs together, in the order of their first."""
    kept = {}
    for row in filter(belongs, found):
        key = tuple(row[column] for column in ("job", "precision", "peer", "threads"))
        if key not in kept or row["date"] >= kept[key]["date"]:
            kept[key] = row
    order = list(dict.fromkeys(row["job"] for row in kept.values()))
    return sorted(kept.values(), key=lambda row: order.index(row["job"]))


def of(groups):
    """The picture of heading -> rows."""
    groups = {heading: some for heading, found in groups.items() if (some := chosen(found))}
    every = [row for some in groups.values() for row in some]
    scale = Scale(every)
    height = HEAD + sum(LINE * (len(some) + 1) + GROUP_GAP for some in groups.values()) + 30
    bottom = height - 36
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        'aria-labelledby="title about">',
        '<title id="title">Speed of evener against other software at equal precisions</title>',
        f'<desc id="about">{escape(told(every))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>',
        text(JOB_X, 36, "Speed of evener against other software, at equal precisions", "title"),
        *legend(62),
    ]
    lines, y = [], HEAD
    for heading, some in groups.items():
        common = common_end([row["job"] for row in some])
        lines.append(text(JOB_X, y + 4, heading + common, "group"))
        y += LINE
        before, jobs = None, 0
        for row in some:
            jobs += row["job"] != before
            if jobs % 2:
                parts.append(stripe(y))
            lines += line(row, y, scale, "" if row["job"] == before else row["job"].removesuffix(common))
            before = row["job"]
            y += LINE
        y += GROUP_GAP
    return "\n".join([*parts, *axis(scale, bottom), *lines, "</svg>", ""])


class Scale:
    """A ratio's place on the logarithmic axis, which ends a little beyond all intervals."""

    def __init__(self, every):
        values = [float(row[column]) for row in every for column in ("low", "high")] + [1.0]
        self._low, self._high = math.log(min(values) / 1.06), math.log(max(values) * 1.06)

    def x(self, ratio):
        share = (math.log(ratio) - self._low) / (self._high - self._low)
        return round(PLOT_X + share * (PLOT_END - PLOT_X), 1)

    def ticks(self):
        return [tick for tick in TICKS if self._low <= math.log(tick) <= self._high]


def axis(scale, bottom):
    top = HEAD - 16
    for tick in scale.ticks():
        x = scale.x(tick)
        yield f'<line class="{"one" if tick == 1 else "grid"}" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'
        yield text(x, top - 6, f"{tick:g}", "tick")
        yield text(x, bottom + 16, f"{tick:g}", "tick")


def stripe(y):
    return f'<rect class="stripe" x="{JOB_X - 8}" y="{y - LINE / 2}" width="{WIDTH - 2 * JOB_X + 16}" height="{LINE}"/>'


def common_end(jobs):
    """", beside one busy loop", if all of several jobs end so."""
    ends = {job.rpartition(", ")[2] for job in jobs}
    return f", {ends.pop()}" if len(set(jobs)) > 2 and len(ends) == 1 else ""


def line(row, y, scale, job):
    low, high, ratio = (float(row[column]) for column in ("low", "high", "ratio"))
    verdict = row["verdict"]
    few = "" if row["interval"] == "95 %" else " few"
    words = [row["peer"], row["precision"] if row["precision"] in NUMBER_FORMATS else "", "1 thread" if row["threads"] == "1" else ""]
    if job:
        yield text(JOB_X, y + 4, shortened(job, PEER_X - JOB_X))
    yield text(PEER_X, y + 4, shortened(", ".join(filter(None, words)), PLOT_X - PEER_X), "dim")
    yield f'<line class="span {verdict}{few}" x1="{scale.x(low)}" y1="{y}" x2="{scale.x(high)}" y2="{y}"/>'
    target = table.number(row["target"])
    if target is not None and scale.x(target) >= PLOT_X and scale.x(target) <= PLOT_END:
        x = scale.x(target)
        yield f'<line class="target" x1="{x}" y1="{y - 7}" x2="{x}" y2="{y + 7}"/>'
    yield mark(scale.x(ratio), y, verdict)
    yield text(RATIO_X, y + 4, f"{ratio:.2f}", "ratio")


def shortened(words, width):
    most = int(width / CHARACTER)
    return words if len(words) <= most else words[: most - 1].rstrip(" ,") + "\u2026"


def mark(x, y, verdict):
    """Shapes differ too, for those who don't tell the colours apart."""
    if verdict == "missed":
        return f'<path class="dot missed" d="M{x - 4:g} {y}l4 -4 4 4 -4 4z"/>'
    return f'<circle class="dot {verdict}" cx="{x:g}" cy="{y}" r="3.5"/>'


def legend(y):
    """What shapes and lines mean, in two lines."""
    x = JOB_X + 5
    for verdict, words in (("met", "target met"), ("undecided", "undecided"), ("missed", "missed"), ("none", "no target, or not judged")):
        yield mark(x, y, verdict)
        yield text(x + 11, y + 4, words, "dim")
        x += 34 + CHARACTER * len(words)
    x, y = JOB_X, y + 22
    for few, words in (("", "interval of 95 %"), (" few", "range of fewer than 6 rounds")):
        yield f'<line class="span none{few}" x1="{x + 1}" y1="{y}" x2="{x + 25}" y2="{y}"/>'
        yield text(x + 33, y + 4, words, "dim")
        x = round(x + 56 + CHARACTER * len(words), 1)
    yield f'<line class="target" x1="{x}" y1="{y - 7}" x2="{x}" y2="{y + 7}"/>'
    yield text(x + 9, y + 4, "target", "dim")
    yield text(RATIO_X, y + 4, "how many times as fast as the other software; right of 1 evener is faster", "ratio dim")


def text(x, y, words, style=""):
    marked = f' class="{style}"' if style else ""
    return f'<text{marked} x="{x}" y="{y}">{escape(words)}</text>'


def told(every):
    """For those who can't see it."""
    faster = sum(float(row["low"]) > 1 for row in every)
    slower = sum(float(row["high"]) < 1 for row in every)
    rest = len(every) - faster - slower
    return f"Of {len(every)} comparisons evener is faster in {faster}, slower in {slower}, and about as fast in {rest}."
