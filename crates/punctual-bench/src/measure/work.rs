//! Arithmetic that no compiler shortens: the ~1 us task of scenario F and the loop of the two-core check.

/// About 1.1 us on a 3 GHz core; `java/Peers.java` has the same number.
pub(crate) const MICROSECOND_STEPS: u64 = 550;

/// `steps` dependent xorshift steps from a seed that is not zero; the result is never zero.
pub(crate) fn spin_steps(seed: u64, steps: u64) -> u64 {
    let mut x = seed;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}
