//! A social network of any size from a seed, in the shape of LDBC's Social Network Benchmark: its files, its columns, its proportions.
//!
//! Degrees fall as a power; a message is written by a member of the forum it lies in, a reply comes after what it answers, likes and
//! friends come after both ends. [`SF1`] has the counts of the benchmark's scale factor 1: 3.2 M vertices, 17.3 M edges. Nothing of the
//! benchmark's own dictionaries is used: names, texts and tags are made of a word list. Rows are written as they are drawn, so that
//! memory is a few numbers a message.

mod files;
mod words;

use files::Table;
use std::collections::HashSet;
use std::path::Path;
use words::Words;
use world::chance::{Chance, PowerLaw, Zipf};
use world::disk::DiskError;

/// Counts of vertices, average degrees, and the seed. Averages are edges per vertex of the left kind.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// People.
    pub persons: u64,
    /// Places where messages are posted.
    pub forums: u64,
    /// Messages that begin a thread.
    pub posts: u64,
    /// Messages that answer.
    pub comments: u64,
    /// Subjects.
    pub tags: u64,
    /// Kinds of subjects, a tree.
    pub tag_classes: u64,
    /// Cities and the countries above them.
    pub places: u64,
    /// Universities and companies.
    pub organisations: u64,
    /// Friendships for each person, each counted once.
    pub knows: f64,
    /// Members of each forum.
    pub members: f64,
    /// Likes for each message.
    pub likes: f64,
    /// The seed of the draws.
    pub seed: u64,
}

/// The counts of scale factor 1.
pub const SF1: Shape = Shape {
    persons: 9_892,
    forums: 90_492,
    posts: 1_003_605,
    comments: 2_052_169,
    tags: 16_080,
    tag_classes: 71,
    places: 1_460,
    organisations: 7_955,
    knows: 18.26,
    members: 17.81,
    likes: 0.7167,
    seed: 20_261_122,
};

/// Subjects of a person, a forum, a post, a comment, on average, as the benchmark has them.
const TAGS_OF: [f64; 4] = [23.17, 3.42, 0.7107, 1.3149];
/// Countries among the places; the others are cities.
const COUNTRIES: u64 = 111;
/// Studies and jobs of a person.
const STUDIES: f64 = 0.8036;
const JOBS: f64 = 2.189;
/// Milliseconds at which the network begins, and how long it goes on: three years from 2010 on.
const BEGIN_MS: u64 = 1_262_304_000_000;
const LENGTH_MS: u64 = 94_608_000_000;
/// Ids are a number within a part of the time, with the part in the bits above: as the benchmark's are.
const ID_PART_BITS: u32 = 36;
const ID_PARTS: u64 = 32;

/// Counts of the generated rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows of vertex files.
    pub vertices: u64,
    /// Rows of edge files.
    pub edges: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Writes the network's files into `folder`, which must exist.
///
/// # Errors
/// The disk is full, or the folder cannot be written.
pub fn write(shape: &Shape, folder: &Path) -> Result<Counts, DiskError> {
    let mut network = Network {
        shape: *shape,
        folder,
        chance: Chance::seeded(shape.seed),
        words: Words::new(),
        counts: Counts::default(),
        person_of_rank: Zipf::new(shape.persons, 0.7),
        tag_of_rank: Zipf::new(shape.tags, 0.9),
        person_ms: Vec::new(),
        forum_ms: Vec::new(),
        members: Vec::new(),
    };
    network.static_part()?;
    network.persons()?;
    network.friendships()?;
    network.forums()?;
    network.messages()?;
    Ok(network.counts)
}

struct Network<'a> {
    shape: Shape,
    folder: &'a Path,
    chance: Chance,
    words: Words,
    counts: Counts,
    person_of_rank: Zipf,
    tag_of_rank: Zipf,
    /// When each person and forum came.
    person_ms: Vec<u64>,
    forum_ms: Vec<u64>,
    /// Persons, by forum.
    members: Vec<Vec<u32>>,
}

/// The id of the `number`th of something that came at this time.
fn id(number: u64, ms: u64) -> u64 {
    let part = (ms - BEGIN_MS) * ID_PARTS / (LENGTH_MS + 1);
    part.min(ID_PARTS - 1) << ID_PART_BITS | number
}

