//! Temporary: nests computed point by point.
use crate::kernel::{Bin, Body, Cmp, Fold, Instr, Nest, Un, Val};
use crate::types::DType;

unsafe fn read(p: *const u8, dtype: DType, at: i64) -> u32 {
    unsafe {
        if dtype == DType::BOOL { u32::from(*p.offset(at as isize)) } else { *(p as *const u32).offset(at as isize) }
    }
}

fn f(x: u32) -> f32 { f32::from_bits(x) }
fn max(a: f32, b: f32) -> f32 { if a.is_nan() || b.is_nan() { f32::NAN } else if a == b { if a.is_sign_positive() { a } else { b } } else if a > b { a } else { b } }

fn eval(body: &Body, lanes_float: &[bool], reads: &[u32], folded: &[f32], count: f32) -> Vec<u32> {
    let mut v: Vec<u32> = vec![];
    for (i, instr) in body.instrs.iter().enumerate() {
        let g = |x: Val| v[x.0 as usize];
        let is_f = |x: Val| lanes_float[x.0 as usize];
        let r = match *instr {
            Instr::Read(n) => reads[n as usize],
            Instr::Folded(n) => folded[n as usize].to_bits(),
            Instr::Count => count.to_bits(),
            Instr::Const(bits, _) => bits,
            Instr::Un(op, a) => { let x = f(g(a)) as f64; let xi = g(a) as i32; match op {
                Un::Neg => if is_f(a) { (-f(g(a))).to_bits() } else { xi.wrapping_neg() as u32 },
                Un::Abs => if is_f(a) { f(g(a)).abs().to_bits() } else { xi.wrapping_abs() as u32 },
                Un::Sqrt => f(g(a)).sqrt().to_bits(), Un::Floor => f(g(a)).floor().to_bits(), Un::Ceil => f(g(a)).ceil().to_bits(), Un::Trunc => f(g(a)).trunc().to_bits(),
                Un::RoundEven => f(g(a)).round_ties_even().to_bits(), Un::Round => f(g(a)).round().to_bits(), Un::Not => (g(a) == 0) as u32,
                Un::SaturateToInt | Un::TruncToInt => f(g(a)) as i32 as u32, Un::NearestToInt => f(g(a)).round_ties_even() as i32 as u32,
                Un::ToFloat => (xi as f32).to_bits(), Un::Bits | Un::FromBits => g(a), Un::BoolToFloat => (g(a) as f32).to_bits(), Un::BoolToInt => g(a),
                Un::Exp => (x.exp() as f32).to_bits(), Un::Log => (x.ln() as f32).to_bits(), Un::Log2 => (x.log2() as f32).to_bits(), Un::Log10 => (x.log10() as f32).to_bits(),
                Un::Rsqrt => ((1.0 / x.sqrt()) as f32).to_bits(), Un::Sigmoid => ((1.0 / (1.0 + (-x).exp())) as f32).to_bits(), Un::Tanh => (x.tanh() as f32).to_bits(),
                Un::Erf => (crate::ops::erf_for_now(x) as f32).to_bits(), Un::Sin => (x.sin() as f32).to_bits(), Un::Cos => (x.cos() as f32).to_bits(),
                Un::Sign => (if x > 0.0 { 1f32 } else if x < 0.0 { -1.0 } else { 0.0 }).to_bits(), } }
            Instr::Bin(op, a, b) => { let (x, y) = (f(g(a)), f(g(b))); let (i, j) = (g(a) as i32, g(b) as i32); let fl = is_f(a); match op {
                Bin::Add => if fl { (x + y).to_bits() } else { i.wrapping_add(j) as u32 }, Bin::Sub => if fl { (x - y).to_bits() } else { i.wrapping_sub(j) as u32 },
                Bin::Mul => if fl { (x * y).to_bits() } else { i.wrapping_mul(j) as u32 }, Bin::Div => (x / y).to_bits(),
                Bin::Max | Bin::MaxSecond => if fl { max(x, y).to_bits() } else { i.max(j) as u32 }, Bin::Min | Bin::MinSecond => if fl { (-max(-x, -y)).to_bits() } else { i.min(j) as u32 },
                Bin::And => g(a) & g(b), Bin::Or => g(a) | g(b), Bin::Xor => g(a) ^ g(b), Bin::Shl => g(a) << g(b), Bin::ShrSigned => (i >> j) as u32, Bin::ShrUnsigned => g(a) >> g(b),
                Bin::Pow => ((x as f64).powf(y as f64) as f32).to_bits(), Bin::Mod => (x % y).to_bits(), Bin::FloorMod => (x - (x / y).floor() * y).to_bits(), Bin::FloorDiv => (x / y).floor().to_bits(), } }
            Instr::Fma(a, b, c) => f(g(a)).mul_add(f(g(b)), f(g(c))).to_bits(),
            Instr::Cmp(op, a, b) => { let (x, y) = if is_f(a) { (f(g(a)) as f64, f(g(b)) as f64) } else { (g(a) as i32 as f64, g(b) as i32 as f64) };
                (match op { Cmp::Eq => x == y, Cmp::Ne => x != y, Cmp::Lt => x < y, Cmp::Le => x <= y, Cmp::Gt => x > y, Cmp::Ge => x >= y }) as u32 }
            Instr::Select(c, a, b) => if g(c) != 0 { g(a) } else { g(b) },
        };
        let _ = i;
        v.push(r);
    }
    v
}

