"""The architectures of the list: how to make each with random weights, and what it takes.

An input is `(shape, kind)`: names in a shape are dimensions that stay open in the open export, and `kind` is `image` (normal numbers),
`ids` (token numbers below 100) or `mask` (ones). `SIZES` gives each name three sizes; a static export has the first.
"""
import torch
from torch import nn

from hugging import BOTH, HUGGING, IMAGE
from written import WRITTEN, Scripted  # noqa: F401: export.py asks for it

SIZES = {
    "batch": [1, 3, 2],
    "seq": [16, 33, 8],
    "past": [5, 12, 1],
    "height": [224, 192, 160],
    "width": [224, 256, 192],
    "frames": [12, 31, 5],
    "points": [20, 37, 9],
    "low": [24, 31, 16],
    "side": [20, 33, 17],
    "wave": [4000, 6400, 3200],
}

# The operator sets of what has nodes of a later one than 14.
OPSETS = {"warp": 16, "roi_pooled": 16}

ANY_IMAGE = {"x": (("batch", 3, "height", "width"), "image")}


# ---- torchvision ----

CLASSIFIERS = """alexnet convnext_tiny densenet121 densenet201 efficientnet_b0 efficientnet_b3 efficientnet_v2_s googlenet inception_v3
maxvit_t mnasnet0_5 mnasnet1_0 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large regnet_x_400mf regnet_y_400mf regnet_y_1_6gf resnet18
resnet34 resnet50 resnet101 resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 swin_t vgg11
vgg16_bn vit_b_16 wide_resnet50_2""".split()


def classifier(name):
    def make():
        from torchvision import models

        more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return getattr(models, name)(weights=None, **more)

    size = 299 if name == "inception_v3" else 224
    return make, {"x": (("batch", 3, size, size), "image")}


def any_size(name):
    """A classifier that pools to one number a channel takes images of any size."""
    return classifier(name)[0], ANY_IMAGE


class Output(nn.Module):
    """The masks of a segmentation model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def segmenter(name):
    def make():
        from torchvision.models import segmentation

        return Output(getattr(segmentation, name)(weights=None, weights_backbone=None))

    return make, {"x": (("batch", 3, "height", "width"), "image")}


# ---- timm ----

TIMM = """adv_inception_v3 beit_base_patch16_224 botnet26t_256 caformer_s18 cait_xxs24_224 coat_lite_tiny coatnet_nano_rw_224 convit_tiny
convnextv2_atto crossvit_tiny_240 cspresnet50 davit_tiny deit_tiny_patch16_224 dla34 dpn68 eca_resnet33ts edgenext_xx_small
efficientformer_l1 efficientformerv2_s0 eva02_tiny_patch14_224 fbnetc_100 focalnet_tiny_srf gcvit_xxtiny gernet_s ghostnet_100
gmlp_s16_224 hardcorenas_a hrnet_w18_small lambda_resnet26t lcnet_050 legacy_seresnet18 levit_128s mixer_s16_224 mixnet_s mobilevit_xxs
mobilevitv2_050 mvitv2_tiny nest_tiny nf_resnet50 pit_ti_224 poolformer_s12 pvt_v2_b0 regnetz_b16 repvgg_a2 res2net50_26w_4s resmlp_12_224
resnest14d resnet26t rexnet_100 semnasnet_100 sequencer2d_s skresnet18 swinv2_tiny_window8_256 tf_efficientnet_lite0 tinynet_a
tnt_s_patch16_224 twins_svt_small visformer_tiny vovnet39a xception xcit_nano_12_p16_224
maxxvit_rmlp_nano_rw_256 skresnext50_32x4d swinv2_cr_tiny_224 vit_relpos_small_patch16_224""".split()


def pretrained_name(name):
    def make():
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)

    of_size = {240: ["crossvit_tiny_240"],
               256: ["botnet26t_256", "edgenext_xx_small", "lambda_resnet26t", "mobilevit_xxs", "mobilevitv2_050",
                     "maxxvit_rmlp_nano_rw_256", "swinv2_tiny_window8_256"],
               299: ["adv_inception_v3", "xception"]}
    size = next((size for size, names in of_size.items() if name in names), 224)
    return make, {"x": (("batch", 3, size, size), "image")}


# ---- recurrent ----

class Recurrent(nn.Module):
    def __init__(self, kind, layers=2, both=False, hidden=64):
        super().__init__()
        self.cell = getattr(nn, kind)(32, hidden, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(2 * hidden if both else hidden, 10)

    def forward(self, x):
        return self.head(self.cell(x)[0])


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.read, self.write = nn.Embedding(100, 32), nn.GRU(32, 64, batch_first=True), nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, 100)

    def forward(self, input_ids, decoder_input_ids):
        _, state = self.read(self.words(input_ids))
        return self.head(self.write(self.words(decoder_input_ids), state)[0])


class Tagger(nn.Module):
    """Convolutions over time, then an LSTM: speech and handwriting."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(32, 64, 3, padding=1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 64, 3, 2, 1), nn.ReLU())
        self.cell, self.head = nn.LSTM(64, 64, 2, bidirectional=True), nn.Linear(128, 30)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2)).permute(2, 0, 1)
        return self.head(self.cell(y)[0]).log_softmax(-1)


