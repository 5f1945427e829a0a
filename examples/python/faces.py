"""Groups faces by person:  python3 faces.py [PHOTOS] [--weights facenet] [--out FOLDER]

With --weights it finds the faces on all photos below PHOTOS and says who is who. `--weights facenet` downloads the
published networks once; files of your own are given with --detector-weights, --embedder and --weights.

Without --weights nothing is downloaded, and the network has random weights: each image of PHOTOS (without PHOTOS: of a
few generated ones) counts as one face that is cut out. That shows how embedding and grouping work. It can tell apart
what looks different at once, but it recognises nobody.
"""
import argparse
import pathlib
import sys

import numpy

import evener


def find_faces(photos, out, **networks):
    run = evener.faces(photos, out=out, overwrite=True, **networks)
    print("\n".join(run.summary))
    for face in run.rows("faces"):
        print(f"person {face['group'] or '-'}: face {face['face']} of {face['file']}")
    print(f"the page to look at is {run.folder / 'faces.html'}")


def group_images(images, out):
    print("random weights: the groups say nothing about persons")
    # One row of 128 numbers for each image, in the order of files.txt.
    run = evener.infer("mobilefacenet", images, random=True, outputs="raw", out=out, overwrite=True)
    embeddings = numpy.load(run.folder / "output.npy")
    files = (run.folder / "files.txt").read_text(encoding="utf-8").splitlines()
    # Random weights put all images into one direction; what is left without it tells them apart.
    embeddings -= embeddings.mean(axis=0)
    embeddings /= numpy.linalg.norm(embeddings, axis=1, keepdims=True)
    groups = []  # lists of rows; an image joins the first group whose first image is like it
    for row, embedding in enumerate(embeddings):
        like = [group for group in groups if embedding @ embeddings[group[0]] > 0.5]
        if like:
            like[0].append(row)
        else:
            groups.append([row])
    for number, group in enumerate(groups, 1):
        print(f"group {number}: {', '.join(pathlib.Path(files[row]).name for row in group)}")


def generate(folder):
    """Three patterns, each four times with a little noise, as PPM files of 96x112 pixels."""
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    for letter in "abc":
        coarse = random.integers(0, 256, (7, 6, 3))
        pattern = coarse.repeat(16, axis=0).repeat(16, axis=1)
        for number in range(1, 5):
            pixels = (pattern + random.integers(-20, 21, pattern.shape)).clip(0, 255).astype(numpy.uint8)
            (folder / f"{letter}{number}.ppm").write_bytes(b"P6 96 112 255\n" + pixels.tobytes())
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="?", type=pathlib.Path)
    parser.add_argument("--detector-weights")
    parser.add_argument("--embedder")
    parser.add_argument("--weights")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/faces"))
    given = parser.parse_args()
    if given.weights:
        if given.photos is None:
            parser.error("--weights needs PHOTOS")
        find_faces(given.photos, given.out, detector_weights=given.detector_weights, embedder=given.embedder,
                   weights=given.weights)
    else:
        group_images(given.photos or generate(given.out.with_name(given.out.name + "-images")), given.out)


if __name__ == "__main__":
    try:
        main()
    except evener.Error as error:
        sys.exit(f"faces: {error}")
