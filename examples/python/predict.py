"""Says what a trained network sees on images:  python3 predict.py RUN [IMAGES...]

RUN is the folder of a training, as train.py leaves one; IMAGES are files, folders or patterns such as 'new/*.jpg'.
Without IMAGES it takes the images that the run kept for its test.
"""
import json
import sys

import numpy

import evener


def predict_files(run, images):
    """Files are read, decoded and brought to the network's size by evener; each answer is a line of JSON."""
    def show(lines):
        for line in lines.splitlines():
            answer = json.loads(line)
            best = answer["predictions"][0]
            print(f"{answer['file']}: {best['class']} ({best['probability']:.1%})")

    evener.infer(run, images or None, format="jsonl", topk=1, on_answers=show)


def predict_array(run):
    """Arrays are for images that are in memory already, such as those of a camera: one call for each, soon answered."""
    network = evener.load(run, batch=1, streams=1)
    frame = numpy.random.default_rng(1).integers(0, 256, (120, 160, 3), numpy.uint8)  # height, width, colours: the camera
    scores = network(frame)[network.main_output][0]
    best = int(scores.argmax())
    print(f"a frame of noise: {network.classes[best]}, score {scores[best]:.2f}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        predict_files(sys.argv[1], sys.argv[2:])
        predict_array(sys.argv[1])
    except evener.Error as error:
        sys.exit(f"predict: {error}")
