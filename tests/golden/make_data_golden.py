#!/usr/bin/env python3
"""Writes tests/golden/data/: tiny images of every kind, and what Pillow makes of them (expected.safetensors).

    python3 -m venv venv && venv/bin/pip install pillow==13.0.0 numpy && venv/bin/python tests/golden/make_data_golden.py

Tensors: "<file>/L" (H, W) and "<file>/RGB" (H, W, 3): decoded, turned upright, converted.
         "<file>/resize/<W>x<H>" (H, W, C): the same resized with BILINEAR, in L for grey files and RGB for others.
"""
import json
import pathlib
import struct

import numpy as np
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

FOLDER = pathlib.Path(__file__).parent / "data"
ORIENTATION = 0x0112
# Up, down, odd ratios, only one direction, down to one pixel.
SIZES = {"rgb.png": [(37, 29), (20, 15), (7, 5), (101, 3), (40, 12), (13, 30), (1, 1), (97, 78)],
         "grey.png": [(37, 29), (19, 23), (3, 50), (41, 31), (1, 30)],
         "photo_420.jpg": [(24, 18), (45, 35)],
         "exif_6.jpg": [(10, 21)]}


def picture(width, height, channels, seed):
    """Smooth ramps, an edge and some noise, so that filters and subsampling have something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = 127 + 90 * np.sin(x / (3 + c) + c) * np.cos(y / (4 + c)) + 40 * ((x + 2 * y) % 17 > 8)
        planes.append(plane + rng.normal(0, 12, (height, width)))
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def write_pngs():
    rgb = Image.fromarray(picture(40, 30, 3, 1))
    grey = Image.fromarray(picture(41, 31, 1, 2)[:, :, 0])
    alpha = Image.fromarray(picture(40, 30, 1, 3)[:, :, 0])
    rgb.save(FOLDER / "rgb.png")
    grey.save(FOLDER / "grey.png")
    grey.convert("1").save(FOLDER / "one_bit.png")
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    rgba.save(FOLDER / "rgba.png")
    Image.merge("LA", (rgb.convert("L"), alpha)).save(FOLDER / "grey_alpha.png")
    rgb.quantize(200).save(FOLDER / "palette.png")
    rgb.quantize(5).save(FOLDER / "palette_4_bit.png", bits=4)
    rgb.quantize(30).save(FOLDER / "palette_transparent.png", transparency=3)
    sixteen = picture(40, 30, 1, 4)[:, :, 0].astype(np.uint16) * 256 + picture(40, 30, 1, 5)[:, :, 0]
    Image.fromarray(sixteen).save(FOLDER / "grey_16.png")
    info = PngInfo()
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    rgb.save(FOLDER / "exif_6.png", exif=exif, pnginfo=info)
    (FOLDER / "rgb_16.png").write_bytes(rgb16_png(picture(20, 15, 6, 6)))


def rgb16_png(values):
    """A PNG with 16 bits per channel, which Pillow can't write. `values`: (H, W, 6) bytes, high and low."""
    import zlib
    height, width, _ = values.shape

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = b"".join(b"\0" + values[y].tobytes() for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_jpegs():
    photo = Image.fromarray(picture(45, 35, 3, 7))
    photo.save(FOLDER / "photo_420.jpg", quality=85, subsampling="4:2:0")
    photo.save(FOLDER / "photo_422.jpg", quality=85, subsampling="4:2:2")
    photo.save(FOLDER / "photo_444.jpg", quality=95, subsampling="4:4:4")
    photo.save(FOLDER / "progressive.jpg", quality=85, progressive=True)
    photo.save(FOLDER / "restart.jpg", quality=85, restart_marker_blocks=3)
    photo.save(FOLDER / "really_a.png", "JPEG", quality=85)
    photo.convert("L").save(FOLDER / "grey.jpg", quality=85)
    photo.convert("CMYK").save(FOLDER / "cmyk.jpg", quality=90)
    small = Image.fromarray(picture(24, 16, 3, 8))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        small.save(FOLDER / f"exif_{orientation}.jpg", quality=90, exif=exif)


def write_others():
    """WebP, BMP, PNM and TIFF."""
    rgb = Image.fromarray(picture(40, 30, 3, 1))
    grey = Image.fromarray(picture(41, 31, 1, 2)[:, :, 0])
    rgba = rgb.copy()
    rgba.putalpha(Image.fromarray(picture(40, 30, 1, 3)[:, :, 0]))
    sixteen = Image.fromarray(picture(40, 30, 1, 4)[:, :, 0].astype(np.uint16) * 256 + picture(40, 30, 1, 5)[:, :, 0])
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    rgba.save(FOLDER / "rgba.webp", lossless=True, exact=True)
    Image.fromarray(picture(45, 35, 3, 7)).save(FOLDER / "photo.webp", quality=80)
    rgb.save(FOLDER / "exif_6.webp", lossless=True, exif=exif)
    for image, name in ((rgb, "rgb"), (grey, "grey"), (rgb.quantize(200), "palette"), (grey.convert("1"), "one_bit"),
                        (rgba, "rgba")):
        image.save(FOLDER / f"{name}.bmp")
    (FOLDER / "rgb_565.bmp").write_bytes(rgb565_bmp(np.asarray(rgb)))
    rgb.save(FOLDER / "rgb.ppm")
    grey.save(FOLDER / "grey.pgm")
    grey.convert("1").save(FOLDER / "one_bit.pbm")
    sixteen.save(FOLDER / "grey_16.pgm")
    for name, letter, values, largest in (("text.pgm", "P2", np.asarray(grey) // 4, 63), ("text.ppm", "P3", np.asarray(rgb), 255)):
        numbers = " ".join(str(value) for value in values.ravel())
        (FOLDER / name).write_text(f"{letter} # a comment\n{values.shape[1]} {values.shape[0]}\n{largest}\n{numbers}\n")
    for name, compression in (("rgb", None), ("rgb_lzw", "tiff_lzw"), ("rgb_deflate", "tiff_adobe_deflate")):
        rgb.save(FOLDER / f"{name}.tif", compression=compression)
    for image, name in ((grey, "grey"), (rgb.quantize(200), "palette"), (grey.convert("1"), "one_bit"),
                        (rgba, "rgba"), (sixteen, "grey_16")):
        image.save(FOLDER / f"{name}.tif")
    rgb.save(FOLDER / "exif_6.tif", tiffinfo={ORIENTATION: 6})


def rgb565_bmp(pixels):
    """A bitmap of 16 bits with masks, which Pillow can't write. Rows from bottom to top."""
    height, width, _ = pixels.shape
    red, green, blue = (pixels[::-1, :, c].astype(np.uint16) for c in range(3))
    rows = ((red >> 3 << 11) | (green >> 2 << 5) | blue >> 3).astype("<u2").tobytes()
    begin = 14 + 40 + 12
    return (b"BM" + struct.pack("<IHHI", begin + len(rows), 0, 0, begin) +
            struct.pack("<IiiHHIIiiII", 40, width, height, 1, 16, 3, len(rows), 0, 0, 0, 0) +
            struct.pack("<III", 0xF800, 0x07E0, 0x001F) + rows)


def opened(path):
    image = Image.open(path)
    image.load()
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits: the upper 8 (Pillow's convert("L") would clip)
        image = Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8))
    return image


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in sorted(tensors.items()):
        content = np.ascontiguousarray(array, dtype=np.uint8).tobytes()
        header[name] = {"dtype": "U8", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    FOLDER.mkdir(exist_ok=True)
    write_pngs()
    write_jpegs()
    write_others()
    tensors = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix == ".safetensors":
            continue
        image = opened(path)
        tensors[path.name + "/L"] = np.asarray(image.convert("L"))
        tensors[path.name + "/RGB"] = np.asarray(image.convert("RGB"))
        for size in SIZES.get(path.name, []):
            base = image.convert("L" if image.mode == "L" else "RGB")
            resized = np.asarray(base.resize(size, Image.Resampling.BILINEAR))
            tensors[f"{path.name}/resize/{size[0]}x{size[1]}"] = resized.reshape(size[1], size[0], -1)
    write_safetensors(FOLDER / "expected.safetensors", tensors)


if __name__ == "__main__":
    main()
