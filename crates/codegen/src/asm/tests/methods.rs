//! Tests which instruction each method emits: the disassembler's text, on both instruction sets.

use super::*;
use iced_x86::{Formatter, IntelFormatter};

/// Everything that `emit` emits, one instruction a line.
fn text(isa: Isa, emit: impl FnOnce(&mut Asm)) -> Vec<String> {
    let bytes = bytes(isa, |asm| {
        emit(asm);
        // What follows is constants.
        asm.ret();
    });
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_rip_relative_addresses(true);
    let mut lines = Vec::new();
    for instruction in &mut Decoder::new(64, &bytes, DecoderOptions::NONE) {
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        if line == "ret" {
            break;
        }
        // Where a constant stands depends on what else there is.
        match line.split_once("[rip+") {
            Some((before, after)) => lines.push(format!("{before}[pool{}", &after[after.find(']').unwrap()..])),
            None => lines.push(line),
        }
    }
    lines
}

type Emit = fn(&mut Asm);

/// Compares a method with its text for AVX2 and AVX-512, instructions separated by `; `. An empty text means that the method is
/// absent.
fn expect(cases: &[(Emit, &str, &str)]) {
    for (emit, avx2, avx512) in cases {
        for (isa, wanted) in [(Isa::Avx2, *avx2), (Isa::Avx512, *avx512)] {
            if !wanted.is_empty() {
                assert_eq!(text(isa, emit).join("; "), wanted, "{isa:?}");
            }
        }
    }
}

const MEM: Mem = Mem::at(R::RSI, 64);

#[test]
fn operations() {
    let names = [
        ("vaddps", &forms::VADDPS),
        ("vsubps", &forms::VSUBPS),
        ("vmulps", &forms::VMULPS),
        ("vdivps", &forms::VDIVPS),
        ("vmaxps", &forms::VMAXPS),
        ("vminps", &forms::VMINPS),
        ("vandps", &forms::VANDPS),
        ("vorps", &forms::VORPS),
        ("vxorps", &forms::VXORPS),
        ("vpaddd", &forms::VPADDD),
        ("vpsubd", &forms::VPSUBD),
        ("vpmulld", &forms::VPMULLD),
        ("vpmaxsd", &forms::VPMAXSD),
        ("vpminsd", &forms::VPMINSD),
        ("vpsllvd", &forms::VPSLLVD),
        ("vpsrlvd", &forms::VPSRLVD),
        ("vpsravd", &forms::VPSRAVD),
    ];
    for (name, op) in names {
        let three = |asm: &mut Asm| asm.op3(op, V(1), V(2), V(3));
        let broadcast = |asm: &mut Asm| asm.op3(op, V(1), V(20), Rm::Bcast(MEM));
        assert_eq!(text(Isa::Avx2, three), [format!("{name} ymm1, ymm2, ymm3")]);
        assert_eq!(text(Isa::Avx512, three), [format!("{name} zmm1, zmm2, zmm3")]);
        assert_eq!(text(Isa::Avx512, broadcast), [format!("{name} zmm1, zmm20, [rsi+40h]{{1to16}}")]);
    }
}

