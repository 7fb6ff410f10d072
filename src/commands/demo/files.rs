//! The network as CSV files with typed headers, one a kind, for `tanglewood import`.

use super::names::TAGS;
use super::network::{Edge, Network};
use std::io::{self, Write};
use std::path::Path;

type Out = Box<dyn Write + Send>;

/// Writes every file into `folder`.
pub fn write(network: &Network, folder: &Path) -> io::Result<()> {
    let file = |name: &str, header: &str| -> io::Result<Out> {
        let mut out = world::files::create_writer(&folder.join(name)).map_err(io::Error::other)?;
        writeln!(out, "{header}")?;
        Ok(out)
    };
    persons(network, file("persons.csv", PERSONS)?)?;
    places_and_organisations(
        network,
        file("places.csv", "id:ID(Place),name,:LABEL")?,
        file("organisations.csv", "id:ID(Organisation),name,:LABEL")?,
    )?;
    tags(file("tags.csv", "id:ID(Tag),name,:LABEL")?)?;
    forums(network, file("forums.csv", "id:ID(Forum),title,creationDate:date,:LABEL")?)?;
    messages(network, file("messages.csv", "id:ID(Message),content,creationDate:localdatetime,:LABEL")?)?;
    for edges in edge_files() {
        let (start, end) = edges.ends;
        let property = edges.property.map(|name| format!(",{name}")).unwrap_or_default();
        let name = format!("{}_{}.csv", start.to_lowercase(), edges.edge_type.to_lowercase());
        let mut out = file(&name, &format!(":START_ID({start}),:END_ID({end}),:TYPE{property}"))?;
        let comma = if edges.property.is_some() { "," } else { "" };
        for (start, end, property) in (edges.lines)(network) {
            writeln!(out, "{start},{end},{}{comma}{property}", edges.edge_type)?;
        }
        out.flush()?;
    }
    Ok(())
}

const PERSONS: &str =
    "id:ID(Person),firstName,lastName,name,birthday:date,creationDate:localdatetime,speaks,:LABEL";

fn persons(network: &Network, mut out: Out) -> io::Result<()> {
    for (at, person) in network.persons.iter().enumerate() {
        let (first, last) = (person.first, person.last);
        let (born, joined, speaks) = (person.birthday, person.joined, person.language);
        writeln!(out, "{},{first},{last},{first} {last},{born},{joined},{speaks},Person", at + 1)?;
    }
    out.flush()
}

fn places_and_organisations(network: &Network, mut places: Out, mut organisations: Out) -> io::Result<()> {
    for (at, place) in network.places.iter().enumerate() {
        writeln!(places, "{},{},Place;{}", at + 1, place.name, place.label)?;
    }
    for (at, organisation) in network.organisations.iter().enumerate() {
        writeln!(organisations, "{},{},Organisation;{}", at + 1, organisation.name, organisation.label)?;
    }
    places.flush()?;
    organisations.flush()
}

fn tags(mut out: Out) -> io::Result<()> {
    for (at, tag) in TAGS.iter().enumerate() {
        writeln!(out, "{},{tag},Tag", at + 1)?;
    }
    out.flush()
}

fn forums(network: &Network, mut out: Out) -> io::Result<()> {
    for (at, forum) in network.forums.iter().enumerate() {
        writeln!(out, "{},{},{},Forum", at + 1, forum.title, forum.created)?;
    }
    out.flush()
}

fn messages(network: &Network, mut out: Out) -> io::Result<()> {
    for (at, message) in network.messages.iter().enumerate() {
        let label = if message.forum.is_some() { "Post" } else { "Comment" };
        writeln!(out, "{},\"{}\",{},Message;{label}", at + 1, message.content, message.created)?;
    }
    out.flush()
}

/// One file of edges: between which groups of ids, of which type, with which property, and its lines without the type.
struct EdgeFile {
    ends: (&'static str, &'static str),
    edge_type: &'static str,
    property: Option<&'static str>,
    lines: fn(&Network) -> Box<dyn Iterator<Item = Line> + '_>,
}

/// Start, end, and the property as text.
type Line = (u32, u32, String);

fn edge_file(
    start: &'static str,
    edge_type: &'static str,
    end: &'static str,
    property: Option<&'static str>,
    lines: fn(&Network) -> Box<dyn Iterator<Item = Line> + '_>,
) -> EdgeFile {
    EdgeFile { ends: (start, end), edge_type, property, lines }
}

fn edge_files() -> Vec<EdgeFile> {
    const DAY: Option<&str> = Some("creationDate:date");
    vec![
        edge_file("Person", "KNOWS", "Person", DAY, |network| dated(&network.knows)),
        edge_file("Person", "LIKES", "Message", DAY, |network| dated(&network.likes)),
        edge_file("Forum", "HAS_MEMBER", "Person", Some("joinDate:date"), |network| dated(&network.members)),
        edge_file("Person", "HAS_INTEREST", "Tag", None, |network| {
            Box::new(network.interests.iter().map(|(person, tag)| (*person, *tag, String::new())))
        }),
        edge_file("Person", "STUDY_AT", "Organisation", Some("classYear:int"), |network| {
            each(&network.persons, |person| person.studied.map(|(at, year)| (at, year.to_string())))
        }),
        edge_file("Person", "WORK_AT", "Organisation", Some("workFrom:int"), |network| {
            each(&network.persons, |person| person.works.map(|(at, year)| (at, year.to_string())))
        }),
        edge_file("Person", "IS_LOCATED_IN", "Place", None, |network| {
            each(&network.persons, |person| Some((person.city, String::new())))
        }),
        edge_file("Organisation", "IS_LOCATED_IN", "Place", None, |network| {
            each(&network.organisations, |organisation| Some((organisation.place, String::new())))
        }),
        edge_file("Place", "IS_PART_OF", "Place", None, |network| {
            each(&network.places, |place| Some((place.part_of?, String::new())))
        }),
        edge_file("Forum", "HAS_MODERATOR", "Person", None, |network| {
            each(&network.forums, |forum| Some((forum.moderator, String::new())))
        }),
        edge_file("Forum", "HAS_TAG", "Tag", None, |network| {
            each(&network.forums, |forum| Some((forum.tag, String::new())))
        }),
        edge_file("Message", "HAS_TAG", "Tag", None, |network| {
            each(&network.messages, |message| Some((message.tag, String::new())))
        }),
        edge_file("Message", "HAS_CREATOR", "Person", None, |network| {
            each(&network.messages, |message| Some((message.creator, String::new())))
        }),
        edge_file("Message", "REPLY_OF", "Message", None, |network| {
            each(&network.messages, |message| Some((message.reply_of?, String::new())))
        }),
        edge_file("Forum", "CONTAINER_OF", "Message", None, |network| {
            let posts = each(&network.messages, |message| Some((message.forum?, String::new())));
            Box::new(posts.map(|(post, forum, nothing)| (forum, post, nothing)))
        }),
    ]
}

fn dated(edges: &[Edge]) -> Box<dyn Iterator<Item = Line> + '_> {
    Box::new(edges.iter().map(|(start, end, day)| (*start, *end, day.to_string())))
}

/// An edge from each item that has one; an item's id is its index plus one.
fn each<T>(items: &[T], edge: fn(&T) -> Option<(u32, String)>) -> Box<dyn Iterator<Item = Line> + '_> {
    let edges = items.iter().enumerate().filter_map(move |(at, item)| Some((at as u32 + 1, edge(item)?)));
    Box::new(edges.map(|(start, (end, property))| (start, end, property)))
}
