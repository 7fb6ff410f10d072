//! Scheduling of sources and workers, as values: the policies of "recursive path queries in parallel" (section 3).
//!
//! | value | searches at once | workers of one |
//! |---|---|---|
//! | 1T1S | one a worker | the worker that began it |
//! | nT1S | one | all |
//! | nTkS(k) | k | the worker that began it; the others too, once one of them is idle |
//! | nTkMS(k) | k, each of up to 64 sources in lanes | the same |

use std::fmt;
use std::str::FromStr;

/// Lanes of one search.
pub const LANES_MAX: usize = 64;

/// May several workers work on one search?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// No: a search belongs to the worker that began it.
    Never,
    /// Always, where a level is large enough to cut.
    Always,
    /// From the moment on when a worker is idle; steps without locks always.
    WhenIdle,
}

/// How sources are dispatched to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DispatchPolicy {
    /// Searches that are open at once, at least one.
    pub searches_max: usize,
    /// Sources in one search, from 1 to [`LANES_MAX`].
    pub lanes: usize,
    /// Who works on one.
    pub sharing: Sharing,
    /// A level of fewer vertices is not cut; morsels are at least half as large, where a level is large enough.
    pub shared_min: usize,
}

/// Cutting costs some microseconds a level; so many vertices are tens of microseconds of work.
const SHARED_MIN: usize = 512;

/// The inputs of the choice of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Occasion {
    /// Sources.
    pub sources: usize,
    /// Workers.
    pub workers: usize,
    /// Vertices of the graph.
    pub vertices: u64,
    /// Edges in all lists together.
    pub edges: u64,
    /// Bytes that a vertex costs in a search of one source, beyond a few bits: one where paths are wanted.
    pub bytes_per_end: u64,
    /// Most hops.
    pub hops_max: u32,
    /// Bytes the searches may hold.
    pub bytes_max: u64,
}

/// Fewer sources are searched one by one: a lane costs words where a search of its own costs bits.
pub const LANE_SOURCES_MIN: usize = 4;
/// Walks that end sooner seldom meet, so lanes have little to share.
pub const LANE_HOPS_MIN: u32 = 3;
/// What a vertex costs in a search in lanes: so many words, of one byte for few sources, of eight for more; and bytes, its places in two lists.
const LANES_WORDS_PER_VERTEX: u64 = 3;
const LANES_LISTS_BYTES_PER_VERTEX: u64 = 8;
const FEW_LANES_MAX: u64 = 8;
/// The same in a search of one source: bits, and its place in a list.
const SINGLE_BYTES_PER_VERTEX: u64 = 5;

impl DispatchPolicy {
    /// 1T1S.
    pub fn one_thread_one_source(workers: usize) -> DispatchPolicy {
        DispatchPolicy {
            searches_max: workers.clamp(1, SEARCHES_OPEN_MAX),
            lanes: 1,
            sharing: Sharing::Never,
            shared_min: SHARED_MIN,
        }
    }
    /// nT1S.
    pub fn all_threads_one_source() -> DispatchPolicy {
        DispatchPolicy { searches_max: 1, lanes: 1, sharing: Sharing::Always, shared_min: SHARED_MIN }
    }
    /// nTkS.
    pub fn all_threads_some_sources(searches_max: usize) -> DispatchPolicy {
        DispatchPolicy {
            searches_max: searches_max.max(1),
            lanes: 1,
            sharing: Sharing::WhenIdle,
            shared_min: SHARED_MIN,
        }
    }
    /// nTkMS.
    pub fn all_threads_lanes(searches_max: usize) -> DispatchPolicy {
        DispatchPolicy { lanes: LANES_MAX, ..DispatchPolicy::all_threads_some_sources(searches_max) }
    }

