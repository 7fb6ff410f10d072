//! Sums of floats beside sums of whole numbers with as many digits as it takes.

mod random;

use random::Random;
use tanglewood_model::ExactSum;

/// Digits of 32 bits, the least first, in units of the least float: 2^-1074. They carry when the sum is read.
struct Digits(Vec<i128>);

const DIGITS: usize = 70;

impl Digits {
    fn new() -> Digits {
        Digits(vec![0; DIGITS])
    }

    /// Adds `whole` times 2 to the power of `shift`.
    fn add_shifted(&mut self, whole: i128, shift: usize) {
        let sign = whole.signum();
        let mut rest = whole.unsigned_abs();
        let mut place = shift;
        while rest > 0 {
            // Within one digit, as many bits as it has left.
            let room = 32 - place % 32;
            let part = rest & ((1 << room) - 1);
            self.0[place / 32] += sign * ((part << (place % 32)) as i128);
            rest >>= room;
            place += room;
        }
    }

    fn add(&mut self, float: f64, times: i128) {
        let bits = float.to_bits();
        let exponent = (bits >> 52 & 0x7FF) as usize;
        let fraction = (bits & ((1 << 52) - 1)) as i128;
        let (whole, shift) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        self.add_shifted(if float.is_sign_negative() { -whole } else { whole } * times, shift);
    }

    /// The nearest float, ties to even.
    fn value(&self) -> f64 {
        let mut digits = self.0.clone();
        let carry = |digits: &mut Vec<i128>| {
            for at in 0..DIGITS - 1 {
                let over = digits[at].div_euclid(1 << 32);
                digits[at] -= over << 32;
                digits[at + 1] += over;
            }
        };
        carry(&mut digits);
        let negative = digits[DIGITS - 1] < 0;
        if negative {
            digits.iter_mut().for_each(|digit| *digit = -*digit);
            carry(&mut digits);
        }
        let bit = |at: usize| digits[at / 32] >> (at % 32) & 1;
        let Some(top) = (0..DIGITS * 32).rev().find(|at| bit(*at) == 1) else { return 0.0 };
        // 53 bits from the top are kept; what is below is less than a half, more, or just that.
        let low = top.saturating_sub(52);
        let mut kept = (low..=top).rev().fold(0u64, |kept, at| kept << 1 | bit(at) as u64);
        let half = low > 0 && bit(low - 1) == 1;
        let more = low > 1 && (0..low - 1).any(|at| bit(at) == 1);
        if half && (more || kept & 1 == 1) {
            kept += 1;
        }
        // The leading one of 53 bits counts as one more in the exponent, and so does a carry beyond it.
        let bits = ((low as u64) << 52) + kept;
        let size = f64::from_bits(bits.min(f64::INFINITY.to_bits()));
        if negative { -size } else { size }
    }
}

fn float(random: &mut Random) -> f64 {
    let fraction = random.next() & ((1 << 52) - 1);
    // Some have few bits, so that sums are ties; and some are at the ends of the range.
    let fraction = if random.below(2) == 0 { fraction } else { fraction >> 45 << 45 };
    let exponent = match random.below(6) {
        0 => 2_046,
        1 => 2_040 + random.below(7),
        2 => random.below(3),
        3 => 1_900 + random.below(140),
        _ => 1_000 + random.below(120),
    };
    f64::from_bits(random.below(2) << 63 | exponent << 52 | fraction)
}

fn check(sum: &ExactSum, digits: &Digits, round: u64) {
    let (found, wanted) = (sum.value(), digits.value());
    assert!(found == wanted, "round {round}: {found:e} for {wanted:e}");
}

#[test]
fn a_sum_of_any_floats_is_rounded_once() {
    let mut random = Random(5);
    let (mut infinite, mut finite) = (0, 0);
    for round in 0..4_000 {
        let (mut sum, mut digits) = (ExactSum::default(), Digits::new());
        let mut all: Vec<f64> = Vec::new();
        for _ in 0..1 + random.below(9) {
            let float = match random.below(4) {
                0 if !all.is_empty() => -all[random.below(all.len() as u64) as usize],
                1 => f64::MAX,
                _ => float(&mut random),
            };
            all.push(float);
            sum.add(float);
            digits.add(float, 1);
            check(&sum, &digits, round);
        }
        let found = ExactSum::of(all.iter().copied());
        assert!(found == digits.value(), "round {round}: {found:e}");
        // In two parts, in another order.
        let (mut one, mut other) = (ExactSum::default(), ExactSum::default());
        all.iter()
            .rev()
            .enumerate()
            .for_each(|(at, float)| if at % 2 == 0 { &mut one } else { &mut other }.add(*float));
        one.merge(&other);
        check(&one, &digits, round);
        if found.is_finite() { finite += 1 } else { infinite += 1 }
    }
    assert!(infinite > 300 && finite > 300, "{infinite} are too large, {finite} are not");
}