#[test]
fn moves() {
    const K1: Mask = Mask::K(K(1));
    const V9: Mask = Mask::V(V(9));
    expect(&[
        (|a| a.load(V(1), MEM), "vmovups ymm1, [rsi+40h]", "vmovups zmm1, [rsi+40h]"),
        (|a| a.store(MEM, V(1)), "vmovups [rsi+40h], ymm1", "vmovups [rsi+40h], zmm1"),
        (|a| a.mov(V(1), V(2)), "vmovaps ymm1, ymm2", "vmovaps zmm1, zmm2"),
        (|a| a.zero(V(1)), "vxorps xmm1, xmm1, xmm1", "vxorps xmm1, xmm1, xmm1"),
        (|a| a.zero(V(17)), "", "vpxord zmm17, zmm17, zmm17"),
        (|a| a.bcast(V(1), MEM), "vbroadcastss ymm1, [rsi+40h]", "vbroadcastss zmm1, [rsi+40h]"),
        (|a| a.bcast_lane0(V(1), V(2)), "vbroadcastss ymm1, xmm2", "vbroadcastss zmm1, xmm2"),
        (|a| a.bcast_r(V(1), R::R9), "vmovd xmm1, r9d; vbroadcastss ymm1, xmm1", "vpbroadcastd zmm1, r9d"),
        (|a| a.store_lane0(MEM, V(1)), "vmovss [rsi+40h], xmm1", "vmovss [rsi+40h], xmm1"),
        (|a| a.load_tail(V(1), V9, MEM), "vmaskmovps ymm1, ymm9, [rsi+40h]", ""),
        (|a| a.store_tail(MEM, V9, V(1)), "vmaskmovps [rsi+40h], ymm9, ymm1", ""),
        (|a| a.load_tail(V(1), K1, MEM), "", "vmovups zmm1{k1}{z}, [rsi+40h]"),
        (|a| a.store_tail(MEM, K1, V(1)), "", "vmovups [rsi+40h]{k1}, zmm1"),
        (|a| a.under(K(3), false).op3(&forms::VADDPS, V(1), V(2), V(3)), "", "vaddps zmm1{k3}, zmm2, zmm3"),
        (|a| a.under(K(3), true).shift(&forms::VPSLLD_IMM, V(1), V(2), 5), "", "vpslld zmm1{k3}{z}, zmm2, 5"),
        (|a| a.set_tail(V9, 3, R::RAX), "vmovups ymm9, [pool]", ""),
        (|a| a.set_tail(K1, 3, R::RAX), "", "mov eax, 7; kmovw k1, eax"),
        (|a| a.set_tail(K1, 99, R::RAX), "", "mov eax, 0FFFFh; kmovw k1, eax"),
        (|a| a.splat(V(1), 2.0), "vbroadcastss ymm1, [pool]", "vbroadcastss zmm1, [pool]"),
        (|a| a.splat(V(1), 0.0), "vxorps xmm1, xmm1, xmm1", "vxorps xmm1, xmm1, xmm1"),
        (
            |a| {
                let two = a.splat_rm(2.0);
                a.op3(&forms::VMULPS, V(1), V(2), two);
            },
            "vmulps ymm1, ymm2, [pool]",
            "vmulps zmm1, zmm2, [pool]{1to16}",
        ),
        (|a| a.gather(V(1), V9, R::RDI, V(2), 4, 8), "vgatherdps ymm1, [rdi+ymm2*4+8], ymm9", ""),
        (|a| a.gather(V(1), K1, R::RDI, V(30), 4, 8), "", "vgatherdps zmm1, k1, [rdi+zmm30*4+8]"),
    ]);
}

#[test]
fn arithmetic() {
    expect(&[
        (|a| a.fma(V(1), V(2), V(3)), "vfmadd231ps ymm1, ymm2, ymm3", "vfmadd231ps zmm1, zmm2, zmm3"),
        (|a| a.fma(V(31), V(2), Rm::Bcast(MEM)), "", "vfmadd231ps zmm31, zmm2, [rsi+40h]{1to16}"),
        (|a| a.fnma(V(1), V(2), MEM), "vfnmadd231ps ymm1, ymm2, [rsi+40h]", ""),
        (|a| a.fma213(V(1), V(2), V(3)), "vfmadd213ps ymm1, ymm2, ymm3", "vfmadd213ps zmm1, zmm2, zmm3"),
        (|a| a.fma132(V(1), V(2), V(3)), "vfmadd132ps ymm1, ymm2, ymm3", "vfmadd132ps zmm1, zmm2, zmm3"),
        (|a| a.sqrt(V(1), V(2)), "vsqrtps ymm1, ymm2", "vsqrtps zmm1, zmm2"),
        (|a| a.round(Round::Down, V(1), V(2)), "vroundps ymm1, ymm2, 9", "vrndscaleps zmm1, zmm2, 9"),
        (|a| a.shift(&forms::VPSLLD_IMM, V(1), V(2), 23), "vpslld ymm1, ymm2, 17h", "vpslld zmm1, zmm2, 17h"),
        (|a| a.shift(&forms::VPSRLD_IMM, V(1), V(2), 23), "vpsrld ymm1, ymm2, 17h", "vpsrld zmm1, zmm2, 17h"),
        (|a| a.shift(&forms::VPSRAD_IMM, V(1), V(2), 31), "vpsrad ymm1, ymm2, 1Fh", "vpsrad zmm1, zmm2, 1Fh"),
        (|a| a.cvt_f2i_trunc(V(1), V(2)), "vcvttps2dq ymm1, ymm2", "vcvttps2dq zmm1, zmm2"),
        (|a| a.cvt_f2i_nearest(V(1), V(2)), "vcvtps2dq ymm1, ymm2", "vcvtps2dq zmm1, zmm2"),
        (|a| a.cvt_i2f(V(1), V(2)), "vcvtdq2ps ymm1, ymm2", "vcvtdq2ps zmm1, zmm2"),
        (|a| a.scalef(V(1), V(2), V(3)), "", "vscalefps zmm1, zmm2, zmm3"),
        (|a| a.unpack_lo(V(1), V(2), V(3)), "vunpcklps ymm1, ymm2, ymm3", "vunpcklps zmm1, zmm2, zmm3"),
        (|a| a.unpack_hi(V(1), V(2), V(3)), "vunpckhps ymm1, ymm2, ymm3", "vunpckhps zmm1, zmm2, zmm3"),
        (|a| a.shuffle(V(1), V(2), V(3), 27), "vshufps ymm1, ymm2, ymm3, 1Bh", "vshufps zmm1, zmm2, zmm3, 1Bh"),
        (|a| a.permute(V(1), V(2), V(3)), "vpermps ymm1, ymm2, ymm3", "vpermps zmm1, zmm2, zmm3"),
    ]);
}

