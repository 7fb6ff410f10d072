//! The nine counts of the subgraph benchmark, computed without an engine: the reference for ours and all others.
//!
//! Relations are read from the files as they are, in either layout, and counted by hand: weights along a line of joins (Q1, Q4, Q7), sets of
//! neighbours for what closes (Q2, Q3, Q8, Q9). Nothing is shared with the engine but the folder.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use world::files;

/// Ids as the files have them; of messages, twice the id, and one more for a comment, as posts and comments may share ids.
type Id = i64;
type Pairs = Vec<(Id, Id)>;
type Groups = HashMap<Id, Vec<Id>>;

/// The relations that the counts go over.
struct Network {
    country_of_city: HashMap<Id, Id>,
    city_of_person: HashMap<Id, Id>,
    knows: HashMap<Id, HashSet<Id>>,
    interests: Groups,
    members: Pairs,
    posts_of_forum: Groups,
    /// Message replied to, by the comment.
    replies: Pairs,
    creator: HashMap<Id, Id>,
    tags: Groups,
    likes: HashMap<Id, u64>,
    classes: HashMap<Id, u64>,
}

/// The right answer to each of Q1 to Q9.
///
/// # Errors
/// A file is missing, or a line of it is none.
pub(crate) fn all(network: &Path) -> Result<BTreeMap<&'static str, u64>, String> {
    let network = Network::read(network)?;
    Ok(BTreeMap::from([
        ("Q1", network.q1()),
        ("Q2", network.q2()),
        ("Q3", network.q3()),
        ("Q4", network.by_message(|count| count)),
        ("Q5", network.tag_pairs(|_, _| true)),
        ("Q6", network.friends_of_friends(|_, _| true)),
        ("Q7", network.by_message(|count| count.max(1))),
        ("Q8", network.tag_pairs(|tag, of_reply| !of_reply.contains(&tag))),
        ("Q9", network.friends_of_friends(|a, c| !network.knows[&a].contains(&c))),
    ]))
}

impl Network {
    fn read(folder: &Path) -> Result<Network, String> {
        let pairs = |source: &str, relation: &str, target: &str| read(folder, source, relation, target);
        let of_messages = |relation: &str, target: &str| -> Result<Pairs, String> {
            let (posts, comments) = (pairs("Post", relation, target)?, pairs("Comment", relation, target)?);
            let posts = posts.into_iter().map(|(id, other)| (post(id), other));
            Ok(posts.chain(comments.into_iter().map(|(id, other)| (comment(id), other))).collect())
        };
        let to_posts = pairs("Comment", "replyOf", "Post")?;
        let to_comments = pairs("Comment", "replyOf", "Comment")?;
        let mut likes = HashMap::new();
        for (_, id) in pairs("Person", "likes", "Post")? {
            *likes.entry(post(id)).or_default() += 1;
        }
        for (_, id) in pairs("Person", "likes", "Comment")? {
            *likes.entry(comment(id)).or_default() += 1;
        }
        let mut knows: HashMap<Id, HashSet<Id>> = HashMap::new();
        for (a, b) in pairs("Person", "knows", "Person")? {
            knows.entry(a).or_default().insert(b);
            knows.entry(b).or_default().insert(a);
        }
        let mut classes = HashMap::new();
        pairs("Tag", "hasType", "TagClass")?
            .into_iter()
            .for_each(|(tag, _)| *classes.entry(tag).or_default() += 1);
        let in_forums = pairs("Forum", "containerOf", "Post")?;
        Ok(Network {
            country_of_city: pairs("City", "isPartOf", "Country")?.into_iter().collect(),
            city_of_person: pairs("Person", "isLocatedIn", "City")?.into_iter().collect(),
            knows,
            interests: grouped(pairs("Person", "hasInterest", "Tag")?),
            members: pairs("Forum", "hasMember", "Person")?,
            posts_of_forum: grouped(in_forums.into_iter().map(|(forum, id)| (forum, post(id)))),
            replies: (to_posts.into_iter().map(|(by, id)| (comment(by), post(id))))
                .chain(to_comments.into_iter().map(|(by, id)| (comment(by), comment(id))))
                .collect(),
            creator: of_messages("hasCreator", "Person")?.into_iter().collect(),
            tags: grouped(of_messages("hasTag", "Tag")?),
            likes,
            classes,
        })
    }

    fn tags(&self, message: Id) -> &[Id] {
        self.tags.get(&message).map_or(&[], Vec::as_slice)
    }

    /// Countries, cities, persons, forums, posts, comments, tags, classes.
    fn q1(&self) -> u64 {
        let classes = |tag: &Id| self.classes.get(tag).copied().unwrap_or(0);
        let mut below: HashMap<Id, u64> = HashMap::new();
        for (comment, message) in &self.replies {
            *below.entry(*message).or_default() += self.tags(*comment).iter().map(classes).sum::<u64>();
        }
        let of_post = |post: &Id| below.get(post).copied().unwrap_or(0);
        let of_forum: HashMap<Id, u64> = self
            .posts_of_forum
            .iter()
            .map(|(forum, posts)| (*forum, posts.iter().map(of_post).sum()))
            .collect();
        let lives = |person: &Id| {
            self.city_of_person.get(person).is_some_and(|city| self.country_of_city.contains_key(city))
        };
        let members = self.members.iter().filter(|(_, person)| lives(person));
        members.map(|(forum, _)| of_forum.get(forum).copied().unwrap_or(0)).sum()
    }

