#!/usr/bin/env python3
"""Renders, trains and measures the digit reader in this folder.

    python3 train.py render  --out DIR [--n 50] [--seed 5] [--set mix]   pictures to look at
    python3 train.py samples                                             0.png ... 9.png here
    python3 train.py train   [--n 120000] [--epochs 14]                  digits.params here
    python3 train.py eval    [--engine numpy] [--n 1000] [--seed 2024] [--set mix]
    python3 train.py eval    --relayc target/release/relayc --n 1000 --seed 2024

No data set is downloaded: every picture is drawn here, from fonts and from a small
"pen" that follows jittered strokes.

Needs Python 3.9 or newer and, from PyPI:
    numpy pillow            for everything (Pillow 11 or newer)
    jax optax               for `train` only
and these Debian packages for the fonts:
    fontconfig fonts-bwht fonts-breip fonts-sjfonts fonts-comic-neue fonts-dancingscript
    fonts-humor-sans fonts-kiloji fonts-kristi fonts-leckerli-one fonts-rufscript fonts-seto
    fonts-staypuft fonts-tomsontalks fonts-isabella fonts-yozvox-yozfont fonts-sil-andika
    fonts-opendyslexic fonts-averia-sans-gwf fonts-okolaks fonts-quicksand fonts-open-sans
    fonts-freefont-ttf fonts-cabin fonts-jura
and, held out from training, only for `--set heldout`:
    fonts-tlwg-purisa-otf fonts-dkg-handwriting fonts-kaushanscript fonts-yusei-magic
    fonts-aoyagi-kouzan-t fonts-klee
"""

import argparse
import functools
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = pathlib.Path(__file__).resolve().parent
NAMES = "zero one two three four five six seven eight nine".split()

# Seeds that training looks at; `eval` refuses them so that a figure it prints is always
# about pictures the network has not seen. SAMPLE_SEED draws 0.png ... 9.png.
TRAIN_SEED, CHECK_SEED, SAMPLE_SEED = 1, 2, 783

# --------------------------------------------------------------------------- fonts

# Debian package -> font file names. Handwriting-like faces come first and are drawn more
# often (third column); plain faces keep the network from relying on wobbly strokes.
TRAIN_FONTS = [
    ("fonts-bwht", "BecauseWeBuild-Regular.otf BecauseWeConnect-Regular.otf "
                   "BecauseWeCreate-Regular.otf BecauseWeLearn-Regular.otf "
                   "BecauseWeMentor-Regular.otf BecauseWeOrganize-Regular.otf", 2),
    ("fonts-breip", "Breip.ttf", 3),
    ("fonts-sjfonts", "Delphine.ttf SteveHand.ttf", 3),
    ("fonts-comic-neue", "ComicNeue-Regular.otf ComicNeue-Bold.otf", 2),
    ("fonts-dancingscript", "DancingScript-Regular.otf DancingScript-Bold.otf", 2),
    ("fonts-humor-sans", "Humor-Sans.ttf", 3),
    ("fonts-kiloji", "kiloji.ttf kiloji_d.ttf", 2),
    ("fonts-kristi", "Kristi.ttf", 3),
    ("fonts-leckerli-one", "LeckerliOne-Regular.ttf", 3),
    ("fonts-rufscript", "Rufscript010.ttf", 3),
    ("fonts-seto", "setofont.ttf", 3),
    ("fonts-staypuft", "StayPuft.ttf", 2),
    ("fonts-tomsontalks", "TomsonTalks.ttf", 3),
    ("fonts-isabella", "Isabella.ttf", 2),
    ("fonts-yozvox-yozfont", "YOzBAP.ttf YOzBEF.ttf YOzBA_i.ttf YOzREX.ttf YOzRS_i.ttf", 1),
    ("fonts-sil-andika", "Andika-Regular.ttf Andika-Italic.ttf", 1),
    ("fonts-opendyslexic", "OpenDyslexic-Regular.otf OpenDyslexicAlta-Regular.otf", 1),
    ("fonts-averia-sans-gwf", "AveriaSansGWF-Regular.ttf", 1),
    ("fonts-okolaks", "okolaksRegular.ttf", 1),
    ("fonts-quicksand", "Quicksand-Regular.ttf", 1),
    ("fonts-open-sans", "OpenSans-Regular.ttf OpenSans-Italic.ttf", 1),
    ("fonts-freefont-ttf", "FreeSerif.ttf FreeSerifItalic.ttf FreeMono.ttf", 1),
    ("fonts-cabin", "Cabin-Regular.otf Cabin-Italic.otf", 1),
    ("fonts-jura", "Jura-Medium.otf", 1),
]

