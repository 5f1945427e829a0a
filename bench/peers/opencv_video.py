#!/usr/bin/env python3
"""Times OpenCV's reader of videos: each frame decoded, turned into RGB and brought to a small size; prints JSON.

Run by bench/peers/run in its own environment.
"""

import argparse
import json
import time

import cv2

from common import software


def parse():
    parser = argparse.ArgumentParser(description="Times the reading of a video.")
    parser.add_argument("video")
    parser.add_argument("--size", default="32x32")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse()
    cv2.setNumThreads(options.threads)
    size = tuple(int(extent) for extent in options.size.split("x"))
    begin = time.perf_counter()
    capture = cv2.VideoCapture(options.video, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, options.threads])
    frames = 0
    while True:
        is_read, frame = capture.read()
        if not is_read:
            break
        cv2.resize(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB), size, interpolation=cv2.INTER_AREA)
        frames += 1
    seconds = time.perf_counter() - begin
    if frames == 0:
        raise SystemExit(f"OpenCV reads no frame of {options.video}")
    told = software.told("opencv-python-headless", settings=[software.threads(options)])
    print(json.dumps({"frames": frames, "seconds": seconds, "frames_per_s": frames / seconds, **told}))


if __name__ == "__main__":
    main()