#[test]
fn masks() {
    const A: Mask = Mask::K(K(1));
    const B: Mask = Mask::K(K(2));
    const C: Mask = Mask::K(K(3));
    const P: Mask = Mask::V(V(1));
    const Q: Mask = Mask::V(V(2));
    const S: Mask = Mask::V(V(3));
    expect(&[
        (|a| a.cmp(Pred::Lt, P, V(2), V(3)), "vcmplt_oqps ymm1, ymm2, ymm3", ""),
        (|a| a.cmp(Pred::Lt, A, V(2), V(3)), "", "vcmplt_oqps k1, zmm2, zmm3"),
        (|a| a.cmp(Pred::Gt, A, V(2), V(3)), "", "vcmpgt_oqps k1, zmm2, zmm3"),
        (|a| a.cmp(Pred::Ge, A, V(2), V(3)), "", "vcmpge_oqps k1, zmm2, zmm3"),
        (|a| a.cmp(Pred::Le, A, V(2), V(3)), "", "vcmple_oqps k1, zmm2, zmm3"),
        (|a| a.cmp(Pred::Eq, A, V(2), V(3)), "", "vcmpeqps k1, zmm2, zmm3"),
        (|a| a.cmp(Pred::Ne, A, V(2), V(3)), "", "vcmpneqps k1, zmm2, zmm3"),
        (|a| a.cmp_i(IPred::Eq, P, V(2), V(3)), "vpcmpeqd ymm1, ymm2, ymm3", ""),
        (|a| a.cmp_i(IPred::Lt, P, V(2), V(3)), "vpcmpgtd ymm1, ymm3, ymm2", ""),
        (|a| a.cmp_i(IPred::Lt, A, V(2), V(3)), "", "vpcmpltd k1, zmm2, zmm3"),
        (|a| a.cmp_i(IPred::Gt, A, V(2), V(3)), "", "vpcmpnled k1, zmm2, zmm3"),
        (|a| a.select(P, V(4), V(5), V(6)), "vblendvps ymm4, ymm6, ymm5, ymm1", ""),
        (|a| a.select(A, V(4), V(5), V(6)), "", "vblendmps zmm4{k1}, zmm6, zmm5"),
        (|a| a.mask_all(P), "vpcmpeqd ymm1, ymm1, ymm1", ""),
        (|a| a.mask_all(A), "", "kxnorw k1, k1, k1"),
        (|a| a.mask_and(P, Q, S), "vandps ymm1, ymm2, ymm3", ""),
        (|a| a.mask_and(A, B, C), "", "kandw k1, k2, k3"),
        (|a| a.mask_or(P, Q, S), "vorps ymm1, ymm2, ymm3", ""),
        (|a| a.mask_or(A, B, C), "", "korw k1, k2, k3"),
        (|a| a.mask_xor(P, Q, S), "vxorps ymm1, ymm2, ymm3", ""),
        (|a| a.mask_xor(A, B, C), "", "kxorw k1, k2, k3"),
        (|a| a.mask_not(P, Q), "vxorps ymm1, ymm2, [pool]", ""),
        (|a| a.mask_not(A, B), "", "knotw k1, k2"),
        (|a| a.kmov_kr(K(1), R::R9), "", "kmovw k1, r9d"),
    ]);
}

