use std::collections::BTreeSet;

use super::*;

/// From the reference implementation: SplitMix64 from 0 gives the state, xoshiro256** the draws.
#[test]
fn draws_are_those_of_the_published_generator() {
    let mut position = 0;
    assert_eq!(split_mix(&mut position), 0xE220_A839_7B1D_CDAF);
    assert_eq!(split_mix(&mut position), 0x6E78_9E6A_A1B9_65F4);
    let mut chance = Chance { state: [1, 2, 3, 4] };
    let draws: Vec<u64> = (0..5).map(|_| chance.next_u64()).collect();
    assert_eq!(draws, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360]);
}

#[test]
fn the_same_seed_draws_the_same() {
    let draw = |seed| Chance::seeded(seed).bytes(33);
    assert_eq!((draw(1) == draw(1), draw(1) == draw(2)), (true, false));
    assert_ne!(Chance::system_seed(), Chance::system_seed());
}

#[test]
fn bounded_draws_are_even() {
    let mut chance = Chance::seeded(1);
    let mut counts = [0u32; 6];
    for _ in 0..60_000 {
        counts[chance.index(6)] += 1;
    }
    assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    assert!((0..1000).all(|_| (5..8).contains(&chance.range(5..8))));
    assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.float())));
    assert_eq!((chance.below(1), chance.happens(0.0), chance.happens(1.0)), (0, false, true));
}

#[test]
fn shuffling_keeps_everything_and_moves_most() {
    let mut items: Vec<u32> = (0..100).collect();
    let mut chance = Chance::seeded(2);
    chance.shuffle(&mut items);
    assert!(items.iter().enumerate().filter(|&(at, &item)| at == item as usize).count() < 10);
    items.sort_unstable();
    assert!(items.iter().copied().eq(0..100));
    assert!(chance.choose(&items).is_some() && chance.choose::<u8>(&[]).is_none());
}

/// The obvious twin: the weights, added up.
#[test]
fn zipf_draws_follow_the_weights() {
    for exponent in [0.5, 1.0, 1.5, 3.0] {
        let zipf = Zipf::new(20, exponent);
        let mut chance = Chance::seeded(3);
        let mut counts = [0u32; 20];
        for _ in 0..100_000 {
            counts[usize::try_from(zipf.sample(&mut chance)).unwrap()] += 1;
        }
        let weights: Vec<f64> = (1..=20).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        for (rank, (&count, weight)) in counts.iter().zip(&weights).enumerate() {
            let expected = 100_000.0 * weight / sum;
            let allowed = 5.0 * expected.sqrt() + 5.0;
            assert!((f64::from(count) - expected).abs() < allowed, "{exponent} {rank}: {count} {expected}");
        }
    }
    assert_eq!(Zipf::new(1, 1.0).sample(&mut Chance::seeded(4)), 0);
}

#[test]
fn power_law_draws_stay_inside_and_fall_off() {
    let (law, mut chance) = (PowerLaw::new(2, 1000, 2.0), Chance::seeded(5));
    let draws: Vec<u64> = (0..50_000).map(|_| law.sample(&mut chance)).collect();
    assert!(draws.iter().all(|draw| (2..=1000).contains(draw)));
    // The law's tail above x holds about 2 / x of the draws.
    let above = |x: u64| draws.iter().filter(|&&draw| draw >= x).count();
    assert!((24_000..26_000).contains(&above(4)), "{}", above(4));
    assert!((2_200..2_800).contains(&above(40)), "{}", above(40));
}

/// Every value of a range comes, and none beside it; nothing of what is drawn from is lost.
#[test]
fn draws_cover_their_range_and_nothing_else() {
    let mut chance = Chance::seeded(23);
    for (start, end) in [(0, 1), (0, 7), (5, 6), (40, 53), (u64::MAX - 9, u64::MAX)] {
        let drawn: BTreeSet<u64> = (0..400).map(|_| chance.range(start..end)).collect();
        assert_eq!(drawn, (start..end).collect());
        let indexes: BTreeSet<usize> = (0..400).map(|_| chance.index(9)).collect();
        assert_eq!(indexes, (0..9).collect());
    }
    for length in [0, 1, 7, 8, 9, 64, 1_001] {
        let bytes = chance.bytes(length);
        assert_eq!(bytes.len(), length);
        assert!(length < 64 || bytes.chunks(16).any(|chunk| chunk != [0; 16]), "they are drawn");
    }
    let distinct: BTreeSet<Vec<u8>> = (0..100).map(|_| chance.bytes(9)).collect();
    assert_eq!(distinct.len(), 100);
    let letters = ['a', 'b', 'c'];
    let chosen: BTreeSet<char> = (0..100).filter_map(|_| chance.choose(&letters).copied()).collect();
    assert_eq!(chosen, letters.into());
    assert_eq!(chance.choose::<u8>(&[]), None);
    let floats: Vec<f64> = (0..2_000).map(|_| chance.float()).collect();
    assert!(floats.iter().all(|float| (0.0..1.0).contains(float)));
    let mean = floats.iter().sum::<f64>() / 2_000.0;
    assert!((mean - 0.5).abs() < 0.05 && floats.iter().any(|float| *float > 0.99), "{mean}");
    for (probability, least, most) in [(0.0, 0, 0), (0.25, 350, 650), (1.0, 2_000, 2_000)] {
        let happened = (0..2_000).filter(|_| chance.happens(probability)).count();
        assert!((least..=most).contains(&happened), "{happened} of 2,000 with {probability}");
    }
    let (mut one, mut other) = (chance.fork(), chance.fork());
    assert_ne!((one.next_u64(), one.next_u64()), (other.next_u64(), other.next_u64()));
}
