//! How much memory tensors may take unless `--max-memory` says otherwise.

use std::fs::read_to_string;

/// Three quarters of the machine's memory, or of the control group's where that is less; 16 GiB where neither is known.
pub fn default_memory_limit() -> u64 {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| machine_bytes(&text));
    let group = read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let total = [machine, group].into_iter().flatten().min();
    total.map_or(16 << 30, |bytes: u64| bytes / 4 * 3)
}

/// The `MemTotal` line of `/proc/meminfo`, which counts in KiB.
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_in_kib() {
        assert_eq!(machine_bytes("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(machine_bytes("MemFree: 1 kB\n"), None);
        assert!(default_memory_limit() > 0);
    }
}
