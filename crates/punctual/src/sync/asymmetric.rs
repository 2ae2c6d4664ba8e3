//! A fence in two halves: free for those who run tasks, dear for whoever looks at them.
//!
//! In: two threads, each of which writes one word and then reads the other's. Out: at least one of them sees what the other
//! wrote, if one called [`light`] and the other [`heavy`] in between. With a `SeqCst` fence on both sides every task would pay
//! for a look that hardly ever comes; so on Linux the light half only keeps the compiler from moving the two accesses, and
//! the heavy half asks the kernel to run a full fence on every processor that runs a thread of this process
//! (`membarrier`, private expedited). Elsewhere both are the ordinary fence.

#![allow(unsafe_code)]

/// Between a write and a read of somebody whose time is precious.
#[inline(always)]
pub(crate) fn light() {
    imp::light();
}

/// Between a write and a read of somebody who looks. False: the system cannot do it, and nothing may be concluded from
/// the read.
#[must_use = "false: the read that follows says nothing"]
pub(crate) fn heavy() -> bool {
    imp::heavy()
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
mod imp {
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};
    use std::sync::atomic::{AtomicU8, compiler_fence, fence};

    /// Of `linux/membarrier.h`.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    #[inline(always)]
    pub(super) fn light() {
        compiler_fence(SeqCst);
    }

    pub(super) fn heavy() -> bool {
        fence(SeqCst);
        is_registered() && ask(PRIVATE_EXPEDITED)
    }

    /// A process registers once. (Twice does no harm, so nobody waits for anybody here.)
    fn is_registered() -> bool {
        static ANSWER: AtomicU8 = AtomicU8::new(0);
        match ANSWER.load(Relaxed) {
            0 => {
                let answer = ask(REGISTER_PRIVATE_EXPEDITED);
                ANSWER.store(if answer { 1 } else { 2 }, Relaxed);
                answer
            }
            known => known == 1,
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
}

#[cfg(loom)]
std::thread_local! {
    /// Whether the light half is a fence in the model that runs on this thread. Only where somebody looks: in all other models
    /// it would order things that nothing orders in the product.
    pub(crate) static IS_MODELLED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}
