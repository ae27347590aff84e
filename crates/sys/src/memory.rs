//! The memory limit for tensors without `--max-memory`, the peak memory of the process, and ways to return memory to the system.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

#[cfg(feature = "linux")]
use linux as system;
#[cfg(not(feature = "linux"))]
use plain as system;

#[cfg(feature = "linux")]
pub use linux::LargePages;
use std::fs::read_to_string;
pub use system::{give_back_code, give_back_free_memory, give_back_pages, is_short_of_memory, own_process};

/// Three quarters of the machine's memory, or of what the control group or the limit on addresses (`ulimit -v`) leaves if that is less;
/// 16 GiB if none is known.
pub fn default_memory_limit() -> u64 {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| kib_line(&text, "MemTotal:"));
    let group = read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let total = [machine, group, system::free_addresses()].into_iter().flatten().min();
    total.map_or(16 << 30, |bytes: u64| bytes / 4 * 3)
}

/// The processors of the machine, regardless of how many this process may use; none if the system does not tell.
pub fn cores() -> Option<usize> {
    let text = read_to_string("/proc/cpuinfo").ok()?;
    Some(text.lines().filter(|line| line.starts_with("processor")).count()).filter(|&n| n > 0)
}

/// The peak memory of the process in bytes, if the system tells.
pub fn peak_memory() -> Option<u64> {
    read_to_string("/proc/self/status").ok().and_then(|text| kib_line(&text, "VmHWM:"))
}

/// The bytes that a line of a kernel file states in KiB.
fn kib_line(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_in_kib() {
        assert_eq!(kib_line("MemTotal:       16384 kB\nMemFree: 1 kB\n", "MemTotal:"), Some(16 << 20));
        assert_eq!(kib_line("MemFree: 1 kB\n", "MemTotal:"), None);
        assert!(default_memory_limit() > 0);
    }

    #[test]
    fn pages_that_are_given_back_lie_in_the_slice() {
        let mut numbers: Vec<f32> = (0..10_000).map(|n| n as f32 + 1.0).collect();
        give_back_pages(&mut numbers[100..9_000]);
        assert!(numbers.iter().enumerate().all(|(at, &n)| n == at as f32 + 1.0 || (100..9_000).contains(&at)));
        assert!(numbers.iter().enumerate().all(|(at, &n)| n == 0.0 || n == at as f32 + 1.0));
        give_back_pages(&mut numbers[..10]);
        give_back_pages::<f32>(&mut []);
        assert_eq!(numbers[0], 1.0);
    }

    #[test]
    fn the_peak_rises_with_what_is_touched() {
        let Some(before) = peak_memory() else {
            return assert!(!std::path::Path::new("/proc/self/status").exists(), "the system tells");
        };
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = peak_memory().expect("the system tells");
        assert!(after >= before && after >= 64 << 20, "{before} then {after}, with {} bytes", touched.len());
    }
}
