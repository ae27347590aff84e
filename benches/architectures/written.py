"""Models written here, for what the models of libraries have little of: detection heads, clouds of points, graphs, and programs with loops
and branches, which torch scripts instead of tracing. `models.py` says what an entry is."""
import torch
from torch import nn
from torch.nn import functional
from torchvision.ops import nms, roi_align

FRAMES = {"x": (("batch", "frames", 32), "image")}
POINTS = {"p": (("batch", "points", 3), "image")}


class Yolo(nn.Module):
    """A YOLO head over a small body: all boxes, decoded."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU(),
                                  nn.Conv2d(32, 32, 3, 2, 1), nn.SiLU())
        self.head = nn.Conv2d(32, 3 * 15, 1)
        self.register_buffer("anchors", torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]).view(1, 3, 1, 1, 2))

    def forward(self, x):
        y = self.head(self.body(x))
        batch, _, height, width = y.shape
        y = y.view(batch, 3, 15, height, width).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        grid = torch.stack([columns, rows], -1).view(1, 1, height, width, 2).to(x.dtype)
        centre, size = (y[..., :2] * 2 - 0.5 + grid) * 8, (y[..., 2:4] * 2) ** 2 * self.anchors
        return torch.cat([centre, size, y[..., 4:]], -1).view(batch, -1, 15)


class YoloDetector(Yolo):
    """The same of one image, with the boxes that pass a threshold and non-maximum suppression."""

    def forward(self, x):
        found = super().forward(x)[0]
        score, kind = (found[:, 5:] * found[:, 4:5]).max(1)
        keep = score > 0.27
        found, score, kind = found[keep], score[keep], kind[keep]
        centre, half = found[:, :2], found[:, 2:4] / 2
        boxes = torch.cat([centre - half, centre + half], 1)
        order = nms(boxes + kind.unsqueeze(1) * 4096, score, 0.45)[:100]
        return boxes[order], score[order], kind[order]


class RoiPooled(nn.Module):
    """Features of boxes, as the second stage of detectors has them."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8 * 5 * 7, 4)

    def forward(self, x, boxes):
        corner = boxes[:, :2].abs() * 40
        boxes = torch.cat([torch.zeros_like(boxes[:, :1]), corner, corner + boxes[:, 2:].abs() * 40 + 1], 1)
        return self.head(roi_align(x, boxes, (5, 7), 0.25, sampling_ratio=2, aligned=True).flatten(1))


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU())
        self.turn, self.head = nn.Linear(32, 9), nn.Conv1d(64, 10, 1)

    def forward(self, p):
        turn = self.turn(self.first(p.transpose(1, 2)).max(2)[0]).view(-1, 3, 3) + torch.eye(3, dtype=p.dtype)
        y = self.first(torch.bmm(p, turn).transpose(1, 2))
        return self.head(torch.cat([y, y.max(2, keepdim=True)[0].expand_as(y)], 1))


class EdgeConvolution(nn.Module):
    """A layer of DGCNN: each point and its four nearest ones."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(6, 16, 1)

    def forward(self, p):
        distance = (p.unsqueeze(1) - p.unsqueeze(2)).pow(2).sum(-1)
        nearest = distance.topk(4, dim=-1, largest=False).indices
        near = p[torch.arange(p.shape[0]).view(-1, 1, 1), nearest]
        edges = torch.cat([near - p.unsqueeze(2), p.unsqueeze(2).expand_as(near)], -1)
        return self.conv(edges.permute(0, 3, 1, 2)).amax(-1)


class GraphConvolution(nn.Module):
    """Two layers of a graph convolutional network, the edges being an input."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 16), nn.Linear(16, 7)])

    def forward(self, x, edges):
        edges = edges % x.shape[0]
        degree = torch.ones(x.shape[0], dtype=x.dtype).scatter_add(0, edges[1], torch.ones_like(edges[1], dtype=x.dtype))
        norm = (degree.rsqrt()[edges[0]] * degree.rsqrt()[edges[1]]).unsqueeze(1)
        for layer in self.layers:
            y = layer(x)
            sent = y[edges[0]] * norm
            x = torch.relu(torch.zeros_like(y).scatter_add(0, edges[1].unsqueeze(1).expand_as(sent), sent) + y)
        return x


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList([nn.Conv1d(32, 64, 2, dilation=2**i) for i in range(4)])
        self.mixes = nn.ModuleList([nn.Conv1d(32, 32, 1) for _ in range(4)])

    def forward(self, x):
        x, skipped = x.transpose(1, 2), 0
        for i, (gate, mix) in enumerate(zip(self.gates, self.mixes)):
            value, open_ = gate(functional.pad(x, (2**i, 0))).chunk(2, 1)
            y = mix(value.tanh() * open_.sigmoid())
            x, skipped = x + y, skipped + y
        return skipped


