//! A sum of floats that is exact, and so the same in whatever order they come (Shewchuk 1997, "Adaptive precision floating-point
//! arithmetic"): the running sum is kept as a few floats that do not overlap, and rounded once at the end.

/// The exact sum of floats. Infinities and NaN are summed beside, as IEEE 754 would.
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    /// Parts in rising magnitude whose bits do not overlap; their exact sum is the sum.
    parts: Vec<f64>,
    not_finite: Option<f64>,
}

impl ExactSum {
    /// The rounded sum of these.
    pub fn of(floats: impl Iterator<Item = f64>) -> f64 {
        let mut sum = ExactSum::default();
        floats.for_each(|float| sum.add(float));
        sum.value()
    }

    /// Adds one.
    pub fn add(&mut self, float: f64) {
        if !float.is_finite() {
            self.not_finite = Some(self.not_finite.unwrap_or(0.0) + float);
            return;
        }
        let mut carry = float;
        let mut kept = 0;
        for at in 0..self.parts.len() {
            let (high, low) = two_sum(carry, self.parts[at]);
            if low != 0.0 {
                self.parts[kept] = low;
                kept += 1;
            }
            carry = high;
        }
        self.parts.truncate(kept);
        if carry.is_finite() {
            self.parts.push(carry);
        } else {
            self.not_finite = Some(self.not_finite.unwrap_or(0.0) + carry);
        }
    }

    /// Adds an integer of any size without rounding it first.
    pub fn add_integer(&mut self, integer: i128) {
        let mut rest = integer;
        while rest != 0 {
            let float = rest as f64;
            self.add(float);
            rest -= float as i128;
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        other.parts.iter().chain(&other.not_finite).for_each(|part| self.add(*part));
    }

    /// The sum, rounded once, to the nearest float, ties to even.
    pub fn value(&self) -> f64 {
        if let Some(float) = self.not_finite {
            return float;
        }
        let mut parts = self.parts.iter().rev().copied();
        let Some(mut high) = parts.next() else {
            return 0.0;
        };
        let mut low = 0.0;
        for part in parts.by_ref() {
            (high, low) = two_sum(high, part);
            if low != 0.0 {
                break;
            }
        }
        // A tie that was rounded to even must go the way of the parts still unseen.
        let next = parts.next().unwrap_or(0.0);
        if low * next > 0.0 {
            let doubled = low * 2.0;
            let rounded = high + doubled;
            if rounded - high == doubled {
                high = rounded;
            }
        }
        high
    }
}

/// The rounded sum of two floats and its exact error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let (a, b) = if a.abs() < b.abs() { (b, a) } else { (a, b) };
    let high = a + b;
    (high, b - (high - a))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use world::chance::Chance;

    #[test]
    fn tenths_sum_to_one() {
        assert_eq!(ExactSum::of(std::iter::repeat_n(0.1, 10)), 1.0);
        assert_eq!(ExactSum::of([1e308, 1.0, -1e308].into_iter()), 1.0);
        assert!(ExactSum::of([f64::INFINITY, f64::NEG_INFINITY].into_iter()).is_nan());
    }

    #[test]
    fn order_and_split_do_not_matter() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for _ in 0..200 {
            let mut floats: Vec<f64> =
                (0..50).map(|_| (chance.float() - 0.5) * 10f64.powi(chance.below(40) as i32 - 20)).collect();
            let sum = ExactSum::of(floats.iter().copied());
            chance.shuffle(&mut floats);
            let (left, right) = floats.split_at(chance.index(50));
            let mut merged = ExactSum::default();
            left.iter().for_each(|float| merged.add(*float));
            let mut other = ExactSum::default();
            right.iter().for_each(|float| other.add(*float));
            merged.merge(&other);
            assert_eq!(merged.value(), sum);
        }
    }
}
