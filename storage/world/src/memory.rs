//! How much memory this process holds, and memory that the system has back at once.

mod pages;

pub use pages::Pages;

/// Bytes of memory that are resident now; none where the system does not say (outside Linux).
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// The most bytes that were resident at once since the process began; none where the system does not say.
#[must_use]
pub fn resident_bytes_peak() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(field: &str) -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, field)
}

/// The number after `field` in a table of lines such as `VmRSS:   1234 kB`.
pub(crate) fn kilobytes(table: &str, field: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(field))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_read() {
        assert_eq!(kilobytes("VmPeak:\t 9 kB\nVmRSS:\t  12 kB\n", "VmRSS:"), Some(12 * 1024));
        assert_eq!(kilobytes("VmPeak:\t 9 kB\n", "VmRSS:"), None);
        assert_eq!(kilobytes("VmRSS:\t many kB\n", "VmRSS:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory_and_its_peak_is_no_less() {
        let resident = resident_bytes().expect("Linux says");
        assert!(resident > 0 && resident_bytes_peak().expect("Linux says") > 0);
    }
}