#[test]
fn entry_and_exit() {
    let framed = |asm: &mut Asm| {
        let frame = asm.enter(&[R::RAX, R::R12, R::RBX, R::R12], 24);
        asm.inc(R::RAX);
        asm.leave(&frame);
    };
    let wanted = ["push rbx", "push r12", "sub rsp, 18h", "inc rax", "add rsp, 18h", "pop r12", "pop rbx", "vzeroupper"];
    assert_eq!(text(Isa::Avx2, framed), wanted);
    for saved in 0..=6 {
        for locals in 0..40 {
            let lines = text(Isa::Avx2, |asm| {
                asm.enter(&R::CALLEE_SAVED[..saved], locals);
            });
            let grown = lines.last().and_then(|line| line.strip_prefix("sub rsp, ")).unwrap_or("0");
            let grown = usize::from_str_radix(grown.trim_end_matches('h'), 16).unwrap();
            assert!(
                grown >= locals && (8 + 8 * saved + grown).is_multiple_of(16),
                "{saved} registers, {locals} bytes: {lines:?}"
            );
        }
    }
}

/// A wrong operand is refused: by a panic where assertions are on, by `finish` elsewhere; never by wrong code.
#[test]
fn what_does_not_exist_is_refused() {
    let of_avx512: &[Emit] = &[
        |a| a.under(K(0), true).op3(&forms::VADDPS, V(1), V(2), V(3)),
        |a| a.under(K(1), true).store(MEM, V(1)),
        |a| a.under(K(1), true).cmp(Pred::Lt, Mask::K(K(1)), V(2), V(3)),
        |a| a.under(K(1), false).vector(&forms::VMOVD_FROM_R, Width::X, V(1), V(0), MEM, None),
        |a| a.gather(V(1), Mask::K(K(0)), R::RDI, V(2), 4, 0),
        |a| a.op3(&forms::VADDPS, V(32), V(2), V(3)),
        |a| a.cmp(Pred::Lt, Mask::V(V(1)), V(2), V(3)),
        |a| a.vector(&forms::VMOVSS_STORE, Width::Z, V(1), V(0), MEM, None),
        |a| a.vector(&forms::VMOVUPS_LOAD, Width::Z, V(1), V(0), Rm::Bcast(MEM), None),
        |a| a.vector(&forms::VMOVUPS_STORE, Width::Z, V(1), V(0), V(2), None),
        |a| a.vector(&forms::VPSLLD_IMM, Width::Z, V(1), V(0), MEM, Some(1)),
    ];
    let of_avx2: &[Emit] = &[
        |a| a.op3(&forms::VADDPS, V(1), V(2), Rm::Bcast(MEM)),
        |a| a.op3(&forms::VADDPS, V(16), V(2), V(3)),
        |a| a.op3(&forms::VADDPS, V(1), V(2), V(17)),
        |a| a.under(K(1), true).op3(&forms::VADDPS, V(1), V(2), V(3)),
        |a| a.scalef(V(1), V(2), V(3)),
        |a| a.cmp(Pred::Lt, Mask::K(K(1)), V(2), V(3)),
        |a| a.mask_and(Mask::K(K(1)), Mask::K(K(1)), Mask::K(K(2))),
        |a| a.mask_and(Mask::K(K(1)), Mask::V(V(1)), Mask::K(K(2))),
        |a| a.kmov_kr(K(1), R::RAX),
        |a| a.load(V(1), Mem::indexed(R::RAX, R::RSP, 1, 0)),
        |a| a.load(V(1), Mem::indexed(R::RAX, R::RBX, 3, 0)),
        |a| a.gather(V(1), Mask::V(V(2)), R::RDI, V(1), 4, 0),
        |a| {
            a.constant(&[1, 2, 3]);
        },
    ];
    for (isa, wrong) in [(Isa::Avx2, of_avx2), (Isa::Avx512, of_avx512)] {
        for (at, emit) in wrong.iter().enumerate() {
            let finished = std::panic::catch_unwind(|| {
                let mut asm = Asm::new(isa);
                emit(&mut asm);
                asm.finish()
            });
            assert!(!matches!(finished, Ok(Ok(_))), "{isa:?}: the mistake number {at} goes through");
        }
    }
}

#[test]
fn constants_of_quadwords() {
    expect(&[
        (|asm| asm.splat_quads(V(2), 0), "vxorps xmm2, xmm2, xmm2", "vxorps xmm2, xmm2, xmm2"),
        (|asm| asm.splat_quads(V(2), 1), "vbroadcastsd ymm2, [pool]", "vbroadcastsd zmm2, [pool]"),
        (
            |asm| {
                let ones = asm.splat_quads_rm(u64::MAX);
                asm.vector(&forms::VPADDQ, asm.isa().width(), V(1), V(2), ones, None);
            },
            "vpaddq ymm1, ymm2, [pool]",
            "vpaddq zmm1, zmm2, [pool]{1to8}",
        ),
    ]);
}
