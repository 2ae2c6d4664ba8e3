//! What only the processor's own instructions give: its count of time, and a line of memory before it is needed.
//!
//! The count is cheap to read, in a unit that nobody knows. In: nothing. Out: a number that grows with time, the same on all
//! cores; and whether it is to be trusted. It is where the
//! system itself tells the time by it: it has checked then that the cores agree, that the count goes evenly, and that it does not
//! stop while they sleep.

#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, shuttle, miri))))]
mod imp {
    use std::sync::OnceLock;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        #[allow(unused_unsafe, reason = "it needs none on newer compilers")]
        // SAFETY: every processor of this architecture has the instruction, and no system this runs on forbids it.
        unsafe {
            std::arch::x86_64::_rdtsc()
        }
    }

    pub(super) fn is_trusted() -> bool {
        static IS_TRUSTED: OnceLock<bool> = OnceLock::new();
        *IS_TRUSTED.get_or_init(|| {
            let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
            std::fs::read_to_string(path).is_ok_and(|source| source.trim() == "tsc")
        })
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(loom, shuttle, miri)))))]
mod imp {
    #[inline(always)]
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn is_trusted() -> bool {
        false
    }
}

/// The count.
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    imp::read()
}

/// Whether time can be told by it.
pub(crate) fn are_cycles_trusted() -> bool {
    imp::is_trusted()
}

/// Asks for the line of memory at an address that is about to be used: what follows need not wait for it as long.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it reads nothing and faults on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// As [`prefetch`], of a line that is about to be written: otherwise it would be asked for once more, to be had alone.
#[inline(always)]
pub(crate) fn prefetch_to_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: it touches no memory that the program sees, whatever the address; processors of this architecture execute or skip it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    prefetch(address);
}
