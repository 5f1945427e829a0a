"""What choosing convolutions must never cost: networks of the zoo with Winograd's where they are expected to win."""

from common import compare, training

TITLE = "Convolutions chosen for each layer against direct ones: images/s of training steps, fp32"
NEEDS_PEERS = False
THEME = "training"

# Networks with layers that can take Winograd's kernels; the others compute the same either way.
WORKS = [
    training.Work("resnet18", 3, 64, 64, batch=16, classes=9),
    training.Work("resnet34", 3, 96, 96, batch=8, classes=9),
    training.Work("resnet50", 3, 64, 64, batch=8, classes=9),
    training.Work("resnet20", 3, 32, 32, batch=64, classes=9),
    training.Work("resnet56", 3, 32, 32, batch=64, classes=9),
]


def run(context):
    steps = 3 if context.quick else 10
    comparisons = []
    for work in WORKS:

        def rate(choice, work=work):
            return training.evener(context, work, "fp32", steps, [], options=("--convolution", choice))

        comparisons.append(
            compare.rounds(
                context,
                work.model,
                "images/s",
                0.98,
                ours=lambda: rate("auto"),
                peer=lambda: rate("direct"),
                job=work.job,
                against="evener, --convolution direct",
                precision="fp32",
            )
        )
    print(compare.table(comparisons, "direct"), flush=True)
    return {"steps": steps, "comparisons": [comparison.json() for comparison in comparisons]}