# Whole families that training never draws, to see how the network does on a new hand.
HELDOUT_FONTS = [
    ("fonts-tlwg-purisa-otf", "Purisa.otf Purisa-Bold.otf", 1),
    ("fonts-dkg-handwriting", "dkg.ttf dkgBd.ttf", 1),
    ("fonts-kaushanscript", "KaushanScript-Regular.otf", 2),
    ("fonts-yusei-magic", "YuseiMagic-Regular.ttf", 2),
    ("fonts-aoyagi-kouzan-t", "AoyagiKouzanT.ttf", 2),
    ("fonts-klee", "KleeOne-Regular.ttf KleeOne-SemiBold.ttf", 1),
]


@functools.lru_cache(maxsize=None)
def installed_fonts():
    """File name -> path of every font on this machine."""
    try:
        listing = subprocess.run(["fc-list", ":", "file"], check=True,
                                 capture_output=True, text=True).stdout
        paths = [line.strip().rstrip(":").strip() for line in listing.splitlines()]
    except (OSError, subprocess.CalledProcessError):
        # fontconfig is a convenience only; Debian keeps fonts in one place anyway.
        paths = [str(p) for p in pathlib.Path("/usr/share/fonts").rglob("*.[ot]tf")]
    return {p.rsplit("/", 1)[-1]: p for p in paths if p}


@functools.lru_cache(maxsize=None)
def font_pool(which):
    """(paths, weights) of one font table. Every listed font must be there: a silently
    smaller pool would change every picture that a seed stands for."""
    found, lacking, paths, weights = installed_fonts(), [], [], []
    for package, files, weight in {"train": TRAIN_FONTS, "heldout": HELDOUT_FONTS}[which]:
        files = files.split()
        if any(f not in found for f in files):
            lacking.append(package)
            continue
        for f in files:
            paths.append(found[f])
            # The weight belongs to the family, so faces of one family share it.
            weights.append(weight / math.sqrt(len(files)))
    if lacking:
        sys.exit("train.py: fonts are missing. On Debian, as root:\n  apt-get install "
                 "--no-install-recommends " + " ".join(lacking))
    weights = np.array(weights)
    return paths, weights / weights.sum()


# --------------------------------------------------------------------------- drawing

CANVAS, INK = 96, 48  # side of a glyph mask, and the height (or width) its ink fills
SIDE = 64             # side of a finished picture


