//! A sum of floats that is exact, and so the same in whatever order they come (Shewchuk 1997, "Adaptive precision floating-point
//! arithmetic"): the running sum is kept as a few floats that do not overlap, and rounded once at the end. What is too large for a float on
//! the way is counted in units beside them, so only where the sum itself rounds to more than the largest float is it infinite: a float that
//! was added leaves no trace once its negative is added, too.
//!
//! The first two of those floats are a running sum and the running sum of its errors. Of ordinary numbers the errors' own error is nothing
//! (they have few digits, all alike), so most floats are added in a dozen operations without a branch that is not foreseen; what is left
//! over goes into the other parts.

/// Half of the least power of two that is no float.
const UNIT: f64 = f64::from_bits(0x7FE0_0000_0000_0000);
/// With more units the sum is too large whatever the parts are: these make less than three.
const UNITS_MAX: u64 = 5;

/// By this power of two numbers that are too large become small enough to be doubled 63 times.
const SMALLER: f64 = f64::from_bits((1023 - 512) << 52);

/// Products above this have an error that is a float, too.
const EXACT_PRODUCT_MIN: f64 = 1e-280;

/// The exact sum of floats. Infinities and NaN are summed beside, as IEEE 754 would.
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// The running sum, and that of its errors; both [`NOTHING`] where nothing came since the last time they were put into the parts.
    high: f64,
    low: f64,
    /// Parts in rising magnitude whose bits do not overlap; their exact sum and that of the two above is the sum.
    parts: Vec<f64>,
    /// So many times [`UNIT`] is to be added to them.
    units: i64,
    not_finite: Option<f64>,
}

/// Adding it changes no float, not even a zero.
const NOTHING: f64 = -0.0;

impl Default for ExactSum {
    fn default() -> ExactSum {
        ExactSum { high: NOTHING, low: NOTHING, parts: Vec::new(), units: 0, not_finite: None }
    }
}

impl ExactSum {
    /// The rounded sum of these.
    pub fn of(floats: impl Iterator<Item = f64>) -> f64 {
        let mut sum = ExactSum::default();
        floats.for_each(|float| sum.add(float));
        sum.value()
    }

    /// Adds one.
    #[inline]
    pub fn add(&mut self, float: f64) {
        let (high, error) = any_two_sum(self.high, float);
        let (low, rest) = any_two_sum(self.low, error);
        // Neither where something is too large: then it is NaN.
        if rest == 0.0 {
            (self.high, self.low) = (high, low);
        } else {
            self.add_rest(float, high, low, rest);
        }
    }

    #[cold]
    fn add_rest(&mut self, float: f64, high: f64, low: f64, rest: f64) {
        if rest.is_finite() {
            (self.high, self.low) = (high, low);
            self.grow(rest);
        } else if float.is_finite() {
            self.gather();
            self.grow(float);
        } else {
            self.not_finite = Some(self.not_finite.unwrap_or(0.0) + float);
        }
    }

    /// Puts the running sum into the parts.
    fn gather(&mut self) {
        let (high, low) = (self.high, self.low);
        (self.high, self.low) = (NOTHING, NOTHING);
        // An error is never a negative zero, so where one came the sum of errors is none either.
        if low != 0.0 || low.is_sign_positive() {
            self.grow(high);
        }
        if low != 0.0 {
            self.grow(low);
        }
    }

    /// The same sum, all of it in its parts.
    fn gathered(&self) -> ExactSum {
        let mut whole = self.clone();
        whole.gather();
        whole
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.parts.capacity() * size_of::<f64>()
    }

    /// Adds `float` `times` times.
    pub fn add_times(&mut self, float: f64, times: u64) {
        // Both halves of the number are floats exactly, and so are a product's rounded value and its error.
        for part in [times & 0xFFFF_FFFF, times & !0xFFFF_FFFF] {
            let high = float * part as f64;
            if part == 0 {
                continue;
            } else if high.is_finite() && high.abs() > EXACT_PRODUCT_MIN {
                self.add(high);
                self.add(float.mul_add(part as f64, -high));
            } else if float == 0.0 || !float.is_finite() {
                self.add(float);
            } else {
                // Too large, or so small that the error of the product would be no float.
                (0..u64::BITS)
                    .filter(|bit| part >> bit & 1 == 1)
                    .for_each(|bit| self.add_doubled(float, bit));
            }
        }
    }

    /// Adds a finite float times two to the power of `times`: as units and a remainder, if that is too large for a float.
    fn add_doubled(&mut self, float: f64, times: u32) {
        let doubled = float * (1_u64 << times) as f64;
        if doubled.is_finite() {
            return self.add(doubled);
        }
        // Smaller by a power of two, all of it is exact.
        let unit = UNIT * SMALLER;
        let small = float * SMALLER * (1_u64 << times) as f64;
        let units = (small / unit).trunc();
        self.units = self.units.saturating_add(units as i64);
        self.add((small - units * unit) / SMALLER);
    }

