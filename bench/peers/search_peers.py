#!/usr/bin/env python3
"""Times Faiss, which finds the nearest of every vector of a file exactly, by comparing all with all; prints JSON.

Run by bench/peers/run in its own environment. --make writes the file first: embeddings as faces have them, of persons
with --photos each, in which vectors of one person have a cosine of about 0.8 and those of others next to none. With
fewer photos of a person than neighbours are looked for, the others are some of very many strangers equally far away.
"""

import argparse
import json
import pathlib
import resource
import struct
import time

import numpy

from common import software

VALUES = 512
AT_ONCE = 10_000
NOISE = 0.5  # beside the 1 of the person


def parse():
    parser = argparse.ArgumentParser(description="Times Faiss's exact search over a file of embeddings.")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--make", type=int, metavar="N", help="write N embeddings, and stop")
    parser.add_argument("--photos", type=int, default=10, help="of a person, on average (default 10)")
    parser.add_argument("--nearest", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def make(path, count, photos):
    """One tensor, 'embeddings', of a safetensors file."""
    generator = numpy.random.default_rng(1)
    persons = generator.standard_normal((max(1, count // photos), VALUES), dtype=numpy.float32)
    data_bytes = count * VALUES * 4
    header = json.dumps({"embeddings": {"dtype": "F32", "shape": [count, VALUES], "data_offsets": [0, data_bytes]}}).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for first in range(0, count, AT_ONCE):
            some = min(AT_ONCE, count - first)
            noise = generator.standard_normal((some, VALUES), dtype=numpy.float32)
            file.write((persons[generator.integers(len(persons), size=some)] + numpy.float32(NOISE) * noise).tobytes())


def read(path):
    with path.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
    rows = numpy.fromfile(path, numpy.float32, offset=8 + header_bytes).reshape(-1, VALUES)
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def main():
    options = parse()
    if options.make:
        make(options.file, options.make, options.photos)
        print(json.dumps({"embeddings": options.make}))
        return
    import faiss  # not needed to make files

    faiss.omp_set_num_threads(options.threads)
    begin = time.perf_counter()
    rows = read(options.file)
    index = faiss.IndexFlatIP(VALUES)
    index.add(rows)
    _, neighbours = index.search(rows, options.nearest + 1)  # one of which is itself
    seconds = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "seconds": seconds,
                "embeddings_per_s": len(rows) / seconds,
                "found": neighbours.size,
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                **software.told("faiss-cpu", settings=[software.threads(options)]),
            }
        )
    )


if __name__ == "__main__":
    main()
