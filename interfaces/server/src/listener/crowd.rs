//! All clients together: their number, and the bytes that the server holds for them; in all, and for each address and user.
//!
//! Invariant: a [`Share`] is returned to its [`Shares`] when it is dropped, so without clients all counts are zero. Taking is all or nothing, and
//! comes before the counted resource is used.

use crate::Limits;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Bytes that each connection may hold without an account, so that short messages come through when long ones have taken all.
const FREE_BYTES: usize = 64 << 10;
/// The owner of one address of an IPv6 network has all of them.
const BITS_OF_A_NETWORK: u32 = 64;

/// Where a client comes from: an IPv4 address, or a network of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin(IpAddr);

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Origin {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() >> BITS_OF_A_NETWORK << BITS_OF_A_NETWORK;
                Origin(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
            address => Origin(address),
        }
    }
}

/// Why no more is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All together have taken everything.
    All,
    /// This one has taken its part.
    Each,
}

/// Something that many share, and of which none may take more than its part.
#[derive(Debug)]
pub(crate) struct Shares<K> {
    all_max: usize,
    each_max: usize,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    by: BTreeMap<K, usize>,
}

impl<K: Ord + Clone> Shares<K> {
    pub fn new(all_max: usize, each_max: usize) -> Arc<Shares<K>> {
        Arc::new(Shares { all_max, each_max, taken: Mutex::new(Taken { all: 0, by: BTreeMap::new() }) })
    }
    /// Takes `count` for a key.
    pub fn take(self: &Arc<Self>, by: K, count: usize) -> Result<Share<K>, Full> {
        let mut share = Share { of: self.clone(), by, count: 0 };
        share.resize(count).map(|()| share)
    }
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.taken.lock().all
    }
}

/// The share of a key; returned when dropped.
#[derive(Debug)]
pub(crate) struct Share<K: Ord + Clone> {
    of: Arc<Shares<K>>,
    by: K,
    count: usize,
}

impl<K: Ord + Clone> Share<K> {
    /// Sets its size; shrinking always succeeds.
    pub fn resize(&mut self, count: usize) -> Result<(), Full> {
        if count == self.count {
            return Ok(());
        }
        let mut taken = self.of.taken.lock();
        let all = taken.all - self.count + count;
        let each = taken.by.get(&self.by).map_or(0, |each| each - self.count) + count;
        debug_assert!(all >= each, "all is the sum of each");
        if count > self.count && all > self.of.all_max {
            return Err(Full::All);
        }
        if count > self.count && each > self.of.each_max {
            return Err(Full::Each);
        }
        taken.all = all;
        if each == 0 {
            taken.by.remove(&self.by);
        } else {
            taken.by.insert(self.by.clone(), each);
        }
        self.count = count;
        Ok(())
    }
}

impl<K: Ord + Clone> Drop for Share<K> {
    fn drop(&mut self) {
        let _ = self.resize(0);
    }
}

/// All connected clients. Two interfaces of one server share one.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// Connections.
    pub places: Arc<Shares<Origin>>,
    /// Connections that have not logged on.
    pub strangers: Arc<Shares<Origin>>,
    /// Connections that have.
    users: Arc<Shares<String>>,
    incoming: Arc<Shares<Origin>>,
    turns: Mutex<BTreeMap<Origin, Arc<Mutex<()>>>>,
    limits: Limits,
    /// Connections of each interface.
    interfaces: Mutex<BTreeMap<&'static str, usize>>,
}

/// A counted connection of an interface; dropped when it ends.
pub(crate) struct Present {
    crowd: Arc<Crowd>,
    interface: &'static str,
}

impl Drop for Present {
    fn drop(&mut self) {
        self.crowd.interfaces.lock().entry(self.interface).and_modify(|count| *count -= 1);
    }
}

impl Crowd {
    pub fn new(limits: &Limits) -> Arc<Crowd> {
        Arc::new(Crowd {
            places: Shares::new(limits.connections_max, limits.connections_per_address_max),
            strangers: Shares::new(limits.strangers_max, limits.strangers_per_address_max),
            users: Shares::new(usize::MAX, limits.connections_per_user_max),
            incoming: Shares::new(limits.incoming_bytes_max, limits.incoming_bytes_per_address_max),
            turns: Mutex::default(),
            limits: limits.clone(),
            interfaces: Mutex::default(),
        })
    }
    /// Counts a connection of an interface.
    pub fn present(self: &Arc<Self>, interface: &'static str) -> Present {
        *self.interfaces.lock().entry(interface).or_default() += 1;
        Present { crowd: self.clone(), interface }
    }
    /// Connections of each interface that had one.
    pub fn interfaces(&self) -> BTreeMap<&'static str, usize> {
        self.interfaces.lock().clone()
    }
    /// An account of a connection's unfinished messages.
    pub fn account(self: &Arc<Self>, origin: Origin) -> Account {
        let share = self.incoming.take(origin, 0).expect("nothing is always to be had");
        Account { share, held: 0, free: FREE_BYTES }
    }
    /// An account of the values of one message.
    pub fn values(self: &Arc<Self>, origin: Origin) -> ValueAccount {
        ValueAccount { account: self.account(origin), max: self.limits.value_bytes_max }
    }
    /// A place of a user who has logged on.
    pub fn user(self: &Arc<Self>, name: &str) -> Result<Share<String>, String> {
        let max = self.limits.connections_per_user_max;
        self.users
            .take(name.to_string(), 1)
            .map_err(|_| format!("the user has {max} connections open, which is the limit; close some first"))
    }
    /// Runs it exclusively for the address: checking a password takes long, and one address must not make others wait.
    pub fn in_turn<R>(&self, origin: Origin, run: impl FnOnce() -> R) -> R {
        let turn = self.turns.lock().entry(origin).or_default().clone();
        let outcome = {
            let _mine = turn.lock();
            run()
        };
        drop(turn);
        let mut turns = self.turns.lock();
        if turns.get(&origin).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            turns.remove(&origin);
        }
        outcome
    }
}

