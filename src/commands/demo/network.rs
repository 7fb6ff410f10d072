//! The network: drawn from a seed, shaped like the social networks of LDBC SNB.
//!
//! Friendships follow a power law (few know very many) and prefer the same country; likes and tags follow Zipf's law. Everything is
//! plain vectors; the index in a vector is the id less one.

use super::names::{COMMENTS, POSTS, REGIONS, TAGS, TRADES};
use model::temporal::{Date, LocalDateTime};
use std::collections::{HashSet, VecDeque};
use world::chance::{Chance, PowerLaw, Zipf};

/// First day of the network, in days since 1970: 2021-01-01.
const FIRST_DAY: u64 = 18_628;
/// Days the network has lived: five years.
const DAYS: u64 = 1_826;
const DAY_SECONDS: u64 = 86_400;
/// Persons of at least this many friends, and at most [`ORDINARY_FRIENDS_MAX`], are ordinary.
const ORDINARY_FRIENDS_MIN: usize = 8;
const ORDINARY_FRIENDS_MAX: usize = 24;

/// An edge between two ids, and the day it began.
pub type Edge = (u32, u32, Date);

pub struct Person {
    pub first: &'static str,
    pub last: &'static str,
    pub language: &'static str,
    pub birthday: Date,
    pub joined: LocalDateTime,
    /// Its city.
    pub city: u32,
    /// University and year, employer and year.
    pub studied: Option<(u32, u32)>,
    pub works: Option<(u32, u32)>,
}

/// A city, a country or a continent.
pub struct Place {
    pub name: &'static str,
    pub label: &'static str,
    pub part_of: Option<u32>,
}

pub struct Organisation {
    pub name: String,
    pub label: &'static str,
    pub place: u32,
}

pub struct Forum {
    pub title: String,
    pub created: Date,
    pub moderator: u32,
    pub tag: u32,
}

/// A post in a forum, or a comment on another message.
pub struct Message {
    pub content: String,
    pub created: LocalDateTime,
    pub creator: u32,
    pub forum: Option<u32>,
    pub reply_of: Option<u32>,
    pub tag: u32,
}

/// Everything, by kind.
#[derive(Default)]
pub struct Network {
    pub persons: Vec<Person>,
    pub places: Vec<Place>,
    pub organisations: Vec<Organisation>,
    pub forums: Vec<Forum>,
    pub messages: Vec<Message>,
    pub knows: Vec<Edge>,
    pub members: Vec<Edge>,
    pub interests: Vec<(u32, u32)>,
    pub likes: Vec<Edge>,
    cities_by_region: Vec<Vec<u32>>,
}

impl Network {
    /// The network of this seed and size.
    pub fn make(seed: u64, people: u64) -> Network {
        let mut chance = Chance::seeded(seed);
        let mut network = Network::default();
        network.make_places();
        network.make_organisations();
        let regions = network.make_persons(people, &mut chance.fork());
        network.make_friendships(&regions, &mut chance.fork());
        network.make_forums(&mut chance.fork());
        network.make_messages(&mut chance.fork());
        network.make_likes(&mut chance.fork());
        network
    }

    fn make_places(&mut self) {
        let mut add = |name, label, part_of| {
            self.places.push(Place { name, label, part_of });
            self.places.len() as u32
        };
        let mut continents: Vec<(&str, u32)> = Vec::new();
        for region in REGIONS {
            let known = continents.iter().find(|(name, _)| *name == region.continent).map(|(_, id)| *id);
            let continent = known.unwrap_or_else(|| {
                let id = add(region.continent, "Continent", None);
                continents.push((region.continent, id));
                id
            });
            let country = add(region.country, "Country", Some(continent));
            let cities = region.cities.iter().map(|city| add(city, "City", Some(country))).collect();
            self.cities_by_region.push(cities);
        }
    }

    fn make_organisations(&mut self) {
        for (region, cities) in REGIONS.iter().zip(&self.cities_by_region) {
            for (at, city) in cities.iter().enumerate() {
                let name = format!("University of {}", region.cities[at]);
                self.organisations.push(Organisation { name, label: "University", place: *city });
                let trade = TRADES[(at * 3 + region.last.len() + *city as usize) % TRADES.len()];
                let name = format!("{} {trade}", region.last[(at * 7 + *city as usize) % region.last.len()]);
                self.organisations.push(Organisation { name, label: "Company", place: *city });
            }
        }
    }

