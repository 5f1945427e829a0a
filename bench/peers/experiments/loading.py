"""What reading and decoding image files costs of a training epoch: ours alone, no other software."""

import statistics

from common import compare
from common.context import say

TITLE = "Reading and decoding PNG files: share of an epoch of ResNet-34 at 1x148x197"
NEEDS_PEERS = False
THEME = "reading"

TARGET = 0.02  # of an epoch
BATCH = 32


def run(context):
    images = 64 if context.quick else 640
    shares, records = {"first": [], "later": []}, []
    with context.folder() as folder:
        say(f"  writing {images} masks of 590x445 pixels")
        context.evener_text("data", "synth", "masks", "--count", images, "--size", "590x445", "--out", f"{folder}/masks")
        for index in range(context.runs):
            context.rest()
            record = context.evener(
                *("train", "resnet34", "--data", f"{folder}/masks", "--split", "100/0", "--size", "197x148"),
                *("--channels", 1, "--batch", BATCH, "--epochs", 2, "--precision", context.precision, "--lr", 0.01),
                *("--on", f"cpu/t{context.threads}", "--seed", context.seed),
                *("--out", f"{folder}/run{index}", "--json", "-", "--quiet"),
            )
            first, later = epoch_shares(record)
            shares["first"].append(first)
            shares["later"].append(later)
            records.append({key: record.get(key) for key in ("times_s", "phases_s", "hidden_s", "epochs")})
            say(f"  round {index + 1} of {context.runs}: {100 * first:.2f} % of the first epoch, {100 * later:.2f} % of the second")
    verdicts = {}
    for epoch, values in shares.items():
        verdicts[epoch] = judged(values)
        print(f"{epoch + ' epoch':<14}{100 * statistics.median(values):>8.2f} %   {verdicts[epoch]}", flush=True)
    figures = [figure(context, epoch, values) for epoch, values in shares.items()]
    return {"figures": figures, "images": images, "target": TARGET, "shares": shares, "verdicts": verdicts, "records": records}


def epoch_shares(record):
    """Of the first epoch, which pays for opening and decoding all files, and of the second, which finds them in memory.
    Both count what the training thread waited; the first adds the loading before training."""
    epochs = record["epochs"]

    def waited(epoch):
        phases = epoch.get("phases_s", {})
        return sum(phases.get(phase, 0.0) for phase in ("read", "decode"))

    load_s = record["times_s"]["load"]
    first = (load_s + waited(epochs[0])) / (load_s + epochs[0]["seconds"])
    return first, waited(epochs[1]) / epochs[1]["seconds"]


def figure(context, epoch, values):
    between = compare.interval(values)
    return compare.Figure(
        f"PNG masks read and decoded, share of the {epoch} epoch of ResNet-34",
        *("%", 100 * statistics.median(values), 100 * TARGET, verdict(between)),
        better="lower",
        precision=context.precision,
        interval=between and tuple(100 * value for value in between),
        range=(100 * min(values), 100 * max(values)),
        rounds=len(values),
    ).json()


def verdict(between):
    """Met when the whole interval lies below the target, missed when none of it does: small is good here."""
    return compare.verdict(between and [-value for value in reversed(between)], -TARGET)


def judged(values):
    between = compare.interval(values)
    word = verdict(between)
    spread = compare.spread_text(between, (min(values), max(values)), digits=2, scale=100)
    return f"{spread} %   target below {100 * TARGET:.0f} % {word}"
