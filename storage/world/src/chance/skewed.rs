//! Skewed draws, as graphs and their users make them: few things are very popular, most are not.

use super::Chance;

/// Ranks 0 to n - 1, rank r drawn in proportion to 1 / (r + 1)^exponent.
///
/// Rejection-inversion (Hörmann and Derflinger 1996): constant memory and, on average, fewer than two tries a draw, for any n.
#[derive(Clone, Debug)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// The distribution over `count` ranks.
    ///
    /// # Panics
    /// When there are no ranks, or the exponent is not a positive number.
    #[must_use]
    pub fn new(count: u64, exponent: f64) -> Self {
        assert!(count > 0 && exponent > 0.0, "a Zipf distribution needs ranks and a positive exponent");
        let count = count as f64;
        let mut zipf = Self { count, exponent, integral_first: 0.0, integral_last: 0.0, shortcut: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(count + 0.5);
        zipf.shortcut = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Draws a rank, 0 the most likely.
    pub fn sample(&self, chance: &mut Chance) -> u64 {
        loop {
            let area = self.integral_last + chance.float() * (self.integral_first - self.integral_last);
            let x = self.integral_inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.shortcut || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Integral of x^-exponent, up to a constant.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over_x((1.0 - self.exponent) * log) * log
    }

    fn integral_inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (ln1p_over_x(t) * area).exp()
    }
}

fn expm1_over_x(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

fn ln1p_over_x(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// Whole numbers from a least to a largest whose density falls as x^-exponent: the degrees of a social graph.
#[derive(Clone, Debug)]
pub struct PowerLaw {
    least: u64,
    largest: u64,
    exponent: f64,
}

impl PowerLaw {
    /// The distribution over `least..=largest`.
    ///
    /// # Panics
    /// When the bounds are not `0 < least <= largest`, or the exponent is not a positive number.
    #[must_use]
    pub fn new(least: u64, largest: u64, exponent: f64) -> Self {
        assert!(0 < least && least <= largest && exponent > 0.0, "a power law needs 0 < least <= largest");
        Self { least, largest, exponent }
    }

    /// Draws a number, by inverting the distribution function of the continuous law and rounding down.
    pub fn sample(&self, chance: &mut Chance) -> u64 {
        let (low, high, u) = (self.least as f64, self.largest as f64 + 1.0, chance.float());
        let power = 1.0 - self.exponent;
        let x = if power.abs() < 1e-9 {
            low * (high / low).powf(u)
        } else {
            (low.powf(power) + u * (high.powf(power) - low.powf(power))).powf(1.0 / power)
        };
        (x as u64).clamp(self.least, self.largest)
    }
}
