"""What the exchange itself costs: one replica that exchanges its gradients with nobody, against one that doesn't."""

from common import compare, training

TITLE = "ResNet-34, input 1x148x197, batch 32: --exchange always against none, images/s of training steps"
NEEDS_PEERS = False
THEME = "replicas"

WORK = training.Work("resnet34", 1, 148, 197, batch=32, classes=9, steps=10)


def run(context):
    steps = 3 if context.quick else WORK.steps
    on = f"cpu/t{context.threads}"

    def rate(*options):
        return training.evener(context, WORK, context.precision, steps, [], on=on, options=options)

    comparison = compare.rounds(
        context,
        "forced",
        "images/s",
        0.98,
        ours=lambda: rate("--exchange", "always"),
        peer=rate,
        job=f"{WORK.job}, --exchange always on one replica",
        against="evener, without",
        precision=context.precision,
    )
    comparison.notes.append("forced: buckets, communication thread and all-reduce of one rank; a forced exchange may cost 2 %")
    print(compare.table([comparison], "without"), flush=True)
    return {"steps": steps, "comparisons": [comparison.json()]}
