//! A fence in two halves: free for those who run tasks, dear for whoever looks at them.
//!
//! In: two threads, each of which writes one word and then reads the other's. Out: at least one of them sees what the other
//! wrote, if one called [`light`] and the other [`heavy`] in between. With a `SeqCst` fence on both sides every task would pay
//! for a look that hardly ever comes; so on Linux the light half only keeps the compiler from moving the two accesses, and
//! the heavy half asks the kernel to run a full fence on every processor that runs a thread of this process
//! (`membarrier`, private expedited). Elsewhere, and where the kernel cannot, both are the ordinary fence.

#![allow(unsafe_code)]

/// Between a write and a read of somebody whose time is precious.
#[inline(always)]
pub(crate) fn light() {
    imp::light();
}

/// Between a write and a read of somebody who looks. False: the system failed, and nothing may be concluded from the read.
#[must_use = "false: the read that follows says nothing"]
pub(crate) fn heavy() -> bool {
    imp::heavy()
}

/// Asks the system, once: until somebody has, the light half is no lighter than the other.
pub(crate) fn prepare() {
    imp::prepare();
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
mod imp {
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};
    use std::sync::atomic::{AtomicU8, compiler_fence, fence};

    /// Of `linux/membarrier.h`.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Whether the kernel does it: not known, yes, no.
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;

    /// As long as nobody has asked the kernel, and where it said no, this half is a whole fence as well: who has seen a yes
    /// relies on whoever calls `heavy`, and that one asks before it concludes anything.
    #[inline(always)]
    pub(super) fn light() {
        if ANSWER.load(Relaxed) == YES {
            compiler_fence(SeqCst);
        } else {
            fence(SeqCst);
        }
    }

    pub(super) fn heavy() -> bool {
        fence(SeqCst);
        !is_there() || ask(PRIVATE_EXPEDITED)
    }

    pub(super) fn prepare() {
        is_there();
    }

    /// A process registers once. (Twice does no harm, so nobody waits for anybody here.)
    fn is_there() -> bool {
        match ANSWER.load(Relaxed) {
            UNKNOWN => {
                let answer = ask(REGISTER_PRIVATE_EXPEDITED);
                ANSWER.store(if answer { YES } else { NO }, Relaxed);
                answer
            }
            known => known == YES,
        }
    }

    fn ask(command: libc::c_int) -> bool {
        // SAFETY: the call takes plain numbers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
mod imp {
    use crate::sync::atomic::Ordering::SeqCst;
    use crate::sync::atomic::fence;

    #[inline(always)]
    pub(super) fn light() {
        #[cfg(loom)]
        if !super::IS_MODELLED.get() {
            return;
        }
        fence(SeqCst);
    }

    pub(super) fn heavy() -> bool {
        fence(SeqCst);
        true
    }

    pub(super) fn prepare() {}
}

#[cfg(loom)]
std::thread_local! {
    /// Whether the light half is a fence in the model that runs on this thread. Only where somebody looks: in all other models
    /// it would order things that nothing orders in the product.
    pub(crate) static IS_MODELLED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}
