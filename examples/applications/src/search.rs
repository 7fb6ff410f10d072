//! Plain searches over plain data: what the commands hold answers of the graph against. Each is the obvious way, made fast enough for real data.

use crate::blockchain::Block;
use crate::rings::{Payment, WINDOW};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How many rings there are of each accounts and times, of all payments.
pub fn rings(payments: &[Payment]) -> BTreeMap<([i64; 3], [i64; 2]), i64> {
    let mut by_payer = HashMap::<i64, Vec<&Payment>>::new();
    payments.iter().for_each(|payment| by_payer.entry(payment.from).or_default().push(payment));
    let after = |payment: &Payment, until: i64| {
        let begin = payment.time;
        let all = by_payer.get(&payment.to).map(Vec::as_slice).unwrap_or_default();
        all.iter().copied().filter(move |next| begin <= next.time && next.time <= until)
    };
    let mut found = BTreeMap::new();
    for x in payments {
        for y in after(x, x.time + WINDOW) {
            for z in after(y, x.time + WINDOW).filter(|z| z.to == x.from) {
                if x.from != x.to && y.from != y.to && z.from != z.to {
                    *found.entry(([x.from, y.from, z.from], [x.time, z.time])).or_default() += 1;
                }
            }
        }
    }
    found
}

/// Over how many spendings money of an address reached each transaction.
pub fn taint(blocks: &[Block], address: &str) -> BTreeMap<String, i64> {
    let mut spenders = HashMap::<&str, Vec<&str>>::new();
    let mut first = Vec::new();
    for one in blocks.iter().flat_map(|block| &block.transactions) {
        one.inputs.iter().for_each(|(from, _)| spenders.entry(from).or_default().push(&one.txid));
        if one.outputs.iter().any(|(_, to)| to.as_deref() == Some(address)) {
            first.push(one.txid.as_str());
        }
    }
    let mut found = BTreeMap::new();
    for steps in 0.. {
        first.retain(|txid| match found.entry(txid.to_string()) {
            Entry::Vacant(place) => {
                place.insert(steps);
                true
            }
            Entry::Occupied(_) => false,
        });
        if first.is_empty() {
            break;
        }
        first = first.iter().flat_map(|txid| spenders.get(txid).into_iter().flatten().copied()).collect();
        first.sort_unstable();
        first.dedup();
    }
    found
}

/// Sizes of the groups of addresses whose money was spent together, the largest first; those of one address are left out.
pub fn clusters(blocks: &[Block]) -> Vec<usize> {
    let all = || blocks.iter().flat_map(|block| &block.transactions);
    let mut payees = HashMap::<(&str, i64), &str>::new();
    for one in all() {
        let paid = (0..)
            .zip(&one.outputs)
            .filter_map(|(at, (_, to))| Some(((one.txid.as_str(), at), to.as_deref()?)));
        payees.extend(paid);
    }
    let mut together = HashMap::<&str, BTreeSet<&str>>::new();
    for one in all() {
        let spent: Vec<&str> =
            one.inputs.iter().filter_map(|(from, at)| payees.get(&(from.as_str(), *at)).copied()).collect();
        if let [first, rest @ ..] = spent.as_slice() {
            for other in rest {
                together.entry(first).or_default().insert(other);
                together.entry(other).or_default().insert(first);
            }
        }
    }
    let mut seen = HashSet::new();
    let mut sizes = Vec::new();
    for address in together.keys().copied() {
        let (mut next, mut size) = (vec![address], 0);
        while let Some(one) = next.pop() {
            if seen.insert(one) {
                size += 1;
                next.extend(together[one].iter().copied());
            }
        }
        sizes.extend((size > 1).then_some(size));
    }
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

/// All that is reached from here over these arrows, without here.
pub fn reached<'t>(here: &'t str, arrows: &HashMap<&'t str, Vec<&'t str>>) -> HashSet<&'t str> {
    let (mut seen, mut next) = (HashSet::new(), vec![here]);
    while let Some(one) = next.pop() {
        let more = arrows.get(one).into_iter().flatten().copied();
        next.extend(more.filter(|to| seen.insert(*to)));
    }
    seen
}

/// What leads where, by where it leads from.
pub fn arrows<'t>(pairs: impl IntoIterator<Item = (&'t str, &'t str)>) -> HashMap<&'t str, Vec<&'t str>> {
    let mut found = HashMap::<&str, Vec<&str>>::new();
    pairs.into_iter().for_each(|(from, to)| found.entry(from).or_default().push(to));
    found
}

/// What each thing has as a part: its own parts, and those of all that it is. `is_a` leads from a thing to what it is, `parts` to what it has.
pub fn parts<'t>(is_a: &[(&'t str, &'t str)], parts: &[(&'t str, &'t str)]) -> HashSet<(&'t str, &'t str)> {
    let kinds = arrows(is_a.iter().map(|(thing, kind)| (*kind, *thing)));
    let mut found = HashSet::new();
    for (thing, has) in arrows(parts.iter().copied()) {
        let all = reached(thing, &kinds).into_iter().chain([thing]);
        all.for_each(|one| found.extend(has.iter().map(|part| (one, *part))));
    }
    found
}

