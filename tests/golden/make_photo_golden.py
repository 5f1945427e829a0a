#!/usr/bin/env python3
"""Writes tests/golden/photos/: tiny files of telephones' and cameras' formats, of a generated picture, and what Pillow with its
plugins makes of them (expected.safetensors).

    python3 -m venv venv && venv/bin/pip install pillow==13.0.0 pillow-heif==1.8.1 pillow-jxl-plugin==1.3.8 numpy
    sudo apt-get install libavif-bin libjxl-tools
    venv/bin/python tests/golden/make_photo_golden.py

Tensors: "<file>/L" (H, W) of grey files, "<file>/RGB" (H, W, 3) of others: decoded, turned upright, converted.
"""
import io
import pathlib
import struct
import subprocess
import tempfile

import numpy as np
import pillow_heif
import pillow_jxl  # noqa: F401  (registers itself)
from PIL import Image, ImageOps

from make_data_golden import ORIENTATION, picture, write_safetensors

FOLDER = pathlib.Path(__file__).parent / "photos"
pillow_heif.register_heif_opener()


def oriented(orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return exif.tobytes()


def smooth(width, height, seed):
    """As picture(), without most of its noise: of 10 bits, what is between the values of 8 bits is not noise."""
    return np.asarray(Image.fromarray(picture(2 * width, 2 * height, 3, seed)).resize((width, height), Image.Resampling.LANCZOS))


def write_heic(photo, rgba):
    photo.save(FOLDER / "420.heic", quality=80)
    photo.save(FOLDER / "444.heic", quality=80, chroma=444)
    photo.convert("L").save(FOLDER / "grey.heic", quality=80)
    rgba.save(FOLDER / "alpha.heic", quality=80)
    photo.resize((100, 70)).save(FOLDER / "tiles.heic", quality=60, tile_size=64)
    deep = np.asarray(photo).astype(np.uint16) * 257
    pillow_heif.from_bytes("RGB;16", photo.size, deep.tobytes()).save(FOLDER / "10_bits.heic", quality=80, bit_depth=10)
    small = photo.crop((0, 0, 24, 16))
    photo.save(FOLDER / "turned_odd_6.heic", quality=80, exif=oriented(6))
    photo.save(FOLDER / "turned_odd_7.heic", quality=80, exif=oriented(7))
    for orientation in range(1, 9):  # written as irot and imir
        small.save(FOLDER / f"turned_{orientation}.heic", quality=70, exif=oriented(orientation))


def write_avif(photo, rgba):
    photo.save(FOLDER / "420.avif", quality=80)
    photo.save(FOLDER / "444.avif", quality=80, subsampling="4:4:4")
    photo.convert("L").save(FOLDER / "grey.avif", quality=80)
    rgba.save(FOLDER / "alpha.avif", quality=80)
    photo.save(FOLDER / "moving.avif", quality=60, save_all=True, append_images=[ImageOps.invert(photo)])
    small = photo.crop((0, 0, 24, 17))
    for orientation in range(1, 9):
        small.save(FOLDER / f"turned_{orientation}.avif", quality=70, exif=oriented(orientation))
    with tempfile.TemporaryDirectory() as folder:
        photo.crop((0, 0, 44, 34)).save(f"{folder}/photo.png")  # even: versions of libavif differ in an odd last column
        for name, options in (("10_bits", ["-d", "10", "-y", "420"]), ("12_bits", ["-d", "12", "-y", "422"]),
                              ("limited", ["-r", "limited", "-y", "420"])):
            subprocess.run(["avifenc", *options, "--min", "10", "--max", "20", f"{folder}/photo.png", FOLDER / f"{name}.avif"],
                           check=True, capture_output=True)


def write_jxl(photo, rgba):
    photo.save(FOLDER / "lossy.jxl", quality=80)
    photo.save(FOLDER / "lossless.jxl", lossless=True)
    photo.convert("L").save(FOLDER / "grey.jxl", quality=80)
    rgba.save(FOLDER / "alpha.jxl", quality=80)
    with tempfile.TemporaryDirectory() as folder:
        small = photo.crop((0, 0, 24, 17))
        for orientation in range(1, 9):  # in the codestream, besides the EXIF data of the JPEG file
            small.save(f"{folder}/photo.jpg", quality=99, subsampling="4:4:4", exif=oriented(orientation))
            subprocess.run(["cjxl", "-j", "0", f"{folder}/photo.jpg", FOLDER / f"turned_{orientation}.jxl"], check=True, capture_output=True)
        photo.save(f"{folder}/photo.png")
        photo.save(f"{folder}/moving.gif", save_all=True, append_images=[ImageOps.invert(photo)])
        subprocess.run(["cjxl", f"{folder}/moving.gif", FOLDER / "moving.jxl", "-d", "1"], check=True, capture_output=True)
        # Without boxes around the codestream.
        subprocess.run(["cjxl", f"{folder}/photo.png", FOLDER / "stream.jxl", "-d", "1", "--container=0"], check=True, capture_output=True)


def write_moving(photo):
    """GIF and WebP."""
    palette = photo.quantize(200)
    palette.save(FOLDER / "palette.gif", interlace=0)
    palette.save(FOLDER / "interlaced.gif", interlace=1)
    photo.convert("L").save(FOLDER / "grey.gif")
    photo.quantize(3).save(FOLDER / "three_colours.gif")
    palette.save(FOLDER / "transparent.gif", transparency=7)
    photo.save(FOLDER / "moving.gif", save_all=True, append_images=[ImageOps.invert(photo)])
    # A frame that is smaller than its canvas: the screen's size is made larger by hand.
    for name, options in (("canvas.gif", {}), ("canvas_transparent.gif", {"transparency": 5})):
        file = io.BytesIO()
        palette.save(file, "GIF", interlace=0, **options)
        content = bytearray(file.getvalue())
        content[6:10] = struct.pack("<HH", photo.width + 12, photo.height + 9)
        frame = content.index(b"," + struct.pack("<HHHH", 0, 0, *photo.size))
        content[frame + 1:frame + 5] = struct.pack("<HH", 5, 3)
        (FOLDER / name).write_bytes(content)
    photo.save(FOLDER / "moving.webp", quality=80, save_all=True, append_images=[ImageOps.invert(photo)])
    file = io.BytesIO()
    photo.save(file, "WEBP", lossless=True, save_all=True, append_images=[ImageOps.invert(photo)])
    content = bytearray(file.getvalue())
    content[24:30] = struct.pack("<I", photo.width + 11)[:3] + struct.pack("<I", photo.height + 8)[:3]  # of the canvas, minus 1
    frame = content.index(b"ANMF") + 8
    content[frame:frame + 6] = struct.pack("<I", 3)[:3] + struct.pack("<I", 2)[:3]  # from (6, 4)
    (FOLDER / "canvas.webp").write_bytes(content)


def write_raw(photo):
    """A DNG file as small as can be: a JPEG preview, and eight by eight values of a sensor."""
    for name, orientation, exif in (("turned_1.dng", 1, None), ("turned_6.dng", 6, None), ("turned_twice.dng", 6, oriented(6))):
        preview = io.BytesIO()
        photo.save(preview, "JPEG", quality=90, **({"exif": exif} if exif else {}))
        (FOLDER / name).write_bytes(dng(preview.getvalue(), photo.size, orientation))


def dng(preview, size, orientation):
    entries = {256: (4, [size[0]]), 257: (4, [size[1]]), 258: (3, [8, 8, 8]), 259: (3, [7]), 254: (4, [1]), 262: (3, [6]),
               271: (2, b"Evener\0"), 272: (2, b"Synthetic 1\0"), ORIENTATION: (3, [orientation]), 273: (4, [0]), 277: (3, [3]),
               278: (4, [size[1]]), 279: (4, [len(preview)]), 330: (4, [0]), 50706: (1, b"\1\4\0\0"), 50707: (1, b"\1\1\0\0"),
               50708: (2, b"Evener Synthetic 1\0"), 50721: (10, [1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]),
               50728: (5, [1, 1, 1, 1, 1, 1]), 50778: (3, [21])}
    sensor = {254: (4, [0]), 256: (4, [64]), 257: (4, [48]), 258: (3, [16]), 259: (3, [1]), 262: (3, [32803]), 273: (4, [0]),
              277: (3, [1]), 278: (4, [48]), 279: (4, [64 * 48 * 2]), 33421: (3, [2, 2]), 33422: (1, b"\0\1\1\2")}
    begin, sensor_begin = 8, 8 + directory_bytes(entries)
    preview_begin = sensor_begin + directory_bytes(sensor)
    values_begin = preview_begin + len(preview) + len(preview) % 2
    entries[273], entries[330], sensor[273] = (4, [preview_begin]), (4, [sensor_begin]), (4, [values_begin])
    values = (np.arange(64 * 48) % 4096).astype("<u2").tobytes()
    return (struct.pack("<2sHI", b"II", 42, 8) + directory(entries, begin) + directory(sensor, sensor_begin) + preview +
            b"\0" * (len(preview) % 2) + values)


def packed(kind, values):
    if isinstance(values, bytes):
        return values, len(values)
    letter, each = {3: ("H", 1), 4: ("I", 1), 5: ("I", 2), 10: ("i", 2)}[kind]
    return struct.pack(f"<{len(values)}{letter}", *values), len(values) // each


def directory(entries, begin):
    rows, beside = b"", b""
    after = begin + 2 + 12 * len(entries) + 4
    for tag, (kind, values) in sorted(entries.items()):
        content, count = packed(kind, values)
        if len(content) > 4:
            rows += struct.pack("<HHII", tag, kind, count, after + len(beside))
            beside += content + b"\0" * (len(content) % 2)
        else:
            rows += struct.pack("<HHI", tag, kind, count) + content.ljust(4, b"\0")
    return struct.pack("<H", len(entries)) + rows + struct.pack("<I", 0) + beside


def directory_bytes(entries):
    return len(directory(entries, 0))


def expected_of(path):
    if path.suffix == ".dng":  # Pillow reads the preview as any JPEG file
        image = Image.open(io.BytesIO(path.read_bytes()[path.read_bytes().index(b"\xff\xd8\xff"):]))
        image.load()
        image = Image.fromarray(np.asarray(image))
        return image if path.stem == "turned_1" else image.transpose(Image.Transpose.ROTATE_270)
    if path.stem.startswith("turned_odd"):  # libheif smooths the colours of these alone; they are those of the same file, upright
        turn = {"6": Image.Transpose.ROTATE_270, "7": Image.Transpose.TRANSVERSE}[path.stem[-1]]
        return Image.open(FOLDER / "420.heic").transpose(turn)
    image = Image.open(path)
    image.load()
    return ImageOps.exif_transpose(image)


def main():
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    photo = Image.fromarray(smooth(45, 35, 11))
    rgba = photo.copy()
    rgba.putalpha(Image.fromarray(picture(45, 35, 1, 3)[:, :, 0]))
    write_heic(photo, rgba)
    write_avif(photo, rgba)
    write_jxl(photo, rgba)
    write_moving(photo)
    write_raw(photo)
    tensors = {}
    for path in sorted(FOLDER.iterdir()):
        image = expected_of(path)
        mode = "L" if path.stem == "grey" else "RGB"
        tensors[f"{path.name}/{mode}"] = np.asarray(image.convert(mode))
        print(path.name, path.stat().st_size, image.mode, image.size)
    write_safetensors(FOLDER / "expected.safetensors", tensors)


if __name__ == "__main__":
    main()
