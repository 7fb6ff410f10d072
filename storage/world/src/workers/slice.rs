//! A longer slice for threads that hardly ever sleep, so that others need not wait for them.
//!
//! Linux gives the core to a thread that wakes up at once only if the slice it asks for is shorter than that of the running thread (EEVDF, since
//! 6.12); else it waits until that one's slice is over, for milliseconds, and may then itself be interrupted by a worker that wakes. A worker asks
//! for a slice of [`SLICE_NS`], others keep the usual: that changes no thread's part of the processor, only which waits for which. Cost: two system
//! calls a thread; older kernels ignore it.

/// Some times the usual slice, which is 0.7 to 3 ms.
pub(super) const SLICE_NS: u64 = 6_000_000;

/// `struct sched_attr` of Linux, in its first form.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Numbers of `sched_setattr` and `sched_getattr`; none where they are not known.
const CALLS: Option<(isize, isize)> = match () {
    () if cfg!(all(target_os = "linux", target_arch = "x86_64")) => Some((314, 315)),
    () if cfg!(all(target_os = "linux", any(target_arch = "aarch64", target_arch = "riscv64"))) => {
        Some((274, 275))
    }
    () => None,
};

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// Of the C library: a system call by its number.
    fn syscall(number: isize, ...) -> isize;
}

/// The kernel's scheduling attributes of the calling thread.
#[cfg(target_os = "linux")]
fn read(get: isize) -> Option<Attributes> {
    let mut found = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: the kernel writes at most `size` bytes, which is how large the structure is, and it outlives the call. 0 is the caller.
    let outcome = unsafe { syscall(get, 0_usize, &raw mut found, size, 0_usize) };
    (outcome == 0).then_some(found)
}

/// Asks for a long slice for the calling thread; false if the system knows no such thing, or the thread is under another policy.
#[cfg(target_os = "linux")]
pub(super) fn lengthen() -> bool {
    let Some((set, get)) = CALLS else { return false };
    let Some(found) = read(get).filter(|found| found.policy == 0) else { return false };
    let wanted = Attributes {
        size: size_of::<Attributes>() as u32,
        nice: found.nice,
        runtime_ns: SLICE_NS,
        ..Attributes::default()
    };
    // SAFETY: the kernel only reads the structure, whose size it is told, and it outlives the call. 0 is the calling thread.
    unsafe { syscall(set, 0_usize, &raw const wanted, 0_usize) == 0 }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn lengthen() -> bool {
    let _ = (CALLS, SLICE_NS);
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_policy_and_gets_its_slice() {
        let thread = crate::threads::spawn("slice", || {
            let get = CALLS?.1;
            let before = read(get)?;
            lengthen().then(|| (before, read(get)))
        });
        let Some((before, after)) = thread.join() else { return };
        let after = after.expect("it was read before");
        assert_eq!((after.policy, after.nice), (before.policy, before.nice));
        // Kernels before 6.12 have no slices of their own.
        assert!([0, SLICE_NS, before.runtime_ns].contains(&after.runtime_ns), "{}", after.runtime_ns);
    }
}