    /// Returns the region of each person.
    fn make_persons(&mut self, people: u64, chance: &mut Chance) -> Vec<usize> {
        let popular = Zipf::new(REGIONS.len() as u64, 0.6);
        let mut regions = Vec::with_capacity(people as usize);
        for _ in 0..people {
            let at = popular.sample(chance) as usize;
            let region = &REGIONS[at];
            let cities = &self.cities_by_region[at];
            let city = cities[chance.index(cities.len())];
            let birthday = Date { days: chance.range(0..13_500) as i64 + 365 };
            let finished = 2 + 1970 + (birthday.days / 365) as u32 + 20;
            let organisations = self.organisations.len() as u64 / 2;
            let university = chance.below(organisations) as u32 * 2 + 1;
            let company = chance.below(organisations) as u32 * 2 + 2;
            self.persons.push(Person {
                first: region.first[chance.index(region.first.len())],
                last: region.last[chance.index(region.last.len())],
                language: region.language,
                birthday,
                joined: moment(chance, 0),
                city,
                studied: chance.happens(0.7).then_some((university, finished)),
                works: chance.happens(0.8).then_some((company, finished + chance.below(8) as u32)),
            });
            regions.push(at);
        }
        regions
    }

    /// Ends are drawn in proportion to a power law of wishes, three in five within the same region.
    fn make_friendships(&mut self, regions: &[usize], chance: &mut Chance) {
        let people = self.persons.len() as u64;
        let wishes = PowerLaw::new(4, (people / 6).max(8), 2.2);
        let mut everyone: Vec<u32> = Vec::new();
        let mut by_region: Vec<Vec<u32>> = vec![Vec::new(); REGIONS.len()];
        for (at, region) in regions.iter().enumerate() {
            let stubs = wishes.sample(chance) as usize;
            everyone.extend(std::iter::repeat_n(at as u32 + 1, stubs));
            by_region[*region].extend(std::iter::repeat_n(at as u32 + 1, stubs));
        }
        let mut seen = HashSet::new();
        for _ in 0..everyone.len() / 2 {
            let one = everyone[chance.index(everyone.len())];
            let near = &by_region[regions[one as usize - 1]];
            let pool = if chance.happens(0.6) { near } else { &everyone };
            let other = pool[chance.index(pool.len())];
            if one != other && seen.insert((one.min(other), one.max(other))) {
                self.knows.push((one, other, day(chance)));
            }
        }
    }

    fn make_forums(&mut self, chance: &mut Chance) {
        let people = self.persons.len() as u64;
        let (tags, sizes) = (Zipf::new(TAGS.len() as u64, 0.8), PowerLaw::new(5, (people / 5).max(6), 2.1));
        for number in 1..=(people as u32).div_ceil(10) {
            let tag = tags.sample(chance) as u32 + 1;
            let moderator = chance.below(people) as u32 + 1;
            let city = self.places[self.persons[moderator as usize - 1].city as usize - 1].name;
            let title = format!("{} in {city}", TAGS[tag as usize - 1]);
            let created = day(chance);
            self.forums.push(Forum { title, created, moderator, tag });
            let mut seen = HashSet::from([moderator]);
            self.members.push((number, moderator, created));
            for _ in 0..sizes.sample(chance) {
                let member = chance.below(people) as u32 + 1;
                if seen.insert(member) {
                    self.members.push((number, member, day(chance)));
                }
            }
        }
        for person in 1..=people as u32 {
            let mut seen = HashSet::new();
            for _ in 0..1 + chance.below(4) {
                let tag = tags.sample(chance) as u32 + 1;
                if seen.insert(tag) {
                    self.interests.push((person, tag));
                }
            }
        }
    }