FRAMES = {"x": (("batch", "frames", 32), "image")}
OPEN_BATCH = {"x": (("batch", 12, 32), "image")}


# ---- pictures made of pictures ----

class Generator(nn.Module):
    """The generator of DCGAN."""

    def __init__(self, n=64):
        super().__init__()

        def up(a, b, *how):
            return [nn.ConvTranspose2d(a, b, 4, *how, bias=False), nn.BatchNorm2d(b), nn.ReLU()]

        self.all = nn.Sequential(*up(100, 8 * n, 1, 0), *up(8 * n, 4 * n, 2, 1), *up(4 * n, 2 * n, 2, 1), *up(2 * n, n, 2, 1),
                                 nn.ConvTranspose2d(n, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, x):
        return self.all(x)


class UNet(nn.Module):
    def __init__(self, mode=None, n=16):
        super().__init__()

        def two(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1),
                                 nn.BatchNorm2d(b), nn.ReLU())

        def up(a):
            if mode is None:
                return nn.ConvTranspose2d(a, a // 2, 2, 2)
            return nn.Sequential(nn.Upsample(scale_factor=2, mode=mode), nn.Conv2d(a, a // 2, 1))

        self.down = nn.ModuleList([two(3, n), two(n, 2 * n), two(2 * n, 4 * n), two(4 * n, 8 * n)])
        self.up = nn.ModuleList([up(8 * n), up(4 * n), up(2 * n)])
        self.join = nn.ModuleList([two(8 * n, 4 * n), two(4 * n, 2 * n), two(2 * n, n)])
        self.head, self.pool = nn.Conv2d(n, 2, 1), nn.MaxPool2d(2)

    def forward(self, x):
        kept = []
        for i, stage in enumerate(self.down):
            x = stage(x if i == 0 else self.pool(x))
            kept.append(x)
        for up, join, back in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat([up(x), back], 1))
        return self.head(x)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 27, 3, padding=1), nn.PixelShuffle(3))

    def forward(self, x):
        return self.all(x)


class Autoencoder(nn.Module):
    """A variational autoencoder without its noise."""

    def __init__(self):
        super().__init__()
        self.read = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.Mish())
        self.write = nn.Sequential(nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.InstanceNorm2d(16, affine=True), nn.PReLU(),
                                   nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Sigmoid())

    def forward(self, x):
        mean, spread = self.read(x).chunk(2, 1)
        return self.write(mean * torch.exp(0.5 * spread))


def detector(name):
    def make():
        from torchvision.models import detection

        return getattr(detection, name)(weights=None, weights_backbone=None)

    return make, {"x": ((1, 3, 320, 320), "picture")}


DETECTORS = """fasterrcnn_mobilenet_v3_large_320_fpn fcos_resnet50_fpn keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn retinanet_resnet50_fpn
ssd300_vgg16 ssdlite320_mobilenet_v3_large""".split()


def architectures():
    """All of them: name, then `(make, inputs)`."""
    found = {name: classifier(name) for name in CLASSIFIERS}
    found |= {name + "_any": any_size(name) for name in ["resnet18", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "squeezenet1_1"]}
    found |= {name: segmenter(name) for name in ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]}
    found |= {name: pretrained_name(name) for name in TIMM}
    found |= HUGGING
    found |= {kind.lower(): (lambda kind=kind: Recurrent(kind), OPEN_BATCH) for kind in ["LSTM", "GRU", "RNN"]}
    found |= {kind.lower() + "_any": (lambda kind=kind: Recurrent(kind), FRAMES) for kind in ["LSTM", "GRU", "RNN"]}
    found |= {kind.lower() + "_both_any": (lambda kind=kind: Recurrent(kind, both=True), FRAMES) for kind in ["LSTM", "GRU"]}
    found |= {
        "seq2seq": (Seq2Seq, BOTH),
        "tagger": (Tagger, FRAMES),
        "transformer": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2),
                        {"x": (("batch", "seq", 64), "image")}),
        "dcgan": (Generator, {"x": (("batch", 100, 1, 1), "image")}),
        "unet": (UNet, ANY_IMAGE),
        "unet_nearest": (lambda: UNet("nearest"), ANY_IMAGE),
        "unet_bilinear": (lambda: UNet("bilinear"), ANY_IMAGE),
        "super_resolution": (SuperResolution, ANY_IMAGE),
        "autoencoder": (Autoencoder, ANY_IMAGE),
    }
    found |= {name: detector(name) for name in DETECTORS}
    found |= WRITTEN
    return found


def draw(inputs, turn, generator):
    """The inputs at their sizes of this turn."""
    made = []
    for shape, kind in inputs.values():
        shape = [SIZES[dim][turn] if isinstance(dim, str) else dim for dim in shape]
        if kind == "image":
            made.append(torch.randn(shape, generator=generator))
        elif kind == "picture":
            made.append(torch.rand(shape, generator=generator))
        elif kind == "ids":
            made.append(torch.randint(3, 100, shape, generator=generator))
        else:
            made.append(torch.ones(shape, dtype=torch.int64))
    return made