class Warp(nn.Module):
    """A spatial transformer: the image is sampled where a small network says."""

    def __init__(self):
        super().__init__()
        self.where = nn.Linear(8, 6)

    def forward(self, x):
        turn = self.where(x.mean((2, 3))).view(-1, 2, 3)
        rows, columns = torch.meshgrid(torch.linspace(-1, 1, 14), torch.linspace(-1, 1, 11), indexing="ij")
        places = torch.stack([columns, rows, torch.ones_like(rows)], -1).view(1, -1, 3).to(x.dtype)
        grid = (places @ turn.transpose(1, 2)).view(-1, 14, 11, 2)
        return functional.grid_sample(x, grid, "bilinear", "border", align_corners=False)


class Pyramid(nn.Module):
    """Images at scales that are no whole numbers, as models of depth and flow have them."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        half = self.conv(functional.interpolate(x, scale_factor=0.5, mode="bilinear"))
        wide = self.conv(functional.interpolate(half, scale_factor=1.7, mode="bicubic"))
        near = functional.interpolate(wide, scale_factor=1.5, mode="nearest")
        return functional.interpolate(near, size=x.shape[2:], mode="bilinear", align_corners=False) + x


class Scripted(nn.Module):
    """A module with control flow on its data."""


class Loop(Scripted):
    """A recurrent cell by hand, its states collected."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(32, 32)

    def forward(self, x):
        h = torch.zeros_like(x[:, 0])
        states = []
        for t in range(x.size(1)):
            h = torch.tanh(self.cell(x[:, t] + h))
            states.append(h)
        return torch.stack(states, 1)


class Halving(Scripted):
    """As many turns as the data needs, then one of two branches."""

    def forward(self, x):
        turns = 0
        while bool(x.abs().max() > 1.0) and turns < 20:
            x = x * 0.7
            turns += 1
        if bool(x.sum() > 0):
            x = x * 2
        else:
            x = x - 1
        return x, torch.tensor(turns)


class Greedy(Scripted):
    """Six words, each the likeliest after those before."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(50, 32), nn.Linear(32, 50)

    def forward(self, x):
        h = x.mean(1)
        words = torch.zeros([x.size(0), 1], dtype=torch.long)
        for _ in range(6):
            h = torch.tanh(h + self.words(words[:, -1]))
            words = torch.cat([words, self.head(h).argmax(-1, keepdim=True)], 1)
        return words, h


LOW = (("batch", 8, "low", "side"), "image")

WRITTEN = {
    "yolo": (Yolo, {"x": (("batch", 3, "height", "width"), "image")}),
    "yolo_detector": (YoloDetector, {"x": ((1, 3, "height", "width"), "image")}),
    "roi_pooled": (RoiPooled, {"x": LOW, "boxes": (("points", 4), "image")}),
    "pointnet": (PointNet, POINTS),
    "dgcnn": (EdgeConvolution, POINTS),
    "gcn": (GraphConvolution, {"x": (("points", 32), "image"), "edges": ((2, "wave"), "ids")}),
    "wavenet": (WaveNet, FRAMES),
    "warp": (Warp, {"x": LOW}),
    "pyramid": (Pyramid, {"x": LOW}),
    "loop": (Loop, FRAMES),
    "halving": (Halving, FRAMES),
    "greedy": (Greedy, FRAMES),
}