#[test]
fn so_many_times_is_as_often_added() {
    let mut random = Random(6);
    for round in 0..400 {
        let (mut sum, mut digits) = (ExactSum::default(), Digits::new());
        for _ in 0..3 {
            let float = float(&mut random);
            let size = float.abs();
            // What is too large is counted in units, and in no more of them than 64 bits.
            let most = if size < 1e250 { u64::MAX } else { 1 << 60 };
            let times =
                [0, 1, random.below(40), random.next() % most, random.next() << 32][random.below(5) as usize];
            let times = times.min(most);
            sum.add_times(float, times);
            digits.add(float, i128::from(times));
            check(&sum, &digits, round);
        }
    }
    for (float, times) in
        [(f64::MAX, 1 << 40 | 3), (1e-320, 1 << 62 | 5), (-f64::MAX, 1 << 60), (1e308, 65_537)]
    {
        let (mut sum, mut digits) = (ExactSum::default(), Digits::new());
        sum.add_times(float, times);
        digits.add(float, i128::from(times));
        check(&sum, &digits, times);
        sum.add_times(-float, times);
        assert_eq!(sum.value(), 0.0);
    }
    // What is too large for a float comes back exactly, taken away one by one.
    for round in 0..200 {
        let fraction = random.next() & ((1 << 52) - 1);
        let float = [f64::MAX, f64::from_bits(2_046 << 52 | fraction)][random.below(2) as usize];
        let times = 2 + random.below(300);
        let mut sum = ExactSum::default();
        sum.add(1.0);
        sum.add_times(float, times);
        assert_eq!(sum.value(), f64::INFINITY);
        (0..times).for_each(|_| sum.add(-float));
        assert_eq!(sum.value(), 1.0, "round {round}: {float:e}, {times} times");
    }
    for float in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let mut sum = ExactSum::default();
        sum.add_times(float, 0);
        assert_eq!(sum.value(), 0.0);
        sum.add_times(float, 3 << 32 | 2);
        assert_eq!(sum.value().to_bits(), float.to_bits());
        sum.add(1.0);
        assert_eq!(sum.value().to_bits(), float.to_bits());
    }
    let mut sum = ExactSum::default();
    sum.add(f64::INFINITY);
    let mut other = ExactSum::default();
    other.add(f64::NEG_INFINITY);
    sum.merge(&other);
    assert!(sum.value().is_nan());
}

#[test]
fn whole_numbers_of_any_size_are_not_rounded_first() {
    let mut random = Random(7);
    for round in 0..2_000 {
        let (mut sum, mut digits) = (ExactSum::default(), Digits::new());
        for _ in 0..4 {
            let wide = i128::from(random.next() as i64) << random.below(60);
            let integer = [wide, wide + 1, -wide, i128::from(i64::MAX)][random.below(4) as usize];
            sum.add_integer(integer);
            digits.add_shifted(integer, 1_074);
            check(&sum, &digits, round);
        }
    }
}

#[test]
fn sums_with_infinities_are_those_of_adding_one_by_one() {
    let mut random = Random(13);
    for _ in 0..2_000 {
        let pick = |random: &mut Random| match random.below(8) {
            0 => f64::INFINITY,
            1 => f64::NEG_INFINITY,
            2 => f64::NAN,
            _ => random.below(1_000) as f64 - 500.0,
        };
        let floats: Vec<f64> = (0..1 + random.below(6)).map(|_| pick(&mut random)).collect();
        // Small whole numbers add up without rounding.
        let naive: f64 = floats.iter().sum();
        let mut sum = ExactSum::default();
        floats.iter().for_each(|float| sum.add(*float));
        let exact = sum.value();
        assert!(exact == naive || exact.is_nan() && naive.is_nan(), "{floats:?}: {exact} for {naive}");
        let mut parts = ExactSum::default();
        for half in floats.chunks(2) {
            let mut part = ExactSum::default();
            half.iter().for_each(|float| part.add(*float));
            parts.merge(&part);
        }
        let merged = parts.value();
        assert!(merged == naive || merged.is_nan() && naive.is_nan(), "{floats:?}: {merged} for {naive}");
    }
}

#[test]
fn the_sign_of_zero_is_that_of_a_sum() {
    let sign = |floats: &[f64]| {
        let one = ExactSum::of(floats.iter().copied());
        // The same in parts, one of them empty.
        let (mut left, mut right) = (ExactSum::default(), ExactSum::default());
        floats.iter().for_each(|float| right.add(*float));
        left.merge(&right);
        left.merge(&ExactSum::default());
        assert_eq!(
            (one, one.is_sign_negative()),
            (left.value(), left.value().is_sign_negative()),
            "{floats:?}"
        );
        (one == 0.0).then(|| one.is_sign_negative())
    };
    assert_eq!(sign(&[]), Some(false));
    assert_eq!(sign(&[-0.0]), Some(true));
    assert_eq!(sign(&[-0.0, -0.0]), Some(true));
    assert_eq!(sign(&[-0.0, 0.0]), Some(false));
    assert_eq!(sign(&[0.0]), Some(false));
    assert_eq!(sign(&[1.0, -1.0]), Some(false));
    assert_eq!(sign(&[-0.1, 0.3, -0.2]), None);
    assert_eq!(sign(&[1e300, -0.0, -1e300, 1e-300, -1e-300]), Some(false));
}
