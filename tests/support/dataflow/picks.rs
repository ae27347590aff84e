//! Generates steps that gather elements by indices, or that change the size of a value.

use super::{Kind, MOST, Maker, elements, list};

impl Maker {
    pub(super) fn picks(&mut self) -> Option<()> {
        match self.random.u8(..9) {
            8 => self.ordered(),
            0 | 1 => self.take(),
            2 => self.one_hot(),
            3 | 4 => self.resized(),
            5 => self.around(),
            6 => self.tiled(),
            _ => self.norm(),
        }
    }

    /// Binds a value unless it is too large.
    fn bind_small(&mut self, text: String, shape: Vec<usize>, kind: Kind) -> Option<()> {
        (elements(&shape) <= MOST && shape.len() < 7).then(|| self.bind(text, shape, kind))
    }

    /// Indices lie outside too.
    fn take(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| !value.shape.is_empty())?;
        let axis = self.random.usize(..shape.len());
        let rank = self.random.usize(..3);
        let taken: Vec<usize> = (0..rank).map(|_| 1 + self.random.usize(..9)).collect();
        let indices = self.param(taken.clone(), Kind::I32);
        let mode = ["clip", "wrap"][self.random.usize(..2)];
        let out = [&shape[..axis], &taken, &shape[axis + 1..]].concat();
        self.bind_small(format!("take({x}, {indices}, axis={axis}, mode=\"{mode}\")"), out, kind)
    }

    /// Sorts and scans, of integers of which many are equal: positions tell them apart whatever the rounding.
    fn ordered(&mut self) -> Option<()> {
        let shape: Vec<usize> = (0..1 + self.random.usize(..3)).map(|_| 1 + self.random.usize(..18)).collect();
        let (x, axis) = (self.param(shape.clone(), Kind::I32), self.random.usize(..shape.len()));
        let ascend = ["True", "False"][self.random.usize(..2)];
        let positions = format!("argsort({x}, axis={axis}, is_ascend={ascend}, dtype=\"int32\")");
        let (mut out, k) = (shape.clone(), 1 + self.random.usize(..shape[axis]));
        let text = match self.random.u8(..5) {
            0 => positions,
            1 => format!("sort({x}, axis={axis}, is_ascend={ascend})"),
            2 => {
                out[axis] = k;
                format!("topk({x}, k={k}, axis={axis}, ret_type=\"indices\", is_ascend={ascend}, dtype=\"int32\")")
            }
            3 => {
                let name = ["cumsum", "cumprod"][self.random.usize(..2)];
                format!("{name}({x}, axis={axis}, exclusive={ascend}, attrs_type_key=\"relay.attrs.ScanopAttrs\")")
            }
            _ => {
                let reduction = ["update", "add", "mul", "min", "max"][self.random.usize(..5)];
                let attrs =
                    format!("axis={axis}, reduction=\"{reduction}\", attrs_type_key=\"relay.attrs.ScatterElementsAttrs\"");
                format!("scatter_elements({x}, {positions}, {x}, {attrs})")
            }
        };
        self.bind_small(text, out, Kind::I32)
    }

    fn one_hot(&mut self) -> Option<()> {
        let (x, mut shape, _) = self.pick(|value| value.kind == Kind::I32)?;
        let (depth, axis) = (1 + self.random.usize(..20), self.random.usize(..=shape.len()));
        shape.insert(axis, depth);
        self.bind_small(format!("one_hot({x}, 2f, -1f, depth={depth}, axis={axis}, dtype=\"float32\")"), shape, Kind::F32)
    }

    fn resized(&mut self) -> Option<()> {
        let (x, mut shape) = self.float(|shape| shape.len() == 4)?;
        if self.random.u8(..4) == 0 {
            (shape[2], shape[3]) = (shape[2] * 2, shape[3] * 2);
            let method = ["nearest_neighbor", "bilinear"][self.random.usize(..2)];
            return self.bind_small(format!("nn.upsampling({x}, scale_h=2f, scale_w=2f, method=\"{method}\")"), shape, Kind::F32);
        }
        (shape[2], shape[3]) = (1 + self.random.usize(..20), 1 + self.random.usize(..20));
        let method = ["nearest_neighbor", "linear", "cubic"][self.random.usize(..3)];
        let mode = ["half_pixel", "align_corners", "asymmetric"][self.random.usize(..3)];
        let text = format!(
            "image.resize2d({x}, size={}, roi=[0f, 0f, 0f, 0f], method=\"{method}\", coordinate_transformation_mode=\"{mode}\")",
            list(&shape[2..])
        );
        self.bind_small(text, shape, Kind::F32)
    }

    fn around(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| !value.shape.is_empty() && value.kind != Kind::Bool)?;
        let widths: Vec<[usize; 2]> = shape.iter().map(|&dim| [0; 2].map(|_| self.random.usize(..dim.min(3)))).collect();
        let out = shape.iter().zip(&widths).map(|(dim, [before, after])| dim + before + after).collect();
        let widths = widths.iter().map(|pair| list(pair)).collect::<Vec<_>>().join(", ");
        let text = match self.random.u8(..3) {
            0 => format!("nn.mirror_pad({x}, mode=\"REFLECT\", pad_width=[{widths}])"),
            1 => format!("nn.pad({x}, 0f, pad_width=[{widths}], pad_mode=\"reflect\")"),
            _ => format!("nn.pad({x}, 0f, pad_width=[{widths}], pad_mode=\"edge\")"),
        };
        self.bind_small(text, out, kind)
    }

    fn tiled(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|_| true)?;
        let reps: Vec<usize> = (0..shape.len() + self.random.usize(..2)).map(|_| 1 + self.random.usize(..2)).collect();
        let whole = [&vec![1; reps.len() - shape.len()], &shape[..]].concat();
        let out = whole.iter().zip(&reps).map(|(dim, rep)| dim * rep).collect();
        (!reps.is_empty()).then_some(())?;
        self.bind_small(format!("tile({x}, reps={})", list(&reps)), out, kind)
    }

    fn norm(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| shape.len() >= 3)?;
        let channels = shape[1];
        let text = match self.random.u8(..4) {
            0 => {
                let groups =
                    (1..=channels).filter(|groups| channels.is_multiple_of(*groups)).max_by_key(|_| self.random.u8(..))?;
                let (gamma, beta) = (self.param(vec![channels], Kind::F32), self.param(vec![channels], Kind::F32));
                format!("nn.group_norm({x}, {gamma}, {beta}, num_groups={groups}, epsilon=0.1f)")
            }
            1 => {
                let (gamma, beta) = (self.param(vec![channels], Kind::F32), self.param(vec![channels], Kind::F32));
                format!("nn.instance_norm({x}, {gamma}, {beta}, epsilon=0.1f)")
            }
            2 => format!("nn.lrn({x}, size=3, bias=1f, alpha=0.5f)"),
            _ => format!("nn.l2_normalize({x}, eps=0.1f, axis=[1])"),
        };
        self.bind_small(text, shape, Kind::F32)
    }
}