def fit(mask):
    """Crops a mask to its ink, scales it to INK pixels and centres it on CANVAS."""
    box = mask.point(lambda v: 255 if v > 40 else 0).getbbox()
    if box is None:
        return None
    mask = mask.crop(box)
    scale = INK / max(mask.height, 0.85 * mask.width)
    size = (max(1, round(mask.width * scale)), max(1, round(mask.height * scale)))
    mask = mask.resize(size, Image.BILINEAR)
    canvas = Image.new("L", (CANVAS, CANVAS), 0)
    canvas.paste(mask, ((CANVAS - size[0]) // 2, (CANVAS - size[1]) // 2))
    return np.asarray(canvas, np.float32) / 255


def hole_area(mask):
    """Black pixels that ink encloses, counted at a quarter of the size (it is slow)."""
    thumb = mask.resize((mask.width // 4 + 1, mask.height // 4 + 1), Image.BOX)
    thumb = thumb.point(lambda v: 255 if v > 110 else 0)
    framed = Image.new("L", (thumb.width + 2, thumb.height + 2), 0)
    framed.paste(thumb, (1, 1))
    ImageDraw.floodfill(framed, (0, 0), 255)
    return int((np.asarray(framed) == 0).sum())


@functools.lru_cache(maxsize=8192)
def font_mask(path, digit, stroke):
    """A printed digit, thickened by `stroke` (pixels at twice the size of INK)."""
    text = str(digit)
    font = ImageFont.truetype(path, 100)
    left, top, right, bottom = font.getbbox(text)
    # Faces fill their em box differently; ask for the size that gives 2*INK of ink, so
    # that `stroke` means the same thickness in each.
    font = ImageFont.truetype(path, 100 * 2 * INK / max(bottom - top, 20))
    for stroke in (0, *range(stroke, 0, -1)):
        left, top, right, bottom = font.getbbox(text, stroke_width=stroke)
        mask = Image.new("L", (int(right - left) + 4, int(bottom - top) + 4), 0)
        ImageDraw.Draw(mask).text((2 - left, 2 - top), text, font=font, fill=255,
                                  stroke_width=stroke)
        # Too much stroke fills the holes of 4, 6, 8 and 9 and leaves a blob nobody can
        # read; so the thinnest is drawn first, and then strokes down from the one asked
        # for until enough of its holes is left.
        if stroke == 0:
            thin, holes = mask, hole_area(mask)
        elif hole_area(mask) >= 0.3 * holes:
            return fit(mask)
    return fit(thin)


# The pen: per digit, ways to write it; a way is a list of strokes, a stroke a list of
# points (x right, y down, in 0..1) that a Catmull-Rom spline runs through. A corner is
# made by ending one stroke and starting the next at the same point.
PEN = {
    0: [[[(.5, 0), (.2, .12), (.06, .5), (.2, .88), (.5, 1), (.8, .88), (.94, .5), (.8, .12), (.5, 0)]],
        [[(.6, .03), (.28, .1), (.12, .5), (.25, .9), (.52, 1), (.8, .8), (.88, .45), (.72, .1), (.42, .02)]],
        [[(.5, 0), (.3, .12), (.22, .5), (.3, .88), (.5, 1), (.7, .88), (.78, .5), (.7, .12), (.5, 0)]]],
    1: [[[(.5, 0), (.5, .5), (.5, 1)]],
        [[(.56, 0), (.5, .5), (.44, 1)]],
        [[(.3, .22), (.42, .13), (.54, 0)], [(.54, 0), (.54, .5), (.54, 1)]],
        [[(.32, .2), (.52, 0)], [(.52, 0), (.52, .5), (.52, 1)], [(.28, 1), (.52, 1), (.76, 1)]]],
    2: [[[(.1, .22), (.3, .03), (.6, .01), (.82, .2), (.74, .45), (.42, .75), (.08, 1)], [(.08, 1), (.5, .98), (.92, .99)]],
        [[(.14, .26), (.28, .06), (.55, 0), (.8, .18), (.76, .42), (.5, .72), (.22, .96), (.06, .92), (.14, .8), (.4, .86), (.7, .99), (.94, .92)]],
        [[(.12, .14), (.4, 0), (.72, .08), (.8, .3), (.6, .6), (.12, .97)], [(.12, .97), (.5, 1), (.9, .93)]]],
    3: [[[(.14, .12), (.42, 0), (.76, .1), (.78, .32), (.44, .46)], [(.44, .46), (.8, .56), (.88, .78), (.6, .98), (.3, .99), (.08, .86)]],
        [[(.14, .02), (.48, .01), (.84, .02)], [(.84, .02), (.64, .22), (.46, .4)], [(.46, .4), (.78, .46), (.9, .7), (.68, .95), (.34, 1), (.1, .88)]],
        [[(.12, .18), (.4, .01), (.74, .1), (.74, .34), (.5, .47), (.76, .56), (.84, .8), (.56, .99), (.14, .88)]]],
    4: [[[(.64, 0), (.36, .34), (.06, .66)], [(.06, .66), (.5, .66), (.96, .65)], [(.66, .0), (.66, .5), (.66, 1)]],
        [[(.2, .02), (.16, .3), (.14, .52)], [(.14, .52), (.5, .53), (.9, .5)], [(.74, .04), (.72, .5), (.7, 1)]],
        [[(.28, 0), (.18, .3), (.1, .6)], [(.1, .6), (.5, .6), (.94, .57)], [(.62, .28), (.6, .65), (.58, 1)]],
        [[(.7, 0), (.4, .32), (.1, .62)], [(.1, .62), (.5, .62), (.9, .62)], [(.7, .36), (.69, .7), (.68, 1)]]],
    5: [[[(.84, .02), (.5, .02), (.22, .03)], [(.22, .03), (.2, .25), (.17, .44)], [(.17, .44), (.46, .36), (.78, .46), (.86, .72), (.62, .96), (.3, 1), (.08, .88)]],
        [[(.9, .0), (.58, .03), (.3, .04)], [(.3, .04), (.24, .25), (.2, .42)], [(.2, .42), (.56, .42), (.8, .62), (.68, .9), (.36, 1), (.1, .94)]],
        [[(.8, .04), (.5, 0), (.26, .08), (.18, .28), (.34, .42), (.64, .48), (.82, .68), (.7, .92), (.4, 1), (.12, .9)]]],
    6: [[[(.74, .02), (.42, .16), (.18, .46), (.12, .76), (.32, .97), (.62, .98), (.82, .78), (.72, .56), (.46, .5), (.18, .66)]],
        [[(.5, 0), (.28, .28), (.14, .6), (.22, .9), (.5, 1), (.8, .88), (.8, .66), (.56, .54), (.3, .62), (.17, .78)]],
        [[(.82, .1), (.6, 0), (.3, .14), (.12, .5), (.16, .84), (.46, 1), (.8, .88), (.84, .64), (.6, .48), (.3, .54), (.13, .7)]]],
    7: [[[(.1, .03), (.5, .03), (.9, .02)], [(.9, .02), (.62, .44), (.38, 1)]],
        [[(.1, .04), (.5, .02), (.9, .02)], [(.9, .02), (.64, .44), (.42, 1)], [(.36, .5), (.6, .49), (.84, .48)]],
        [[(.08, .2), (.1, .04)], [(.1, .04), (.5, .05), (.88, .02)], [(.88, .02), (.62, .4), (.5, .7), (.46, 1)]],
        [[(.12, .08), (.34, .02), (.6, .08), (.88, .02)], [(.88, .02), (.6, .42), (.34, 1)]]],
    8: [[[(.78, .14), (.5, 0), (.22, .14), (.3, .36), (.6, .5), (.84, .74), (.68, .96), (.36, .98), (.16, .8), (.32, .56), (.64, .4), (.8, .2), (.72, .08)]],
        [[(.5, 0), (.24, .08), (.2, .28), (.5, .46), (.8, .28), (.76, .08), (.5, 0)], [(.5, .46), (.18, .58), (.14, .84), (.5, 1), (.86, .84), (.82, .58), (.5, .46)]]],
    9: [[[(.8, .2), (.6, .02), (.3, .06), (.14, .28), (.28, .5), (.58, .48), (.8, .22)], [(.8, .22), (.77, .6), (.72, 1)]],
        [[(.82, .2), (.58, 0), (.26, .1), (.16, .34), (.38, .52), (.68, .42), (.82, .2), (.82, .5), (.7, .84), (.44, 1), (.2, .92)]],
        [[(.76, .1), (.42, .02), (.18, .22), (.28, .46), (.56, .46), (.78, .24), (.84, .06)], [(.84, .06), (.7, .5), (.5, 1)]]],
}


def spline(points):
    """Dense points on the Catmull-Rom spline through `points`."""
    p = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    t = np.linspace(0, 1, 12, endpoint=False)[:, None]
    parts = []
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        parts.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t ** 2
                            + (3 * b - a - 3 * c + d) * t ** 3))
    return np.vstack(parts + [points[-1:]])


def pen_mask(rng, digit):
    """A digit written with the pen: its points jittered, its pressure changing."""
    way = PEN[digit][rng.integers(len(PEN[digit]))]
    size = 3 * INK
    width = rng.uniform(0.65, 1.0)
    wobble = rng.uniform(0.01, 0.045)
    moved = {}  # a point that two strokes share must move once, or the corner comes apart

    def place(point):
        if point not in moved:
            moved[point] = np.array(point) * (width, 1) + rng.normal(0, wobble, 2)
        return moved[point]

    margin = 40
    mask = Image.new("L", (size + 2 * margin, size + 2 * margin), 0)
    draw = ImageDraw.Draw(mask)
    thickest = 0.085 if digit in (1, 2, 3, 5, 7) else 0.06  # or the holes would close
    radius = rng.uniform(0.02, thickest) * size
    swing, phase, turns = rng.uniform(0, 0.35), rng.uniform(0, 6.3), rng.uniform(0.5, 2)
    for stroke in way:
        path = spline(np.array([place(p) for p in stroke])) * size + margin
        along = np.linspace(0, 1, len(path))
        radii = radius * (1 + swing * np.sin(phase + 6.28 * turns * along))
        last = None
        for (x, y), r in zip(path, radii):
            if last is not None:
                draw.line((*last, x, y), fill=255, width=max(1, int(2 * r)))
            draw.ellipse((x - r, y - r, x + r, y + r), fill=255)
            last = (x, y)
    return fit(mask)


def warp(mask, rng):
    """Rotates, shears, scales, shifts and bends a mask into a SIDE x SIDE picture, all in
    one resampling so that the strokes are softened once only."""
    angle = math.radians(float(np.clip(rng.normal(0, 8), -20, 20)))
    shear = float(np.clip(rng.normal(0, 0.15), -0.35, 0.35))
    height = rng.uniform(34, 54) / INK
    sx, sy = height * rng.uniform(0.8, 1.2), height
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    forward = turn @ np.array([[1, shear], [0, 1]]) @ np.diag([sx, sy])
    back = np.linalg.inv(forward)
    shift = rng.uniform(-5, 5, 2)
    axis = np.arange(SIDE) - (SIDE - 1) / 2
    x, y = axis[None, :] - shift[0], axis[:, None] - shift[1]
    # A coarse random field, smoothly enlarged, bends the strokes like an unsteady hand.
    bend = rng.uniform(0, 1.6)
    field = [np.asarray(Image.fromarray(rng.normal(0, bend, (5, 5)).astype(np.float32))
                        .resize((SIDE, SIDE), Image.BICUBIC)) for _ in range(2)]
    u = back[0, 0] * x + back[0, 1] * y + field[0] + (CANVAS - 1) / 2
    v = back[1, 0] * x + back[1, 1] * y + field[1] + (CANVAS - 1) / 2
    u, v = np.clip(u, 0, CANVAS - 1.001), np.clip(v, 0, CANVAS - 1.001)
    iu, iv = u.astype(np.int32), v.astype(np.int32)
    fu, fv = (u - iu).astype(np.float32), (v - iv).astype(np.float32)
    at = iv * CANVAS + iu
    flat = mask.ravel()
    top = flat[at] * (1 - fu) + flat[at + 1] * fu
    bottom = flat[at + CANVAS] * (1 - fu) + flat[at + CANVAS + 1] * fu
    return top * (1 - fv) + bottom * fv


def picture(rng, digit, which="mix"):
    """One finished 64x64 grey picture: white ink on black. `which`: mix (the fonts of
    training and the pen), fonts, pen or heldout."""
    if which == "pen" or (which == "mix" and rng.random() < 0.4):
        mask = pen_mask(rng, digit)
    else:
        paths, weights = font_pool("heldout" if which == "heldout" else "train")
        path = paths[rng.choice(len(paths), p=weights)]
        mask = font_mask(path, digit, int(rng.integers(0, 9)))
    ink = warp(mask, rng) * rng.uniform(0.7, 1.0)
    image = Image.fromarray((ink * 255).astype(np.uint8))
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.4)))
    grey = np.asarray(image, np.float32)
    grey = grey + rng.uniform(0, 20) + rng.normal(0, rng.uniform(0, 18), grey.shape)
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))


