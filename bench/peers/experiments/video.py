"""Reading a video of 1920x1080 pixels against OpenCV's reader, on the same cores."""

import shutil
import subprocess

from common import compare
from common.context import Failure, say

TITLE = "A video of 1920x1080 pixels (H.264): frames/s of decoding, conversion and resizing to 32x32, all cores"
NEEDS_PEERS = True
THEME = "reading"

SIZE = "32x32"
TARGET = 1.0


def run(context):
    frames = 60 if context.quick else 600
    with context.folder() as folder:
        video = make_video(f"{folder}/clip.mp4", frames)
        evener_rate(context, video)  # the file is in the page cache from here on
        comparison = compare.rounds(
            context,
            "video",
            "images/s",
            TARGET,
            ours=lambda: evener_rate(context, video),
            peer=lambda: context.rate("opencv_video.py", video, "--size", SIZE, "--threads", context.threads, name="frames_per_s"),
            job="frames of a 1920x1080 video decoded and resized to 32x32",
            against="OpenCV",
            precision="8 bit",
            against_precision="8 bit",
        )
    print(compare.table([comparison], "OpenCV"), flush=True)
    return {"frames": frames, "comparisons": [comparison.json()]}


def make_video(path, frames):
    if shutil.which("ffmpeg") is None:
        raise Failure("the video is made by the program ffmpeg, which isn't there (Debian: ffmpeg)")
    say(f"  writing a video of {frames} frames")
    made = f"testsrc2=size=1920x1080:rate=30:duration={frames / 30}"
    words = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", made, "-vf", "noise=alls=8:allf=t", "-c:v", "libx264"]
    subprocess.run([*words, "-preset", "veryfast", "-pix_fmt", "yuv420p", path], check=True)
    return path


def evener_rate(context, video):
    """With all that comes after: the smallest network of CIFAR's, whose time is a small part."""
    record = context.evener(
        *("infer", "resnet20", video, "--random", "--size", SIZE, "--crop", "stretch", "--format", "none", "--seconds", 0),
        *("--on", f"cpu/t{context.threads}", "--reading-threads", context.threads, "--json", "-"),
    )
    return record["images_per_s"]
