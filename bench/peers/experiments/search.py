"""The nearest of every one of many embeddings: evener's search against Faiss's, and a million."""

import pathlib
import time

from common import compare
from common.context import say

TITLE = "The 10 nearest of each of 50,000 embeddings of 512 numbers, exactly; and of 1,000,000"
NEEDS_PEERS = True
THEME = "faces"

NEAREST = 10
PHOTOS_OF_A_PERSON = 20  # more than the nearest: strangers are all equally far, and any of them would do
LIMIT = 0.8  # distance of two photos of one person: those of the made-up ones lie at 0.63
EMBEDDINGS, MANY = 50_000, 1_000_000
MOST_BYTES = 4e9


def run(context):
    few, many = (2_000, 20_000) if context.quick else (EMBEDDINGS, MANY)
    with context.folder() as name:
        folder = pathlib.Path(name)
        data = made(context, folder, few)
        words = ("--nearest", NEAREST, "--threads", context.threads)
        comparison = compare.rounds(
            context,
            f"{few}",
            "embeddings/s",
            None,
            ours=lambda: few / searched(context, folder, data)["seconds"],
            peer=lambda: context.rate("search_peers.py", data, *words, name="embeddings_per_s"),
            job=f"The {NEAREST} nearest of each of {few:,} embeddings of 512 numbers",
            against="Faiss, IndexFlatIP",
            precision="exact",
        )
        print(compare.table([comparison], "Faiss, IndexFlatIP"), flush=True)
        job = f"The {NEAREST} nearest of each of {many:,} embeddings of 512 numbers"
        found, figures = None, []
        if context.wants(job):
            found = searched(context, folder, made(context, folder, many))
            figures = figures_of(job, found)
    return {
        "comparisons": [comparison.json()],
        "figures": [figure.json() for figure in figures],
        "embeddings": many,
        "search": found,
    }


def figures_of(job, found):
    print(
        f"{job}: {found['seconds']:.0f} s, {found['cpu_s']:.0f} s of processor time, "
        f"peak {found['peak_bytes'] / 1e9:.2f} GB (at most {MOST_BYTES / 1e9:.0f})",
        flush=True,
    )
    verdict = "met" if found["peak_bytes"] <= MOST_BYTES else "missed"
    return [
        compare.Figure(f"{job}, processor time", "s", found["cpu_s"], better="lower", precision="exact"),
        compare.Figure(
            *(f"{job}, peak memory", "GB", found["peak_bytes"] / 1e9, MOST_BYTES / 1e9, verdict), better="lower", precision="exact"
        ),
    ]


def made(context, folder, count):
    file = folder / "embeddings.safetensors"
    context.peer("search_peers.py", file, "--make", count, "--photos", PHOTOS_OF_A_PERSON)
    return file


def searched(context, folder, data):
    """What a search cost, from the file to the tables."""
    begin = time.perf_counter()
    record = context.evener(
        *("faces", data, "--neighbours", NEAREST, "--limit", LIMIT, "--on", f"cpu/t{context.threads}"),
        *("--out", folder / "run", "--overwrite", "--quiet", "--json", "-"),
    )
    seconds = time.perf_counter() - begin
    say(f"  {seconds:.0f} s")
    return {
        "seconds": seconds,
        "cpu_s": record["cpu"]["seconds"],
        "peak_bytes": record["memory"]["peak_rss_bytes"],
    }