/// The bytes that one connection holds.
#[derive(Debug)]
pub(crate) struct Account {
    share: Share<Origin>,
    held: usize,
    free: usize,
}

impl Account {
    /// Sets the bytes that it holds. Where there is no room it holds as many as before, and the error says why.
    pub fn hold(&mut self, bytes: usize) -> Result<(), String> {
        self.held = bytes;
        self.share.resize(bytes.saturating_sub(self.free)).map_err(|full| {
            let whose = match full {
                Full::All => "the server holds",
                Full::Each => "the server holds, of this address,",
            };
            format!("{whose} too many bytes of unfinished messages; try again later, or send shorter ones")
        })
    }
    /// Bytes that it holds, or wanted to.
    pub fn held(&self) -> usize {
        self.held
    }
}

/// The bytes that the values of one message take.
#[derive(Debug)]
pub(crate) struct ValueAccount {
    account: Account,
    max: usize,
}

impl ValueAccount {
    /// Holds `bytes` more.
    pub fn grow(&mut self, bytes: usize) -> Result<(), &'static str> {
        let held = self.account.held() + bytes;
        if held > self.max {
            return Err(
                "the values of the message take more bytes than one message may; send fewer at a time",
            );
        }
        self.account.hold(held).map_err(|_| {
            "the values of the message take more bytes than the server has room for now; try again later, or send fewer at a time"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    fn origin(number: u8) -> Origin {
        Origin::from(IpAddr::from([127, 0, 0, number]))
    }

    /// At the limit, above it, and after returning shares.
    #[test]
    fn nobody_takes_more_than_a_part_and_all_is_given_back() {
        let shares = Shares::new(10, 6);
        let mut first = shares.take(origin(1), 6).unwrap();
        assert_eq!(shares.take(origin(1), 1).unwrap_err(), Full::Each);
        assert_eq!(first.resize(7), Err(Full::Each));
        let second = shares.take(origin(2), 4).unwrap();
        assert_eq!(shares.take(origin(3), 1).unwrap_err(), Full::All);
        first.resize(5).unwrap();
        assert!(shares.take(origin(3), 1).is_ok());
        drop((first, second));
        assert_eq!((shares.taken(), shares.taken.lock().by.len()), (0, 0));
    }

    /// The obvious twin: a list of the shares.
    #[test]
    fn shares_are_counted_like_a_list_is() {
        let seed = Chance::from_system().below(1 << 32);
        let (mut chance, shares) = (Chance::seeded(seed), Shares::new(100, 40));
        let mut held: Vec<(u8, usize, Share<Origin>)> = Vec::new();
        for round in 0..2_000 {
            let (by, count) = (chance.below(4) as u8, chance.below(30) as usize);
            let all: usize = held.iter().map(|(_, count, _)| count).sum();
            let each: usize = held.iter().filter(|held| held.0 == by).map(|held| held.1).sum();
            let fits = count == 0 || (all + count <= 100 && each + count <= 40);
            let share = shares.take(origin(by), count);
            assert_eq!(share.is_ok(), fits, "seed {seed}, round {round}");
            held.extend(share.ok().map(|share| (by, count, share)));
            if chance.below(3) == 0 && !held.is_empty() {
                held.swap_remove(chance.below(held.len() as u64) as usize);
            }
            let sum: usize = held.iter().map(|(_, count, _)| count).sum();
            assert_eq!(shares.taken(), sum, "seed {seed}, round {round}");
        }
    }

    #[test]
    fn a_network_is_one_address() {
        let of = |text: &str| Origin::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }

    #[test]
    fn one_address_logs_on_one_by_one_and_leaves_nothing_behind() {
        let crowd = Crowd::new(&Limits::default());
        let seven = crowd.in_turn(origin(1), || crowd.in_turn(origin(2), || 7));
        assert_eq!((seven, crowd.turns.lock().len()), (7, 0));
    }
}