def small(image):
    """What the network sees: the picture at 28x28, still 0..255 (relayc's `grey28`)."""
    return np.asarray(image.resize((28, 28), Image.BILINEAR))


def draw_one(seed, index, which):
    """Picture `index` of a seed; independent of how many are drawn before it."""
    rng = np.random.default_rng([seed, index])
    digit = index % 10
    return picture(rng, digit, which), digit


def draw_set(seed, n, which):
    pixels, labels = np.empty((n, 28, 28), np.uint8), np.empty(n, np.int32)
    start = time.time()
    for i in range(n):
        image, labels[i] = draw_one(seed, i, which)
        pixels[i] = small(image)
        if n > 5000 and (i + 1) % 20000 == 0:
            print(f"  drew {i + 1} of {n} in {time.time() - start:.0f} s", flush=True)
    return pixels, labels


# --------------------------------------------------------------------------- .params

# TVM's file of named tensors: a list header, the names, then one record per tensor.
LIST_MAGIC, TENSOR_MAGIC = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F


def save_params(path, params):
    out = [struct.pack("<QQQ", LIST_MAGIC, 0, len(params))]
    for name in params:
        out.append(struct.pack("<Q", len(name)) + name.encode())
    out.append(struct.pack("<Q", len(params)))
    for value in params.values():
        value = np.ascontiguousarray(value, "<f4")
        # device cpu(0), rank, then the type: code 2 = float, 32 bits, 1 lane
        out.append(struct.pack("<QQiiiBBH", TENSOR_MAGIC, 0, 1, 0, value.ndim, 2, 32, 1))
        out.append(struct.pack(f"<{value.ndim}qq", *value.shape, value.nbytes))
        out.append(value.tobytes())
    pathlib.Path(path).write_bytes(b"".join(out))