    /// Replies to posts of friends.
    fn q2(&self) -> u64 {
        let is_friendly = |(comment, message): &&(Id, Id)| {
            let (by, of) = (self.creator.get(comment), self.creator.get(message));
            let friends = by.and_then(|by| self.knows.get(by));
            is_post(*message) && of.is_some_and(|of| friends.is_some_and(|friends| friends.contains(of)))
        };
        self.replies.iter().filter(is_friendly).count() as u64
    }

    /// Triangles of friends in one country, each in its six orders.
    fn q3(&self) -> u64 {
        let country =
            |person: &Id| self.city_of_person.get(person).and_then(|city| self.country_of_city.get(city));
        let mut count = 0;
        for (a, friends) in &self.knows {
            let Some(at) = country(a) else { continue };
            let here: Vec<&Id> = friends.iter().filter(|b| *b != a && country(b) == Some(at)).collect();
            for b in &here {
                let theirs = &self.knows[*b];
                count += here.iter().filter(|c| *c != b && theirs.contains(**c)).count() as u64;
            }
        }
        count
    }

    /// Messages by tags, likes and replies; `at_least` gives the count for missing ones.
    fn by_message(&self, at_least: impl Fn(u64) -> u64) -> u64 {
        let mut replies: HashMap<Id, u64> = HashMap::new();
        self.replies.iter().for_each(|(_, message)| *replies.entry(*message).or_default() += 1);
        let of =
            |counts: &HashMap<Id, u64>, message: &Id| at_least(counts.get(message).copied().unwrap_or(0));
        let made = self.tags.iter().filter(|(message, _)| self.creator.contains_key(message));
        made.map(|(message, tags)| tags.len() as u64 * of(&self.likes, message) * of(&replies, message)).sum()
    }

    /// Pairs of different tags, of a message and of a reply to it, whose first one `holds` beside all those of the reply.
    fn tag_pairs(&self, holds: impl Fn(Id, &[Id]) -> bool) -> u64 {
        let of = |(comment, message): &(Id, Id)| {
            let of_reply = self.tags(*comment);
            let first = self.tags(*message).iter().filter(|tag| holds(**tag, of_reply));
            first.map(|tag| of_reply.iter().filter(|other| *other != tag).count() as u64).sum::<u64>()
        };
        self.replies.iter().map(of).sum()
    }

    /// Interests of friends of friends, where `holds` of the two ends.
    fn friends_of_friends(&self, holds: impl Fn(Id, Id) -> bool) -> u64 {
        let mut count = 0;
        for friends in self.knows.values() {
            for c in friends {
                let interests = self.interests.get(c).map_or(0, Vec::len) as u64;
                count += interests * friends.iter().filter(|a| *a != c && holds(**a, *c)).count() as u64;
            }
        }
        count
    }
}

fn post(id: Id) -> Id {
    id * 2
}

fn comment(id: Id) -> Id {
    id * 2 + 1
}

fn is_post(message: Id) -> bool {
    message % 2 == 0
}

fn grouped(pairs: impl IntoIterator<Item = (Id, Id)>) -> Groups {
    let mut groups = Groups::new();
    pairs.into_iter().for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// The first two columns of the file of a relation, in the layout of either benchmark.
fn read(folder: &Path, source: &str, relation: &str, target: &str) -> Result<Pairs, String> {
    let path = file(folder, source, relation, target);
    let fault = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let reader = files::open_reader(&path).map_err(|error| fault(&error))?;
    let mut pairs = Vec::new();
    for line in reader.lines().skip(1) {
        let line = line.map_err(|error| fault(&error))?;
        let mut ids = line.split('|').map(str::parse::<Id>);
        match (ids.next(), ids.next()) {
            (Some(Ok(a)), Some(Ok(b))) => pairs.push((a, b)),
            _ => return Err(fault(&format_args!("`{line}` does not begin with two ids"))),
        }
    }
    Ok(pairs)
}

fn file(folder: &Path, source: &str, relation: &str, target: &str) -> PathBuf {
    let ids_alone = folder.join(format!("{source}_{relation}_{target}.csv"));
    if files::exists(&ids_alone) {
        return ids_alone;
    }
    let kind = |label: &str| match label {
        "City" | "Country" => "place".to_string(),
        other => other.to_lowercase(),
    };
    let kind_of_folder = if ["City", "Tag"].contains(&source) { "static" } else { "dynamic" };
    folder.join(kind_of_folder).join(format!("{}_{relation}_{}_0_0.csv", kind(source), kind(target)))
}

#[cfg(test)]
mod tests;