pub unsafe fn run(nest: &Nest, args: &[*mut u8]) {
    let lanes: Vec<crate::kernel::Lane> = nest.reads.iter().map(|r| if r.dtype == DType::F32 { crate::kernel::Lane::F32 } else if r.dtype == DType::I32 { crate::kernel::Lane::I32 } else { crate::kernel::Lane::Bool }).collect();
    let kinds: Vec<Vec<bool>> = nest.stages.iter().map(|s| s.body.lanes(&lanes).iter().map(|l| *l == crate::kernel::Lane::F32).collect()).collect();
    let total: u64 = nest.dims.iter().product();
    for point in 0..total {
        let mut idx = vec![0i64; nest.dims.len()];
        let mut rest = point;
        for d in (0..idx.len()).rev() { idx[d] = (rest % nest.dims[d]) as i64; rest /= nest.dims[d]; }
        let ranges: Vec<(i64, i64)> = nest.reduce.iter().map(|r| match r.clip { None => (0, r.extent as i64), Some(c) => {
            let base = idx[c.dim] * c.stride - c.before;
            let mut lo = 0; while lo < r.extent as i64 && base + lo * c.dilation < 0 { lo += 1; }
            let mut hi = r.extent as i64; while hi > lo && base + (hi - 1) * c.dilation >= c.size { hi -= 1; }
            (lo, hi) } }).collect();
        let count: i64 = ranges.iter().map(|r| r.1 - r.0).product();
        let mut folded: Vec<f32> = vec![];
        for (s, stage) in nest.stages.iter().enumerate() {
            let mut acc: Vec<f32> = stage.folds.iter().map(|(_, fo)| match fo { Fold::Sum => 0.0, Fold::Product => 1.0, Fold::Max => f32::NEG_INFINITY, Fold::Min => f32::INFINITY }).collect();
            let n = if stage.each { count } else { 1 };
            for p in 0..n {
                let mut rest = p;
                let mut r = vec![0i64; ranges.len()];
                if stage.each { for d in (0..r.len()).rev() { let e = ranges[d].1 - ranges[d].0; r[d] = ranges[d].0 + rest % e; rest /= e; } }
                let at = |a: &crate::kernel::Access| a.offset + a.kept.iter().zip(&idx).map(|(s, i)| s * i).sum::<i64>() + a.reduced.iter().zip(&r).map(|(s, i)| s * i).sum::<i64>();
                let used: Vec<bool> = (0..nest.reads.len()).map(|k| stage.body.instrs.contains(&Instr::Read(k as u16))).collect();
                let reads: Vec<u32> = nest.reads.iter().zip(&used).map(|(a, &u)| if u { unsafe { read(args[a.arg], a.dtype, at(a)) } } else { 0 }).collect();
                let v = eval(&stage.body, &kinds[s], &reads, &folded, count as f32);
                for (k, (val, fo)) in stage.folds.iter().enumerate() { let x = f(v[val.0 as usize]); acc[k] = match fo { Fold::Sum => acc[k] + x, Fold::Product => acc[k] * x, Fold::Max => max(acc[k], x), Fold::Min => -max(-acc[k], -x) }; }
                for st in &stage.stores { let w = &nest.writes[st.write]; let p = args[w.arg]; let bits = v[st.val.0 as usize];
                    unsafe { if w.dtype == DType::BOOL { *p.offset(at(w) as isize) = bits as u8 } else { *(p as *mut u32).offset(at(w) as isize) = bits } } }
            }
            folded.extend(acc);
        }
    }
}
