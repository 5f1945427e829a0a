"""From JPEG files to answers: evener infer on a folder against torchvision's ImageFolder, transforms and DataLoader, and
what reading adds to computing while a core is free."""

import statistics

from common import compare, training
from common.context import say

TITLE = "From JPEG files of 500x375 pixels to answers: images/s of ResNet-18 and MobileNetV2 at 224x224"
NEEDS_PEERS = True
THEME = "inference"

TARGET = 2.0
SHARE_TARGET = 0.05  # of the time, that reading may add while a core is free
IMAGES = 256  # whole batches, for which the peer's network is compiled
NETWORKS = ("resnet18", "mobilenet_v2")


def run(context):
    images = 64 if context.quick else IMAGES
    networks = NETWORKS[:1] if context.quick else NETWORKS
    with context.folder() as folder:
        say(f"  writing {images} JPEG files")
        context.peer("pytorch_load.py", folder, "--make", images)
        wanted = [name for name in networks if context.wants(job(name))]
        comparisons = [against_torchvision(context, folder, name, p) for name in wanted for p in context.precisions]
        print(compare.table(comparisons, "torchvision 0.26"), flush=True)
        shares, figures = {}, []
        if context.threads > 1 and context.wants("reading"):
            for precision in context.precisions:
                shares[precision], figure = reading_shares(context, folder, precision)
                figures.append(figure)
    return {
        "images": images,
        "comparisons": [one.json() for one in comparisons],
        "reading_shares": shares,
        "figures": figures,
    }


def job(network):
    return f"JPEG files of 500x375 to predictions, {training.NAMES[network]} at 224x224"


def against_torchvision(context, folder, network, precision):
    """The peer is compiled, and as fast as its fastest number of workers makes it; eager it is asked with one of them."""
    numbers = sorted({0, 1, context.threads})
    names = {f"compiled, {number} workers": ("--compile", "--workers", number) for number in numbers}
    names[f"eager, {numbers[-1]} workers"] = ("--workers", numbers[-1])
    words = ("--network", network, "--precision", precision, "--threads", context.threads)
    sides = {"evener": lambda: evener(context, folder, network, precision, context.threads, seconds=0)["images_per_s"]}
    sides |= {name: lambda way=way: context.rate("files_peers.py", folder, *words, *way) for name, way in names.items()}
    say(f"  {network} {precision}")
    rates = compare.interleaved(context, "images/s", sides, ways=[list(names)])
    best, note = compare.better(rates, {name: name for name in names})
    comparison = compare.of_rates(
        *(f"{network} {precision}", "images/s", TARGET, rates["evener"], rates[best]),
        job=job(network),
        against="torchvision",
        precision=precision,
    )
    comparison.notes.append(f"{network} {precision}: torchvision {note}")
    return comparison


def evener(context, folder, network, precision, threads, seconds):
    return context.evener(
        *("infer", network, f"{folder}/**/*.jpg", "--random", "--on", f"cpu/t{threads}", "--precision", precision),
        *("--seconds", seconds, "--json", "-", "--quiet"),
    )


def reading_shares(context, folder, precision):
    """Of ResNet-18 with one thread less than there are cores: how much longer images take from files than from memory."""
    shares = []
    for _ in range(context.runs):
        context.rest()
        record = evener(context, folder, "resnet18", precision, context.threads - 1, seconds=1 if context.quick else 4)
        alone = record["metrics"]["network_images_per_s"]["value"]
        shares.append(alone / record["images_per_s"] - 1)
    between = compare.interval(shares)
    word = compare.verdict(between and [-share for share in reversed(between)], -SHARE_TARGET)
    print(
        f"reading adds {100 * statistics.median(shares):.1f} % to ResNet-18 {precision} with a core free   "
        f"{compare.spread_text(between, (min(shares), max(shares)), digits=1, scale=100)} %   "
        f"target below {100 * SHARE_TARGET:.0f} % {word}",
        flush=True,
    )
    figure = compare.Figure(
        "Reading JPEG files, time added to ResNet-18 with a core free",
        *("%", 100 * statistics.median(shares), 100 * SHARE_TARGET, word),
        better="lower",
        precision=precision,
        interval=between and tuple(100 * value for value in between),
        range=(100 * min(shares), 100 * max(shares)),
        rounds=len(shares),
    )
    return shares, figure.json()
