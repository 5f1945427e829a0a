"""The planner's word: what `evener plan` predicts of each placement against what a run then measures, and its choice
against the best placement found by trying all."""

import statistics

from common import compare, training
from common.context import say

TITLE = "evener plan: predicted against measured images/s, and the choice against the best"
NEEDS_PEERS = False
THEME = "replicas"

WITHIN = 0.15
NAMES = {"mlp": "an MLP", "resnet18": "ResNet-18", "mobilenet": "MobileNetV2"}
WORKS = {
    "mlp": ("mlp:784-256-10", "--data", "synth:digits:20000", "--batch", 64),
    "resnet18": ("resnet18", "--data", "synth:masks:1600", "--size", "64x48", "--batch", 32),
    "mobilenet": ("mobilenet_v2", "--data", "synth:masks:800", "--size", "96x96", "--channels", 3, "--batch", 32),
}


def run(context):
    predictions, choices, samples = [], [], {}
    for name, words in WORKS.items():
        words = (*words, "--precision", context.precision if name == "resnet18" else "fp32")
        predicted, measured, chosen, remarks = {}, {}, [], []
        for index in range(context.runs):
            context.rest()
            plan = context.evener("plan", *words, "--split", "100/0", "--json", "-", "--quiet")
            chosen.append(plan["choice"])
            rows = [row for row in plan["placements"] if row.get("images_per_s")]
            rows = rows[index % len(rows) :] + rows[: index % len(rows)]
            for row in rows:
                placement = row["placement"]
                predicted.setdefault(placement, []).append(row["images_per_s"])
                found, notes = rate(context, words, placement)
                measured.setdefault(placement, []).append(found)
                remarks += [f"{name}, round {index + 1}, {placement}: {note}" for note in notes]
                say(f"  {name}, round {index + 1} of {context.runs}, {placement}: {predicted[placement][-1]:.4g} images/s"
                    f" predicted ({row['basis']}), {measured[placement][-1]:.4g} measured")  # fmt: skip
        for placement in predicted:
            predictions.append(
                prediction(
                    *(f"{name} {placement}", predicted[placement], measured[placement]),
                    job=f"evener plan, speed of {NAMES[name]} on {placement}",
                    against="evener, measured",
                    precision=words[-1],
                )
            )
        best = max(measured, key=lambda placement: statistics.median(measured[placement]))
        taken = [measured[c][i] for i, c in enumerate(chosen)]
        choice = compare.of_rates(
            *(name, "images/s", 0.97, taken, measured[best]),
            job=f"evener plan, choice for {NAMES[name]}",
            against="evener, best placement",
            precision=words[-1],
        )
        choice.notes.append(f"{name}: chosen {', '.join(chosen)}; best by its median {best}")
        choice.notes += remarks
        choices.append(choice)
        samples[name] = {"predicted": predicted, "measured": measured, "chosen": chosen}
    print(prediction_table(predictions) + "\n\nThe choice, by its measured rate:\n" + compare.table(choices, "best"), flush=True)
    return {"samples": samples, "comparisons": [comparison.json() for comparison in [*predictions, *choices]]}


def rate(context, words, placement):
    epochs = 2 if context.quick else 4
    context.rest()
    with context.folder() as folder:
        record = context.evener(
            *("train", *words, "--split", "100/0", "--on", placement, "--epochs", epochs, "--lr", 0.01),
            *("--seed", context.seed, "--out", f"{folder}/run", "--json", "-", "--quiet"),
        )
    return training.rate_of(record)


def prediction(label, predicted, measured, **about):
    """Predicted / measured: within 15 % if the whole interval of the median ratio is, missed if none of it is."""
    comparison = compare.of_rates(label, "images/s", f"within {100 * WITHIN:.0f} %", predicted, measured, **about)
    if comparison.interval:
        low, high = comparison.interval
        inside = low >= 1 - WITHIN and high <= 1 + WITHIN
        outside = high < 1 - WITHIN or low > 1 + WITHIN
        comparison.verdict = "met" if inside else "missed" if outside else "undecided"
    else:
        comparison.verdict = compare.verdict(None, 1 - WITHIN)
    return comparison


def prediction_table(comparisons):
    lines = [f"{'':<24}{'predicted':>12}{'measured':>12}{'ratio':>9}   {'of the ratio':<24}within {100 * WITHIN:.0f} %"]
    for c in comparisons:
        lines.append(
            f"{c.label:<24}{statistics.median(c.ours):>12.4g}{statistics.median(c.peer):>12.4g}{c.ratio:>9.3f}   "
            f"{compare.spread_text(c.interval, c.range):<24}{c.verdict}"
        )
    return "\n".join(lines)
