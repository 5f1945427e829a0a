"""A two-layer perceptron with more and more threads, processes, samples a batch and hidden values: what each costs and
brings, and what starting processes and exchanging gradients takes."""

import os
import statistics

from common import compare

TITLE = "MLP 784-H-10, native engine: threads and processes 1 to 16, batch 16 to 512, hidden 256 and 500"
NEEDS_PEERS = False
THEME = "replicas"
ENVIRONMENT = {"EVENER_MNIST": "mnist/"}

WORKERS = (1, 2, 4, 8, 16)
# A larger batch makes fewer steps, so each has to be longer; from some size on only momentum helps.
RATES = {16: (0.1,), 32: (0.2,), 64: (0.3,), 128: (0.45,), 256: (0.6,), 512: (0.24, 0.9)}
HIDDEN = (256, 500)


def settings():
    """(axis, value) -> (hidden, batch, placement); the first of an axis is what its others are compared with."""
    every = {("threads", count): (256, 64, f"cpu/t{count}") for count in WORKERS}
    every |= {("processes", count): (256, 64, f"{count}xcpu/t1") for count in WORKERS}
    every |= {("batch", batch): (256, batch, "cpu") for batch in RATES}
    every |= {("hidden", hidden): (hidden, 64, "cpu") for hidden in HIDDEN}
    return every


def run(context):
    data = os.environ.get("EVENER_MNIST", "synth:digits:6000" if context.quick else "synth:digits:60000")
    if "EVENER_MNIST" not in os.environ:
        print("EVENER_MNIST names no folder with MNIST: generated digits, whose accuracies say little", flush=True)
    epochs = 1 if context.quick else 10
    records = {key: [] for key in settings()}

    with context.folder() as folder:

        def side(key):
            hidden, batch, on = settings()[key]
            rate, *momentum = RATES[batch]

            def one():
                record = context.evener(
                    *("train", f"mlp:784-{hidden}-10", "--data", data, "--engine", "native", "--on", on),
                    *("--batch", batch, "--lr", rate, "--momentum", *(momentum or [0]), "--schedule", "cosine"),
                    *("--epochs", epochs, "--validate-every", epochs, "--seed", context.seed),
                    *("--out", f"{folder}/run", "--overwrite", "--json", "-", "--quiet"),
                )
                records[key].append(figures(record))
                return record["data"]["split"]["train"] / records[key][-1]["epoch_s"]

            return one

        rates = compare.interleaved(context, "images/s", {f"{key[0]} {key[1]}": side(key) for key in settings()})

    print(table(records), flush=True)
    comparisons = [too_many(axis, rates, context) for axis in ("threads", "processes") if context.threads < WORKERS[-1]]
    if comparisons:
        print(compare.table(comparisons, "best"), flush=True)
    return {
        "data": data,
        "epochs": epochs,
        "rates": rates,
        "comparisons": [comparison.json() for comparison in comparisons],
        "records": {f"{key[0]} {key[1]}": found for key, found in records.items()},
    }


def too_many(axis, rates, context):
    """The slowest with more workers than cores against the fastest of all."""
    middle = {count: statistics.median(rates[f"{axis} {count}"]) for count in WORKERS}
    slowest = min((count for count in WORKERS if count > context.threads), key=middle.get)
    best = max(middle, key=middle.get)
    sides = (rates[f"{axis} {slowest}"], rates[f"{axis} {best}"])
    comparison = compare.of_rates(
        *(axis, "images/s", 0.9, *sides),
        job=f"MLP 784-256-10 training, batch 64, {slowest} {axis}",
        against=f"evener, {best} {axis}",
        precision="fp32",
    )
    comparison.notes.append(f"{axis}: {slowest}, the slowest with more than {context.threads}, against {best}, the fastest")
    return comparison


def figures(record):
    """What is told of one run. Waiting is the time of training in which a rank neither read nor computed."""
    epochs = record["epochs"][1:-1] or record["epochs"]  # the first warms up, the last validates
    train_s, phases = record["times_s"]["train"], record["phases_s"]
    return {
        "epoch_s": statistics.median(epoch["seconds"] for epoch in epochs),
        "spawn_s": phases.get("spawn", 0.0),
        "connect_s": phases.get("connect", 0.0),
        "exchange_share": statistics.median(
            epoch["phases_s"].get("exchange", 0.0) / epoch["seconds"] for epoch in epochs
        ),
        "wait_shares": [1 - replica["busy_s"] / train_s for replica in record["placement"]["replicas"]],
        "accuracy": record["accuracy"]["test"],
        "ranks": len(record["placement"]["replicas"]),
        "valid": record["validity"]["valid"],
    }


def table(records):
    lines = [f"{'':<16}{'ranks':>6}{'s/epoch':>9}{'speedup':>9}{'spawn ms':>10}{'connect ms':>12}{'exchange':>10}{'wait of ranks':>15}{'accuracy':>10}"]  # fmt: skip
    first = {}
    for (axis, value), found in records.items():
        middle = {
            name: statistics.median(figure[name] for figure in found)
            for name in ("ranks", "epoch_s", "spawn_s", "connect_s", "exchange_share", "accuracy")
        }
        waits = [statistics.median(shares) for shares in zip(*(figure["wait_shares"] for figure in found))]
        several = len(waits) > 1
        wait = f"{100 * min(waits):.0f} to {100 * max(waits):.0f} %" if several else "-"
        exchange = f"{100 * middle['exchange_share']:.0f} %" if several else "-"
        speedup = first.setdefault(axis, middle["epoch_s"]) / middle["epoch_s"]
        lines.append(
            f"{axis + ' ' + str(value):<16}{middle['ranks']:>6.0f}{middle['epoch_s']:>9.3f}{speedup:>9.2f}{1e3 * middle['spawn_s']:>10.2f}"
            f"{1e3 * middle['connect_s']:>12.2f}{exchange:>10}{wait:>15}{100 * middle['accuracy']:>8.2f} %"
        )
    lines.append("ranks: that trained; no more are started than have CPUs of their own")
    lines.append("speedup: against the first line of its kind; spawn, connect, exchange: of rank 0, waiting for others included")
    return "\n".join(lines)
