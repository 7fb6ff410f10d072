//! The social network that a run begins with.

use world::chance::Chance;

/// Who is whose friend at first.
pub struct Social {
    friends: Vec<Vec<u32>>,
}

impl Social {
    /// People with these friendships, both ways.
    pub fn new(people: u32, friendships: impl IntoIterator<Item = (u32, u32)>) -> Social {
        let mut friends = vec![Vec::new(); people as usize];
        for (one, other) in friendships.into_iter().filter(|(one, other)| one != other) {
            friends[one as usize].push(other);
            friends[other as usize].push(one);
        }
        for of_one in &mut friends {
            of_one.sort_unstable();
            of_one.dedup();
        }
        Social { friends }
    }
    /// People with `degree` friends on average, by chance (as the random graphs of figure 5.1).
    pub fn random(people: u32, degree: u32, seed: u64) -> Social {
        let mut chance = Chance::seeded(seed);
        let mut one = || chance.below(u64::from(people)) as u32;
        let friendships: Vec<(u32, u32)> =
            (0..u64::from(people) * u64::from(degree) / 2).map(|_| (one(), one())).collect();
        Social::new(people, friendships)
    }
    /// How many there are.
    pub fn people(&self) -> u32 {
        self.friends.len() as u32
    }
    /// The friends of a person, ascending.
    pub fn friends(&self, person: u32) -> &[u32] {
        self.friends.get(person as usize).map_or(&[], Vec::as_slice)
    }
}