def load_params(path):
    data, at = pathlib.Path(path).read_bytes(), 0

    def take(form):
        nonlocal at
        got = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return got

    magic, _, count = take("QQQ")
    if magic != LIST_MAGIC:
        sys.exit(f"train.py: {path} is not a .params file")
    names = []
    for _ in range(count):
        (length,) = take("Q")
        names.append(take(f"{length}s")[0].decode())
    take("Q")
    params = {}
    for name in names:
        magic, _, _, _, ndim, code, bits, lanes = take("QQiiiBBH")
        if (magic, code, bits, lanes) != (TENSOR_MAGIC, 2, 32, 1):
            sys.exit(f"train.py: {path}: {name} is not a float32 tensor")
        *shape, size = take(f"{ndim}qq")
        params[name] = np.frombuffer(data, "<f4", size // 4, at).reshape(shape)
        at += size
    return params


# --------------------------------------------------------------------------- network

# The same network as digits.relay, which is the file to read; shapes as Relay has them.
SHAPES = {
    "conv1_weight": (16, 1, 3, 3), "conv1_bias": (16,),
    "conv2_weight": (32, 16, 3, 3), "conv2_bias": (32,),
    "conv3_weight": (64, 32, 3, 3), "conv3_bias": (64,),
    "dense1_weight": (64, 576), "dense1_bias": (64,),
    "dense2_weight": (10, 64), "dense2_bias": (10,),
}


def forward_numpy(params, x):
    """Plain numpy forward pass: (n, 1, 28, 28) in 0..1 -> (n, 10) probabilities. It stands
    apart from jax on purpose, as a second opinion on digits.params."""

    def conv(x, name):
        weight, bias = params[name + "_weight"], params[name + "_bias"]
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        y = np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)
        return np.maximum(y + bias[None, :, None, None], 0)

    def pool(x):
        h, w = x.shape[2] // 2 * 2, x.shape[3] // 2 * 2
        x = x[:, :, :h, :w]
        return x.reshape(*x.shape[:2], h // 2, 2, w // 2, 2).max(axis=(3, 5))

    x = pool(conv(x, "conv1"))
    x = pool(conv(x, "conv2"))
    x = pool(conv(x, "conv3"))
    x = x.reshape(len(x), -1)
    x = np.maximum(x @ params["dense1_weight"].T + params["dense1_bias"], 0)
    x = x @ params["dense2_weight"].T + params["dense2_bias"]
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


def train(args):
    import jax
    import jax.numpy as jnp
    import optax

    print(f"drawing {args.n} pictures to learn from and 5000 to check on", flush=True)
    pixels, labels = draw_set(TRAIN_SEED, args.n, "mix")
    check_pixels, check_labels = draw_set(CHECK_SEED, 5000, "mix")

    rng = np.random.default_rng(TRAIN_SEED)
    params = {}
    for name, shape in SHAPES.items():
        fan_in = math.prod(shape[1:])
        scale = math.sqrt(2 / fan_in) if len(shape) > 1 else 0.0
        params[name] = jnp.asarray(rng.normal(0, 1, shape) * scale, jnp.float32)

    # Channels last inside training: XLA's CPU convolutions are quicker that way. Weights
    # keep Relay's OIHW order and are turned at use.
    def logits(params, x, key=None):
        x = x[..., None]
        for name in ("conv1", "conv2", "conv3"):
            x = jax.lax.conv_general_dilated(
                x, params[name + "_weight"].transpose(2, 3, 1, 0), (1, 1), "SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + params[name + "_bias"])
            h = x.shape[1] // 2 * 2
            x = x[:, :h, :h].reshape(x.shape[0], h // 2, 2, h // 2, 2, x.shape[3]).max((2, 4))
        # Relay flattens channels first; go back to that order before the dense layers.
        x = x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)
        if key is not None:  # dropout while learning only; the deployed network has none
            x = jnp.where(jax.random.bernoulli(key, 0.75, x.shape), x / 0.75, 0)
        x = jax.nn.relu(x @ params["dense1_weight"].T + params["dense1_bias"])
        return x @ params["dense2_weight"].T + params["dense2_bias"]

    def loss(params, x, y, key):
        # A little label smoothing keeps the network from being certain of noise.
        target = optax.smooth_labels(jax.nn.one_hot(y, 10), 0.03)
        return optax.softmax_cross_entropy(logits(params, x, key), target).mean()

    batch = 128
    steps = args.n // batch * args.epochs
    rate = optax.warmup_cosine_decay_schedule(1e-4, 2e-3, min(200, steps // 5), steps, 1e-5)
    optimizer = optax.adamw(rate, weight_decay=1e-3)

    @jax.jit
    def step(params, state, x, y, key):
        value, grad = jax.value_and_grad(loss)(params, x.astype(jnp.float32) / 255, y, key)
        updates, state = optimizer.update(grad, state, params)
        return optax.apply_updates(params, updates), state, value

    guess = jax.jit(lambda params, x: logits(params, x.astype(jnp.float32) / 255).argmax(1))
    state, key, start = optimizer.init(params), jax.random.PRNGKey(TRAIN_SEED), time.time()
    for epoch in range(args.epochs):
        order, total = rng.permutation(args.n), 0.0
        for i in range(args.n // batch):
            pick = order[i * batch:(i + 1) * batch]
            key, sub = jax.random.split(key)
            params, state, value = step(params, state, pixels[pick], labels[pick], sub)
            total += float(value)
        right = np.mean([np.mean(np.asarray(guess(params, check_pixels[i:i + 500]))
                                 == check_labels[i:i + 500]) for i in range(0, 5000, 500)])
        print(f"epoch {epoch + 1}: loss {total / (args.n // batch):.4f}, check {right:.2%}, "
              f"{time.time() - start:.0f} s", flush=True)
        # Written after every epoch, so that a run cut short still leaves a network.
        save_params(args.out, {k: np.asarray(v) for k, v in params.items()})
    print(f"wrote {args.out}: {sum(math.prod(s) for s in SHAPES.values())} numbers, "
          f"{pathlib.Path(args.out).stat().st_size} bytes")


# --------------------------------------------------------------------------- commands

def render(args):
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    for i in range(args.n):
        image, digit = draw_one(args.seed, i, args.set)
        image.save(out / f"{i:05}-{digit}.png")
    print(f"wrote {args.n} pictures to {out}")


def samples(args):
    # Pictures of several sizes and both PNG kinds, since relayc has to bring any picture
    # to 28x28 grey itself.
    for digit in range(10):
        image, _ = draw_one(SAMPLE_SEED, digit, "pen")
        if digit % 3 == 1:
            image = image.resize((96, 96), Image.BICUBIC)
        if digit % 3 == 2:
            image = image.convert("RGB")
        image.save(HERE / f"{digit}.png", optimize=True)
    print(f"wrote 0.png ... 9.png to {HERE}")


def ask_relayc(relayc, model, params, engine, picture_path):
    """Scores of one picture file by one relayc process."""
    out = picture_path.with_suffix(".npz")
    command = [str(relayc), "run", str(model), "--params", str(params), "-i",
               f"data=@{picture_path}:grey28", "--engine", engine, "--outputs", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip()}")
    with np.load(out) as arrays:
        scores = arrays["out"]
    out.unlink()
    return scores.reshape(10)


def evaluate(args):
    if args.seed in (TRAIN_SEED, CHECK_SEED):
        sys.exit(f"train.py: seed {args.seed} was used in training; take another")
    engine = "relayc" if args.relayc else "numpy"
    if args.engine:
        engine = args.engine
    start = time.time()
    if engine == "numpy":
        params = load_params(args.params)
        pixels, labels = draw_set(args.seed, args.n, args.set)
        x = pixels[:, None].astype(np.float32) / 255
        guesses = np.concatenate([forward_numpy(params, x[i:i + 100]).argmax(1)
                                  for i in range(0, len(x), 100)])
    else:
        if not args.relayc:
            sys.exit("train.py: name the relayc program with --relayc")
        with tempfile.TemporaryDirectory() as folder:
            paths, labels = [], []
            for i in range(args.n):
                image, digit = draw_one(args.seed, i, args.set)
                paths.append(pathlib.Path(folder) / f"{i:05}.png")
                image.save(paths[-1])
                labels.append(digit)
            ask = functools.partial(ask_relayc, pathlib.Path(args.relayc).resolve(),
                                    args.model, args.params, args.relayc_engine)
            with ThreadPoolExecutor(2) as pool:
                try:
                    scores = list(pool.map(ask, paths))
                except RuntimeError as error:
                    pool.shutdown(cancel_futures=True)
                    sys.exit(f"train.py: relayc failed:\n{error}")
        guesses, labels = np.array(scores).argmax(1), np.array(labels)
    wrong = np.flatnonzero(guesses != labels)
    for i in wrong[:20]:
        print(f"  picture {i}: a {labels[i]} read as {guesses[i]}")
    if len(wrong) > 20:
        print(f"  ... and {len(wrong) - 20} more")
    print(f"{engine}, set {args.set}, seed {args.seed}: {args.n - len(wrong)} of {args.n} right, "
          f"{1 - len(wrong) / args.n:.2%} ({time.time() - start:.0f} s)")
    if 1 - len(wrong) / args.n < args.at_least:
        sys.exit(f"train.py: below {args.at_least:.2%}")


def main():
    parser = argparse.ArgumentParser(description="Draws, trains and measures the digit reader.",
                                     epilog="See the head of this file for what it needs.")
    commands = parser.add_subparsers(dest="command", required=True)
    sets = ["mix", "fonts", "pen", "heldout"]

    p = commands.add_parser("render", help="write pictures to a folder, to look at")
    p.add_argument("--out", required=True)
    p.add_argument("--n", type=int, default=50)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--set", choices=sets, default="mix")
    p.set_defaults(run=render)

    p = commands.add_parser("samples", help="write 0.png ... 9.png beside this script")
    p.set_defaults(run=samples)

    p = commands.add_parser("train", help="draw, learn, write digits.params")
    p.add_argument("--n", type=int, default=120000)
    p.add_argument("--epochs", type=int, default=14)
    p.add_argument("--out", default=HERE / "digits.params")
    p.set_defaults(run=train)

    p = commands.add_parser("eval", help="accuracy on freshly drawn pictures")
    p.add_argument("--engine", choices=["numpy", "relayc"],
                   help="default: relayc when --relayc is given, else numpy")
    p.add_argument("--relayc", help="path of the relayc program")
    p.add_argument("--relayc-engine", default="interp", help="relayc's own --engine")
    p.add_argument("--n", type=int, default=1000)
    p.add_argument("--seed", type=int, default=2024)
    p.add_argument("--set", choices=sets, default="mix")
    p.add_argument("--model", default=HERE / "digits.relay")
    p.add_argument("--params", default=HERE / "digits.params")
    p.add_argument("--at-least", type=float, default=0.0, help="fail below this share (0..1)")
    p.set_defaults(run=evaluate)

    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