/// A message that was written.
#[derive(Clone, Copy)]
struct Message {
    forum: u32,
    ms: u64,
}

impl Network<'_> {
    fn vertices(&self, name: &str, columns: &str) -> Result<Table, DiskError> {
        Table::create(self.folder, name, columns)
    }
    fn edges(&self, source: &str, relation: &str, target: &str, columns: &str) -> Result<Table, DiskError> {
        let name = format!("{source}_{relation}_{target}");
        Table::create(self.folder, &name, &format!("{}|{}{columns}", capital(source), capital(target)))
    }
    fn done_vertices(&mut self, table: Table) -> Result<(), DiskError> {
        let (rows, bytes) = table.finish()?;
        self.counts.vertices += rows;
        self.counts.bytes += bytes;
        Ok(())
    }
    fn done_edges(&mut self, table: Table) -> Result<(), DiskError> {
        let (rows, bytes) = table.finish()?;
        self.counts.edges += rows;
        self.counts.bytes += bytes;
        Ok(())
    }
    /// A whole number with this average: its floor, or one more.
    fn about(&mut self, average: f64) -> u64 {
        average as u64 + u64::from(self.chance.happens(average.fract()))
    }
    /// A time after `since`, early more often than late.
    fn later(&mut self, since: u64) -> u64 {
        let left = BEGIN_MS + LENGTH_MS - since;
        since + (left as f64 * self.chance.float().powi(3)) as u64
    }
    /// A well-known person more often than others; ranks are spread over the numbers.
    fn person(&mut self) -> u32 {
        let rank = self.person_of_rank.sample(&mut self.chance);
        (rank.wrapping_mul(2_654_435_761) % self.shape.persons) as u32
    }
    fn person_id(&self, person: u32) -> u64 {
        id(u64::from(person), self.person_ms[person as usize])
    }
    fn forum_id(&self, forum: usize) -> u64 {
        id(forum as u64, self.forum_ms[forum])
    }
    /// Distinct tags, `average` of them on average.
    fn tags(&mut self, average: f64) -> Vec<u64> {
        let count = self.about(average);
        let mut tags = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let tag = self.tag_of_rank.sample(&mut self.chance);
            if !tags.contains(&tag) {
                tags.push(tag);
            } else {
                // A rank below is nearly as likely, and keeps the count.
                tags.extend(
                    (0..self.shape.tags)
                        .map(|by| (tag + by) % self.shape.tags)
                        .find(|tag| !tags.contains(tag)),
                );
            }
        }
        tags
    }

    fn static_part(&mut self) -> Result<(), DiskError> {
        let shape = self.shape;
        let countries = COUNTRIES.min(shape.places / 2);
        let mut places = self.vertices("place", "id|name|url|type")?;
        let mut part_of = self.edges("place", "isPartOf", "place", "")?;
        for place in 0..shape.places {
            let kind = if place < countries { "country" } else { "city" };
            let name = self.words.name(place);
            places.row(format_args!("{place}|{name}|http://example.org/place/{name}|{kind}"))?;
            if place >= countries {
                part_of.row(format_args!("{place}|{}", place % countries))?;
            }
        }
        self.done_vertices(places)?;
        self.done_edges(part_of)?;
        let mut classes = self.vertices("tagclass", "id|name|url")?;
        let mut subclass = self.edges("tagclass", "isSubclassOf", "tagclass", "")?;
        for class in 0..shape.tag_classes {
            let name = self.words.name(class + 7_000);
            classes.row(format_args!("{class}|{name}|http://example.org/class/{name}"))?;
            if class > 0 {
                subclass.row(format_args!("{class}|{}", (class - 1) / 4))?;
            }
        }
        self.done_vertices(classes)?;
        self.done_edges(subclass)?;
        let mut tags = self.vertices("tag", "id|name|url")?;
        let mut types = self.edges("tag", "hasType", "tagclass", "")?;
        for tag in 0..shape.tags {
            let name = self.words.name(tag + 9_000);
            tags.row(format_args!("{tag}|{name}|http://example.org/tag/{name}"))?;
            types.row(format_args!("{tag}|{}", self.chance.below(shape.tag_classes)))?;
        }
        self.done_vertices(tags)?;
        self.done_edges(types)?;
        let mut organisations = self.vertices("organisation", "id|type|name|url")?;
        let mut located = self.edges("organisation", "isLocatedIn", "place", "")?;
        for organisation in 0..shape.organisations {
            let kind = if organisation % 5 == 0 { "company" } else { "university" };
            let name = self.words.name(organisation + 40_000);
            organisations.row(format_args!("{organisation}|{kind}|{name}|http://example.org/by/{name}"))?;
            located.row(format_args!("{organisation}|{}", self.chance.below(shape.places)))?;
        }
        self.done_vertices(organisations)?;
        self.done_edges(located)
    }

    fn persons(&mut self) -> Result<(), DiskError> {
        let shape = self.shape;
        let columns =
            "id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|language|email";
        let mut persons = self.vertices("person", columns)?;
        let mut located = self.edges("person", "isLocatedIn", "place", "")?;
        let mut interests = self.edges("person", "hasInterest", "tag", "")?;
        let mut studies = self.edges("person", "studyAt", "organisation", "|classYear")?;
        let mut jobs = self.edges("person", "workAt", "organisation", "|workFrom")?;
        for person in 0..shape.persons {
            let ms = BEGIN_MS + self.chance.below(LENGTH_MS / 2);
            self.person_ms.push(ms);
            let id = id(person, ms);
            let (first, last) =
                (self.words.first_name(&mut self.chance), self.words.last_name(&mut self.chance));
            let gender = if self.chance.happens(0.5) { "male" } else { "female" };
            let birthday = 315_532_800_000 + self.chance.below(3_650) * 86_400_000;
            let (address, browser) = (words::address(&mut self.chance), words::browser(&mut self.chance));
            let language = words::language(&mut self.chance);
            persons.row(format_args!(
                "{id}|{first}|{last}|{gender}|{birthday}|{ms}|{address}|{browser}|{language};en|{first}{id}@example.org;{first}{id}@example.com"
            ))?;
            located.row(format_args!("{id}|{}", self.chance.below(shape.places)))?;
            for tag in self.tags(TAGS_OF[0]) {
                interests.row(format_args!("{id}|{tag}"))?;
            }
            for (table, average) in [(&mut studies, STUDIES), (&mut jobs, JOBS)] {
                let first = self.chance.below(shape.organisations);
                for at in 0..self.about(average) {
                    let organisation = (first + at * 17) % shape.organisations;
                    table.row(format_args!("{id}|{organisation}|{}", 1990 + self.chance.below(25)))?;
                }
            }
        }
        self.done_vertices(persons)?;
        [located, interests, studies, jobs].into_iter().try_for_each(|table| self.done_edges(table))
    }

    /// Friends: half are close by in number, half are drawn by how well known they are.
    fn friendships(&mut self) -> Result<(), DiskError> {
        let mut knows = self.edges("person", "knows", "person", "|creationDate")?;
        let count = self.shape.persons;
        let degrees = PowerLaw::new(1, count.min(1_000), 1.9);
        let wanted = (count as f64 * self.shape.knows) as u64;
        let mut known: HashSet<(u32, u32)> = HashSet::new();
        while (known.len() as u64) < wanted {
            let person = self.person();
            for _ in 0..degrees.sample(&mut self.chance).min(wanted - known.len() as u64) {
                let other = match self.chance.happens(0.5) {
                    true => ((u64::from(person) + 1 + self.chance.below(count / 20 + 1)) % count) as u32,
                    false => self.person(),
                };
                let pair = (person.min(other), person.max(other));
                if pair.0 != pair.1 && known.insert(pair) {
                    let since = self.person_ms[pair.0 as usize].max(self.person_ms[pair.1 as usize]);
                    let ms = self.later(since);
                    let (one, two) = (self.person_id(pair.0), self.person_id(pair.1));
                    knows.row(format_args!("{one}|{two}|{ms}"))?;
                }
            }
        }
        self.done_edges(knows)
    }

    fn forums(&mut self) -> Result<(), DiskError> {
        let mut forums = self.vertices("forum", "id|title|creationDate")?;
        let mut moderators = self.edges("forum", "hasModerator", "person", "")?;
        let mut joined = self.edges("forum", "hasMember", "person", "|joinDate")?;
        let mut tagged = self.edges("forum", "hasTag", "tag", "")?;
        let sizes = PowerLaw::new(1, (self.shape.persons / 4).max(2), 1.75);
        let mut missing = (self.shape.forums as f64 * self.shape.members) as u64;
        for forum in 0..self.shape.forums {
            let moderator = self.person();
            let ms = self.later(self.person_ms[moderator as usize]);
            self.forum_ms.push(ms);
            let id = id(forum, ms);
            let moderator_id = self.person_id(moderator);
            forums.row(format_args!(
                "{id}|Group for {} of {moderator_id}|{ms}",
                self.words.name(forum % 5_000)
            ))?;
            moderators.row(format_args!("{id}|{moderator_id}"))?;
            for tag in self.tags(TAGS_OF[1]) {
                tagged.row(format_args!("{id}|{tag}"))?;
            }
            // What is left of all memberships is spread over what is left of the forums.
            let average = missing as f64 / (self.shape.forums - forum) as f64;
            let size = (sizes.sample(&mut self.chance) as f64 * average / 9.0) as u64;
            let size = size.clamp(1, (self.shape.persons / 2).min(missing.max(1)));
            let first = self.chance.below(self.shape.persons);
            let step = 1 + self.chance.below(self.shape.persons / (2 * size) + 1);
            let members: Vec<u32> =
                (0..size).map(|at| ((first + at * step) % self.shape.persons) as u32).collect();
            for member in &members {
                let since = ms.max(self.person_ms[*member as usize]);
                let (member, date) = (self.person_id(*member), self.later(since));
                joined.row(format_args!("{id}|{member}|{date}"))?;
            }
            missing = missing.saturating_sub(size);
            self.members.push(members);
        }
        self.done_vertices(forums)?;
        [moderators, joined, tagged].into_iter().try_for_each(|table| self.done_edges(table))
    }

    /// Who writes in a forum.
    fn author(&mut self, forum: usize) -> u32 {
        let members = &self.members[forum];
        members[self.chance.index(members.len())]
    }

    fn messages(&mut self) -> Result<(), DiskError> {
        let posts = self.posts()?;
        self.comments(&posts)
    }

    fn posts(&mut self) -> Result<Vec<Message>, DiskError> {
        let columns = "id|imageFile|creationDate|locationIP|browserUsed|language|content|length";
        let mut posts = self.vertices("post", columns)?;
        let mut contained = self.edges("forum", "containerOf", "post", "")?;
        let mut edges = MessageEdges::create(self, "post")?;
        let busy = Zipf::new(self.shape.forums, 0.6);
        let mut written = Vec::with_capacity(self.shape.posts as usize);
        for post in 0..self.shape.posts {
            let rank = busy.sample(&mut self.chance);
            let forum = (rank.wrapping_mul(2_654_435_761) % self.shape.forums) as usize;
            let ms = self.later(self.forum_ms[forum]);
            let id = id(post, ms);
            let (address, browser) = (words::address(&mut self.chance), words::browser(&mut self.chance));
            if self.chance.happens(0.4) {
                posts.row(format_args!("{id}|photo{id}.jpg|{ms}|{address}|{browser}|||0"))?;
            } else {
                let language = words::language(&mut self.chance);
                let content = self.words.text(&mut self.chance, 60, 150);
                posts.row(format_args!(
                    "{id}||{ms}|{address}|{browser}|{language}|{content}|{}",
                    content.len()
                ))?;
            }
            contained.row(format_args!("{}|{id}", self.forum_id(forum)))?;
            edges.row(self, id, Message { forum: forum as u32, ms }, TAGS_OF[2])?;
            written.push(Message { forum: forum as u32, ms });
        }
        self.done_vertices(posts)?;
        self.done_edges(contained)?;
        edges.finish(self)?;
        Ok(written)
    }

    fn comments(&mut self, posts: &[Message]) -> Result<(), DiskError> {
        let mut comments =
            self.vertices("comment", "id|creationDate|locationIP|browserUsed|content|length")?;
        let mut of_posts = self.edges("comment", "replyOf", "post", "")?;
        let mut of_comments = self.edges("comment", "replyOf", "comment", "")?;
        let mut edges = MessageEdges::create(self, "comment")?;
        let busy = Zipf::new(posts.len() as u64, 0.5);
        let mut written: Vec<Message> = Vec::with_capacity(self.shape.comments as usize);
        for comment in 0..self.shape.comments {
            let number = self.shape.posts + comment;
            // Half answer a post, half one of the latest comments.
            let (parent, parent_id, table) = match comment % 2 {
                0 => {
                    let rank = busy.sample(&mut self.chance);
                    let post = rank.wrapping_mul(2_654_435_761) % posts.len() as u64;
                    (posts[post as usize], id(post, posts[post as usize].ms), &mut of_posts)
                }
                _ => {
                    let back = 1 + self.chance.below(comment.min(50));
                    let parent = written[(comment - back) as usize];
                    (parent, id(number - back, parent.ms), &mut of_comments)
                }
            };
            let left = BEGIN_MS + LENGTH_MS - parent.ms;
            let ms = parent.ms + 1 + self.chance.below((left / 64).max(1));
            let id = id(number, ms.min(BEGIN_MS + LENGTH_MS));
            let (address, browser) = (words::address(&mut self.chance), words::browser(&mut self.chance));
            let short = self.chance.happens(0.45);
            let content = match short {
                true => words::short_answer(&mut self.chance).to_string(),
                false => self.words.text(&mut self.chance, 60, 120),
            };
            comments.row(format_args!("{id}|{ms}|{address}|{browser}|{content}|{}", content.len()))?;
            table.row(format_args!("{id}|{parent_id}"))?;
            let message = Message { forum: parent.forum, ms };
            edges.row(self, id, message, TAGS_OF[3])?;
            written.push(Message { ms: ms.min(BEGIN_MS + LENGTH_MS), ..message });
        }
        self.done_vertices(comments)?;
        self.done_edges(of_posts)?;
        self.done_edges(of_comments)?;
        edges.finish(self)
    }
}

