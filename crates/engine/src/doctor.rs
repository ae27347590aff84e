//! `relayc doctor`: reports which features of the machine relayc detects and uses, and its limits.

use super::compile::{self, Settings};
use super::fault_injection::Fault;
use super::measure::{self, MachineLimits};
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_driver::optimise::MAX_LEVEL;
use relayc_exec::listing::target_name;
use relayc_sys as sys;
use serde_json::{Value, json};

/// The findings.
pub struct Findings {
    cpu: &'static Cpu,
    /// The instruction set that programs are compiled for; `None` on a machine with too few instructions. The error describes a
    /// bad environment.
    isa: Result<Option<Isa>, String>,
    /// Number of cores of the machine, whatever this process may use.
    cores: Option<usize>,
    memory_limit: u64,
    /// The fault that the environment injects, or why it cannot, in words.
    fault: Option<String>,
    /// Measurements with all threads, if requested.
    probed: Option<MachineLimits>,
}

/// Inspects the machine; also measures it if requested, which takes about a second.
pub fn find(measured: bool) -> Findings {
    let cpu = Cpu::get();
    let settings = Settings::native(MAX_LEVEL, cpu.threads);
    let probe = |settings: &Settings| measure::probe(settings);
    Findings {
        cpu,
        probed: settings.as_ref().ok().and_then(Option::as_ref).filter(|_| measured).map(probe),
        isa: settings.map(|settings| settings.map(|settings| settings.isa)),
        cores: sys::cores(),
        memory_limit: sys::default_memory_limit(),
        fault: Fault::wanted().map_or_else(Some, |fault| fault.map(Fault::summary)),
    }
}

impl Findings {
    /// Whether this machine compiles programs.
    pub fn is_well(&self) -> bool {
        matches!(self.isa, Ok(Some(_)))
    }

    fn features(&self) -> Vec<&'static str> {
        let Cpu { avx2, avx512, vnni, bf16, .. } = *self.cpu;
        let all = [(avx2, "avx2, fma, f16c"), (avx512, "avx512 f, dq, bw, vl"), (vnni, "avx512 vnni"), (bf16, "avx512 bf16")];
        all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }

    /// One line for each topic.
    pub fn text(&self) -> String {
        let cpu = self.cpu;
        let compiled = match &self.isa {
            Ok(Some(isa)) => format!("{} ({})", target_name(*isa), measure::isa_name(*isa)),
            Ok(None) => format!("nothing: {}; programs are interpreted", compile::no_machine()),
            Err(words) => format!("nothing: {words}"),
        };
        let threads = match self.cores {
            Some(cores) if cores != cpu.threads => {
                format!("{} of {cores}, as the system lets this process use them", cpu.threads)
            }
            _ => cpu.threads.to_string(),
        };
        let caches = [("L1d", cpu.l1d), ("L2", cpu.l2), ("L3", cpu.l3)];
        let caches = caches.iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| format!("{name} {}", size(*bytes as u64)));
        let features = if self.features().is_empty() { "none that kernels use".into() } else { self.features().join("; ") };
        let mut rows = vec![
            ("relayc", format!("{}, {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)),
            ("processor", Cpu::name()),
            ("instructions", features),
            ("compiles for", compiled),
            ("caches", caches.collect::<Vec<String>>().join(", ")),
            ("threads", threads),
            ("memory", format!("{} for tensors, unless --max-memory says otherwise", size(self.memory_limit))),
        ];
        rows.extend(self.fault.iter().map(|words| ("faults", words.clone())));
        if let Some(probed) = &self.probed {
            rows.push(("measured", format!("{:.1} GFLOP/s of multiply-adds", probed.gflops)));
            let levels = probed.levels.iter().map(|level| format!("{} {:.1} GB/s", level.name, level.read_gbs));
            rows.push(("reads", levels.collect::<Vec<String>>().join(", ")));
        }
        rows.push((
            "limits",
            format!("{} a text, {} a file of data", size(sys::Limit::source().bytes), size(sys::Limit::data().bytes)),
        ));
        rows.iter().map(|(topic, words)| format!("{topic:<12}  {words}\n")).collect()
    }

    /// The findings as JSON, `relayc.doctor/2`.
    pub fn json(&self) -> Value {
        let cpu = self.cpu;
        let (target, problem) = match &self.isa {
            Ok(isa) => (isa.map(target_name), None),
            Err(words) => (None, Some(words)),
        };
        let probed = self.probed.as_ref().map(|probed| {
            // Memory has no size here: `bytes` is what a level holds.
            let level = |level: &measure::CacheLevel| {
                let bytes = Some(level.bytes).filter(|&bytes| bytes < u64::MAX);
                json!({ "name": level.name, "bytes": bytes, "read_gbs": level.read_gbs })
            };
            let levels: Vec<Value> = probed.levels.iter().map(level).collect();
            json!({ "gflops": probed.gflops, "levels": levels })
        });
        json!({
            "schema": "relayc.doctor/2",
            "version": env!("CARGO_PKG_VERSION"),
            "processor": Cpu::name(),
            "avx2": cpu.avx2,
            "avx512": cpu.avx512,
            "vnni": cpu.vnni,
            "bf16": cpu.bf16,
            "target": target,
            "problem": problem,
            "l1d_bytes": cpu.l1d,
            "l2_bytes": cpu.l2,
            "l3_bytes": cpu.l3,
            "threads": cpu.threads,
            "cores": self.cores,
            "memory_limit_bytes": self.memory_limit,
            "source_limit_bytes": sys::Limit::source().bytes,
            "data_limit_bytes": sys::Limit::data().bytes,
            "fault": self.fault,
            "probe": probed,
        })
    }
}

/// Bytes in the largest unit that gives a number of at least 1.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        n if n >= 1 << 30 => (1u64 << 30, "GiB"),
        n if n >= 1 << 20 => (1 << 20, "MiB"),
        _ => (1 << 10, "KiB"),
    };
    let tenths = (bytes as f64 / unit as f64 * 10.0).round() / 10.0;
    format!("{tenths} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!([32 << 10, 1 << 20, 48 << 30, 1536 << 10].map(size), ["32 KiB", "1 MiB", "48 GiB", "1.5 MiB"]);
    }

    #[test]
    fn every_topic_has_its_words() {
        let found = find(false);
        let text = found.text();
        assert!(text.lines().all(|line| line.len() > 14 && line.is_char_boundary(12)), "{text}");
        assert_eq!(found.json()["schema"], "relayc.doctor/2");
    }
}