    fn grow(&mut self, float: f64) {
        let mut carry = float;
        let mut kept = 0;
        for at in 0..self.parts.len() {
            let (a, b) = self.within(carry, self.parts[at]);
            let (high, low) = two_sum(a, b);
            if low != 0.0 {
                self.parts[kept] = low;
                kept += 1;
            }
            carry = high;
        }
        self.parts.truncate(kept);
        self.parts.push(carry);
    }

    /// These two, less as many units as make their sum a float. Exact: the larger of two whose sum is too large is within twice a unit.
    fn within(&mut self, mut a: f64, mut b: f64) -> (f64, f64) {
        while !(a + b).is_finite() {
            if a.abs() < b.abs() {
                (a, b) = (b, a);
            }
            self.units += a.signum() as i64;
            a -= UNIT.copysign(a);
        }
        (a, b)
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

    /// A running sum that was kept elsewhere.
    pub fn of_running(running: RunningSum) -> ExactSum {
        ExactSum { high: running.high, low: running.low, ..ExactSum::default() }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        let other = other.gathered();
        other.parts.iter().chain(&other.not_finite).for_each(|part| self.add(*part));
        self.units += other.units;
    }

    /// The sum, rounded once, to the nearest float, ties to even.
    pub fn value(&self) -> f64 {
        if let Some(float) = self.not_finite {
            return float;
        }
        if self.parts.is_empty() && self.units == 0 {
            // Two floats are rounded once by an addition. A zero may stand for nothing, and what is too large may be less with its errors.
            let sum = self.high + self.low;
            if sum != 0.0 && sum.is_finite() {
                return sum;
            }
        }
        let whole = self.gathered();
        if whole.units == 0 { whole.rounded() } else { whole.with_units() }
    }

    /// The sum where there are units.
    fn with_units(&self) -> f64 {
        let sign = self.units.signum() as f64;
        if self.units.unsigned_abs() > UNITS_MAX {
            return f64::INFINITY * sign;
        }
        let mut whole = ExactSum { units: 0, ..self.clone() };
        (0..self.units.unsigned_abs()).for_each(|_| whole.grow(UNIT * sign));
        if whole.units == 0 {
            return whole.rounded();
        }
        // It is about the largest float, or beyond. A quarter of it is one; of parts below one the sign of the first is enough.
        let mut quarter = ExactSum::default();
        let (least, others): (Vec<f64>, Vec<f64>) = whole.parts.iter().partition(|part| part.abs() < 1.0);
        let least = least.iter().rfind(|part| **part != 0.0).map(|part| 0.5_f64.copysign(*part));
        others.into_iter().chain(least).for_each(|part| quarter.grow(part / 4.0));
        quarter.grow(whole.units as f64 * (UNIT / 4.0));
        quarter.rounded() * 4.0
    }

    /// The parts, rounded once.
    fn rounded(&self) -> f64 {
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
        // Their product may be too small for a float.
        if low != 0.0 && next != 0.0 && low.is_sign_negative() == next.is_sign_negative() {
            let doubled = low * 2.0;
            let rounded = high + doubled;
            if rounded - high == doubled {
                high = rounded;
            }
        }
        high
    }
}

/// The part of an exact sum that ordinary numbers need: a running sum, and that of its errors.
#[derive(Clone, Copy, Debug)]
pub struct RunningSum {
    high: f64,
    low: f64,
}

impl Default for RunningSum {
    fn default() -> RunningSum {
        RunningSum { high: NOTHING, low: NOTHING }
    }
}

impl RunningSum {
    /// Adds one; false, and nothing is added, where the sum would not be exact any more.
    #[inline]
    pub fn add(&mut self, float: f64) -> bool {
        let (high, error) = any_two_sum(self.high, float);
        let (low, rest) = any_two_sum(self.low, error);
        let is_exact = rest == 0.0;
        if is_exact {
            (self.high, self.low) = (high, low);
        }
        is_exact
    }
    /// Adds another; false, and nothing is added, where the sum would not be exact any more.
    pub fn merge(&mut self, other: RunningSum) -> bool {
        let mut both = *self;
        // A zero among the errors is none, but would take the sign from a negative zero.
        let is_exact = both.add(other.high) && (other.low == 0.0 || both.add(other.low));
        if is_exact {
            *self = both;
        }
        is_exact
    }
}

/// The rounded sum of two floats and its exact error, without asking which is larger (Knuth, The Art of Computer Programming 2, 4.2.2); the
/// error is NaN where the sum is too large.
#[inline]
fn any_two_sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    let of_b = high - a;
    let of_a = high - of_b;
    (high, (a - of_a) + (b - of_b))
}

/// The rounded sum of two floats and its exact error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let (a, b) = if a.abs() < b.abs() { (b, a) } else { (a, b) };
    let high = a + b;
    (high, b - (high - a))
}