/// Edges that posts and comments have alike: author, place, tags, likes.
struct MessageEdges {
    creator: Table,
    located: Table,
    tagged: Table,
    liked: Table,
}

impl MessageEdges {
    fn create(network: &Network<'_>, kind: &str) -> Result<MessageEdges, DiskError> {
        Ok(MessageEdges {
            creator: network.edges(kind, "hasCreator", "person", "")?,
            located: network.edges(kind, "isLocatedIn", "place", "")?,
            tagged: network.edges(kind, "hasTag", "tag", "")?,
            liked: network.edges("person", "likes", kind, "|creationDate")?,
        })
    }
    fn row(
        &mut self,
        network: &mut Network<'_>,
        id: u64,
        message: Message,
        tags: f64,
    ) -> Result<(), DiskError> {
        let author = network.author(message.forum as usize);
        self.creator.row(format_args!("{id}|{}", network.person_id(author)))?;
        let place = network.chance.below(COUNTRIES.min(network.shape.places));
        self.located.row(format_args!("{id}|{place}"))?;
        for tag in network.tags(tags) {
            self.tagged.row(format_args!("{id}|{tag}"))?;
        }
        // One message in eight is liked at all, by some members of its forum.
        if network.chance.happens(0.125) {
            let members = network.members[message.forum as usize].len();
            let likes = network.about(network.shape.likes * 8.0);
            let first = network.chance.index(members);
            for at in 0..likes {
                let spread = u64::from(author) + first as u64 + at * 13;
                let person = (spread % network.shape.persons) as u32;
                let (person, ms) = (network.person_id(person), network.later(message.ms));
                self.liked.row(format_args!("{person}|{id}|{ms}"))?;
            }
        }
        Ok(())
    }
    fn finish(self, network: &mut Network<'_>) -> Result<(), DiskError> {
        let MessageEdges { creator, located, tagged, liked } = self;
        [creator, located, tagged, liked].into_iter().try_for_each(|table| network.done_edges(table))
    }
}

/// `Person.id` for `person`.
fn capital(entity: &str) -> String {
    let name = if entity == "tagclass" { "tagClass" } else { entity };
    let (first, rest) = name.split_at(1);
    format!("{}{rest}.id", first.to_uppercase())
}

#[cfg(test)]
mod tests;