/// Packages as their lists say: by package, its clauses with their alternatives, and the names that it provides.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// Clauses of each package.
    pub needs: BTreeMap<String, Vec<Vec<String>>>,
    /// Names that are none of its own and that it stands for.
    pub provides: BTreeMap<String, BTreeSet<String>>,
}

impl Archive {
    /// From the lines of two lists: `name,…` and `from,type,to,constraint,group`. Packages that are there already are replaced.
    pub fn read(&mut self, packages: &[String], relations: &[String]) {
        for name in packages.iter().filter_map(|line| line.split(',').next()) {
            self.needs.insert(name.to_string(), Vec::new());
            self.provides.remove(name);
        }
        let mut clauses = BTreeMap::<(&str, &str, &str), Vec<String>>::new();
        for line in relations {
            let words: Vec<&str> = line.split(',').collect();
            let [from, kind, to, .., group] = words.as_slice() else { continue };
            match *kind {
                "Depends" | "Pre-Depends" => {
                    clauses.entry((from, kind, group)).or_default().push(to.to_string())
                }
                "Provides" => _ = self.provides.entry(from.to_string()).or_default().insert(to.to_string()),
                _ => {}
            }
        }
        for ((from, ..), alternatives) in clauses {
            self.needs.entry(from.to_string()).or_default().push(alternatives);
        }
    }
    /// Packages and the names that they stand for.
    fn provided(&self) -> impl Iterator<Item = (&str, &str)> {
        self.provides
            .iter()
            .flat_map(|(by, names)| names.iter().map(move |name| (by.as_str(), name.as_str())))
    }
    /// All that falls without a package: whoever has a clause of which nothing stands any more, though something stood before.
    pub fn breaks_without(&self, name: &str) -> BTreeSet<String> {
        let mut gone = HashSet::from([name]);
        let providers = arrows(self.provided().map(|(by, name)| (name, by)));
        let stands = |name: &str, gone: &HashSet<&str>| {
            let own = self.needs.contains_key(name) && !gone.contains(name);
            own || providers.get(name).is_some_and(|by| by.iter().any(|one| !gone.contains(one)))
        };
        let nobody = HashSet::new();
        loop {
            let breaks = |clause: &&Vec<String>| {
                !clause.iter().any(|name| stands(name, &gone))
                    && clause.iter().any(|name| stands(name, &nobody))
            };
            let falls = |(name, clauses): &(&String, &Vec<Vec<String>>)| {
                !gone.contains(name.as_str()) && clauses.iter().any(|clause| breaks(&clause))
            };
            let fallen: Vec<&str> = self.needs.iter().filter(falls).map(|(name, _)| name.as_str()).collect();
            if fallen.is_empty() {
                gone.remove(name);
                return gone.into_iter().map(str::to_string).collect();
            }
            gone.extend(fallen);
        }
    }
    /// How many may need a package over any number of steps, by its own name or one that it provides.
    pub fn reaches(&self, name: &str) -> usize {
        let provides = arrows(self.provided());
        let needs = self
            .needs
            .iter()
            .flat_map(|(from, all)| all.iter().flatten().map(move |to| (to.as_str(), from.as_str())));
        let needs = arrows(needs);
        let (mut known, mut next) = (HashSet::from([name]), vec![name]);
        while let Some(one) = next.pop() {
            let names = provides.get(one).into_iter().flatten().copied().chain([one]);
            let more: Vec<&str> =
                names.flat_map(|name| needs.get(name).into_iter().flatten().copied()).collect();
            next.extend(more.into_iter().filter(|from| known.insert(from)));
        }
        known.len() - 1
    }
}

/// PlainRights as plain pairs of names.
#[derive(Clone, Debug, Default)]
pub struct PlainRights {
    /// A person or a group, and a group that it lies in.
    pub members: BTreeSet<(String, String)>,
    /// A person or a group, and what it is allowed.
    pub allowed: BTreeSet<(String, String)>,
    /// A person or a group, and what is barred to it.
    pub barred: BTreeSet<(String, String)>,
    /// A resource, and one that lies in it.
    pub contains: BTreeSet<(String, String)>,
}

impl PlainRights {
    /// What each of these people may reach.
    pub fn of<'t>(
        &'t self,
        people: impl IntoIterator<Item = &'t str>,
    ) -> BTreeMap<&'t str, BTreeSet<&'t str>> {
        let pairs =
            |set: &'t BTreeSet<(String, String)>| arrows(set.iter().map(|(a, b)| (a.as_str(), b.as_str())));
        let [members, allowed, barred, contains] =
            [&self.members, &self.allowed, &self.barred, &self.contains].map(pairs);
        let below = |all: &HashMap<&str, Vec<&'t str>>, whom: &HashSet<&'t str>| {
            let own: HashSet<&str> =
                whom.iter().flat_map(|one| all.get(one).into_iter().flatten().copied()).collect();
            own.iter()
                .flat_map(|resource| reached(resource, &contains).into_iter().chain([*resource]))
                .collect::<HashSet<&str>>()
        };
        let of = |person: &'t str| {
            let mut whom = reached(person, &members);
            whom.insert(person);
            let barred = below(&barred, &whom);
            let may = below(&allowed, &whom).into_iter().filter(|resource| !barred.contains(resource));
            (person, may.collect())
        };
        people.into_iter().map(of).collect()
    }
}