    /// Three posts and six comments a person.
    fn make_messages(&mut self, chance: &mut Chance) {
        let posts = self.persons.len() * 3;
        for number in 0..posts * 3 {
            let (creator, created) = (chance.below(self.persons.len() as u64) as u32 + 1, moment(chance, 0));
            if number < posts {
                let at = self.members[chance.index(self.members.len())];
                let forum = &self.forums[at.0 as usize - 1];
                let city = self.places[self.persons[at.1 as usize - 1].city as usize - 1].name;
                let content = POSTS[chance.index(POSTS.len())];
                let content = content
                    .replace("{tag}", &TAGS[forum.tag as usize - 1].to_lowercase())
                    .replace("{city}", city);
                let (tag, forum) = (forum.tag, Some(at.0));
                self.messages.push(Message { content, created, creator: at.1, forum, reply_of: None, tag });
            } else {
                let to = chance.index(self.messages.len());
                let tag = self.messages[to].tag;
                let content = COMMENTS[chance.index(COMMENTS.len())].to_string();
                let reply_of = Some(to as u32 + 1);
                self.messages.push(Message { content, created, creator, forum: None, reply_of, tag });
            }
        }
    }

    fn make_likes(&mut self, chance: &mut Chance) {
        let (people, count) = (self.persons.len() as u64, self.messages.len() as u64);
        let popular = Zipf::new(count, 0.7);
        let mut seen = HashSet::new();
        for _ in 0..count * 3 / 2 {
            let (person, message) = (chance.below(people) as u32 + 1, popular.sample(chance) as u32 + 1);
            if seen.insert((person, message)) {
                self.likes.push((person, message, day(chance)));
            }
        }
    }

    /// Somebody ordinary, and somebody as far away as there is.
    pub fn protagonists(&self) -> (u32, u32) {
        let mut friends: Vec<Vec<u32>> = vec![Vec::new(); self.persons.len() + 1];
        for (one, other, _) in &self.knows {
            friends[*one as usize].push(*other);
            friends[*other as usize].push(*one);
        }
        let ordinary =
            |person: &usize| (ORDINARY_FRIENDS_MIN..=ORDINARY_FRIENDS_MAX).contains(&friends[*person].len());
        let start = (self.persons.len() / 3..=self.persons.len()).find(ordinary).unwrap_or(1);
        let mut distance = vec![u32::MAX; friends.len()];
        let mut queue = VecDeque::from([start]);
        distance[start] = 0;
        let mut farthest = start;
        while let Some(person) = queue.pop_front() {
            if distance[person] > distance[farthest] {
                farthest = person;
            }
            for friend in &friends[person] {
                if distance[*friend as usize] == u32::MAX {
                    distance[*friend as usize] = distance[person] + 1;
                    queue.push_back(*friend as usize);
                }
            }
        }
        (start as u32, farthest as u32)
    }
}

fn day(chance: &mut Chance) -> Date {
    Date { days: (FIRST_DAY + chance.below(DAYS)) as i64 }
}

fn moment(chance: &mut Chance, after_days: u64) -> LocalDateTime {
    let seconds = (FIRST_DAY + after_days + chance.below(DAYS - after_days)) * DAY_SECONDS;
    LocalDateTime { seconds: (seconds + chance.below(DAY_SECONDS)) as i64, nanos: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_network() {
        let (one, same, other) = (Network::make(1, 200), Network::make(1, 200), Network::make(2, 200));
        assert_eq!(one.knows, same.knows);
        assert_eq!(one.likes, same.likes);
        assert_ne!(one.knows, other.knows);
    }

    #[test]
    fn ids_exist_and_few_know_many() {
        for seed in 0..5 {
            let network = Network::make(seed, 1_000);
            let people = network.persons.len() as u32;
            let mut degrees = vec![0; people as usize + 1];
            for (one, other, _) in &network.knows {
                assert!((1..=people).contains(one) && (1..=people).contains(other) && one != other);
                degrees[*one as usize] += 1;
                degrees[*other as usize] += 1;
            }
            degrees.sort_unstable();
            assert!(degrees[1_000] > 5 * degrees[500].max(1), "seed {seed}: {}", degrees[1_000]);
            let messages = network.messages.len() as u32;
            assert!(network.likes.iter().all(|(_, message, _)| (1..=messages).contains(message)));
            let earlier =
                |(at, message): (usize, &Message)| message.reply_of.is_none_or(|to| to as usize <= at);
            assert!(network.messages.iter().enumerate().all(earlier));
            let (near, far) = network.protagonists();
            assert_ne!(near, far);
        }
    }
}
