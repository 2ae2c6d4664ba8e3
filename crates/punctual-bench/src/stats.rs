//! The statistics of a handful of rounds: numbers in, one number out. Not here: where the numbers come from.

/// Stands for "infinitely better" where ours is zero and theirs is not, so that reports stay finite.
pub(crate) const RATIO_CAP: f64 = 1000.0;

/// The middle value; the mean of the two middle ones for an even count. `None` when there is nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The value at quantile `q` of 0..=1, nearest rank. `None` when there is nothing.
pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let sorted = sorted(values);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The value that a quarter of the values exceeds at most, nearest rank.
pub(crate) fn upper_quartile(values: &[f64]) -> Option<f64> {
    quantile(values, 0.75)
}

/// The mirror of [`upper_quartile`], also where the rank is rounded.
pub(crate) fn lower_quartile(values: &[f64]) -> Option<f64> {
    let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
    upper_quartile(&mirrored).map(|value| 0.0 - value)
}

pub(crate) fn min_max(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    Some((*sorted.first()?, *sorted.last()?))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// theirs / ours for values where less is better: above 1, ours is better. Equal zeros are equal.
pub(crate) fn ratio(ours: f64, theirs: f64) -> f64 {
    match (ours == 0.0, theirs == 0.0) {
        (true, true) => 1.0,
        (true, false) => RATIO_CAP,
        _ => theirs / ours,
    }
}

/// Smallest and largest ratio of the rounds that have both values: what one round could have told instead.
pub(crate) fn paired_spread(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<(f64, f64)> {
    let ratios: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .filter_map(|(ours, theirs)| Some(ratio((*ours)?, (*theirs)?)))
        .collect();
    min_max(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_takes_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 100.0]), Some(3.5));
    }

    #[test]
    fn quantile_is_the_nearest_rank() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.5), Some(50.0));
        assert_eq!(quantile(&hundred, 0.99), Some(99.0));
        assert_eq!(quantile(&hundred, 0.0), Some(1.0));
        assert_eq!(quantile(&hundred, 1.0), Some(100.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn quartiles_mirror_each_other() {
        let eight: Vec<f64> = (1..=8).rev().map(f64::from).collect();
        assert_eq!(
            (upper_quartile(&eight), lower_quartile(&eight)),
            (Some(6.0), Some(3.0))
        );
        assert_eq!(
            (upper_quartile(&[7.0]), lower_quartile(&[7.0])),
            (Some(7.0), Some(7.0))
        );
        assert_eq!((upper_quartile(&[]), lower_quartile(&[])), (None, None));
    }

    #[test]
    fn ratio_above_one_means_ours_is_better_and_zero_stays_finite() {
        assert_eq!(ratio(10.0, 40.0), 4.0);
        assert_eq!(ratio(40.0, 10.0), 0.25);
        assert_eq!(ratio(0.0, 0.0), 1.0);
        assert_eq!(ratio(0.0, 0.3), RATIO_CAP);
        assert_eq!(ratio(0.3, 0.0), 0.0);
    }

    #[test]
    fn spread_pairs_inside_a_round_and_skips_rounds_with_a_hole() {
        let ours = [Some(10.0), Some(20.0), None, Some(1.0)];
        let theirs = [Some(40.0), Some(40.0), Some(90.0), None];
        // Unpaired, the extremes would be 40/20 and 90/10.
        assert_eq!(paired_spread(&ours, &theirs), Some((2.0, 4.0)));
        assert_eq!(paired_spread(&[None], &[Some(1.0)]), None);
    }
}
