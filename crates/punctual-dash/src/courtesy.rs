//! The dashboard's threads let the pools' go first, where the system has a way to say so for one thread.

/// As much as a background job of a shell's; the page is a few milliseconds later, timers are not.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Makes the calling thread less urgent than others of the process. Where that is refused nothing changes.
pub(crate) fn step_back() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};
        let this = Some(rustix::thread::gettid());
        // Never forward: who may do everything could.
        if getpriority_process(this).is_ok_and(|now| now < NICENESS) {
            let _ = setpriority_process(this, NICENESS);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_asks_steps_back() {
        let of_this = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap();
        let before = of_this();
        let of_other = std::thread::spawn(move || {
            step_back();
            of_this()
        });
        assert_eq!(of_other.join().unwrap(), before.max(NICENESS));
        assert_eq!(of_this(), before);
    }
}
