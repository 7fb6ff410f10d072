//! The machine we run on, for choosing sizes and for labelling measurements.

use crate::memory::kilobytes;

/// Properties of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Threads that can run at once, limits of containers respected.
    pub cores: usize,
    /// The processor's name; `unknown` where the system does not say.
    pub model: String,
    /// Memory in bytes; none where the system does not say.
    pub memory_bytes: Option<u64>,
    /// Operating system and instruction set, such as `linux x86_64`.
    pub system: String,
}

impl Machine {
    /// Looks at the machine.
    #[must_use]
    pub fn here() -> Self {
        let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            cores: cores(),
            model: model().unwrap_or_else(|| "unknown".to_string()),
            memory_bytes: kilobytes(&table, "MemTotal:"),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// Threads that can run at once; 1 where the system does not say.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn model() -> Option<String> {
    let table = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = table.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_machine() {
        let machine = Machine::here();
        assert!(machine.cores >= 1 && !machine.model.is_empty() && !machine.system.is_empty());
    }
}