    /// The policy for an occasion: one source is searched by all workers; a few are searched side by side; many share searches in lanes, as long as
    /// walks are long enough to meet, and their words fit. Where paths are wanted, rebuilding them is most of the work, which lanes do not share:
    /// each source has a search of its own. As many are open as there are workers and as memory allows.
    pub fn choose(occasion: &Occasion) -> DispatchPolicy {
        let Occasion { sources, workers, vertices, .. } = *occasion;
        if sources <= 1 {
            return DispatchPolicy::all_threads_one_source();
        }
        let width = LANES_MAX.min(sources) as u64;
        let bytes = |own: u64, width: u64| vertices * (own + width * occasion.bytes_per_end);
        let fitting = |bytes: u64| occasion.bytes_max / 2 / bytes.max(1);
        let word = if width <= FEW_LANES_MAX { 1 } else { 8 };
        let own = LANES_WORDS_PER_VERTEX * word + LANES_LISTS_BYTES_PER_VERTEX;
        let (of_lanes, of_one) = (bytes(own, width), bytes(SINGLE_BYTES_PER_VERTEX, 1));
        let (meets, traces) = (occasion.hops_max >= LANE_HOPS_MIN, occasion.bytes_per_end > 0);
        let in_lanes = sources >= LANE_SOURCES_MIN && meets && !traces && fitting(of_lanes) > 0;
        let fitting = fitting(if in_lanes { of_lanes } else { of_one });
        let open = workers.max(1).min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
        match in_lanes {
            true => DispatchPolicy::all_threads_lanes(open.min(sources.div_ceil(LANES_MAX))),
            false => DispatchPolicy::all_threads_some_sources(open.min(sources)),
        }
    }
}

impl fmt::Display for DispatchPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lanes, self.sharing, self.searches_max) {
            (1, Sharing::Never, _) => write!(f, "1T1S"),
            (1, Sharing::Always, 1) => write!(f, "nT1S"),
            (1, _, open) => write!(f, "nTkS({open})"),
            (_, _, open) => write!(f, "nTkMS({open})"),
        }
    }
}

impl FromStr for DispatchPolicy {
    type Err = ();
    /// As [`DispatchPolicy`] prints itself; 1T1S is for as many workers as there are.
    fn from_str(text: &str) -> Result<DispatchPolicy, ()> {
        let open = |name: &str| {
            let inside = text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
            inside.parse::<usize>().ok().filter(|open| (1..=SEARCHES_OPEN_MAX).contains(open))
        };
        match text {
            "1T1S" => Ok(DispatchPolicy::one_thread_one_source(SEARCHES_OPEN_MAX)),
            "nT1S" => Ok(DispatchPolicy::all_threads_one_source()),
            _ => match (open("nTkS"), open("nTkMS")) {
                (Some(open), _) => Ok(DispatchPolicy::all_threads_some_sources(open)),
                (_, Some(open)) => Ok(DispatchPolicy::all_threads_lanes(open)),
                _ => Err(()),
            },
        }
    }
}

/// Searches open at once, whatever the policy: each holds memory for a good part of the graph.
pub const SEARCHES_OPEN_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        for text in ["1T1S", "nT1S", "nTkS(4)", "nTkMS(2)"] {
            assert_eq!(text.parse::<DispatchPolicy>().map(|policy| policy.to_string()), Ok(text.to_string()));
        }
        for text in ["", "nTkS", "nTkS(0)", "nTkS(65)", "nTkMS(x)", "2T2S"] {
            assert_eq!(text.parse::<DispatchPolicy>(), Err(()), "{text}");
        }
    }

    #[test]
    fn the_choice_follows_sources_hops_and_memory() {
        let occasion = Occasion {
            sources: 1,
            workers: 2,
            vertices: 1 << 20,
            edges: 16 << 20,
            bytes_per_end: 0,
            hops_max: u32::MAX,
            bytes_max: 1 << 30,
        };
        let chosen = |occasion: Occasion| DispatchPolicy::choose(&occasion).to_string();
        assert_eq!(chosen(occasion), "nT1S");
        assert_eq!(chosen(Occasion { sources: 3, ..occasion }), "nTkS(2)");
        assert_eq!(chosen(Occasion { sources: 64, ..occasion }), "nTkMS(1)");
        assert_eq!(chosen(Occasion { sources: 256, ..occasion }), "nTkMS(2)");
        assert_eq!(chosen(Occasion { sources: 256, bytes_max: 64 << 20, ..occasion }), "nTkMS(1)");
        assert_eq!(chosen(Occasion { sources: 256, bytes_max: 32 << 20, ..occasion }), "nTkS(2)");
        assert_eq!(chosen(Occasion { sources: 256, bytes_max: 8 << 20, ..occasion }), "nTkS(1)");
        assert_eq!(chosen(Occasion { sources: 256, bytes_per_end: 1, ..occasion }), "nTkS(2)");
        assert_eq!(chosen(Occasion { sources: 256, hops_max: 2, ..occasion }), "nTkS(2)");
    }
}
