//! The two kernels, on one and on two threads: breadth-first levels, and counting two-hop walks.

use crate::layout::Lists;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

pub const UNSEEN: u8 = u8::MAX;

pub fn levels(graph: &impl Lists, source: u32) -> Vec<u8> {
    let mut level = vec![UNSEEN; graph.vertices() as usize];
    let (mut frontier, mut next, mut scratch) = (vec![source], Vec::new(), Vec::new());
    level[source as usize] = 0;
    let mut depth = 0;
    while !frontier.is_empty() {
        depth += 1;
        for &v in &frontier {
            for &w in graph.list(v, &mut scratch) {
                if level[w as usize] == UNSEEN {
                    level[w as usize] = depth;
                    next.push(w);
                }
            }
        }
        frontier.clear();
        std::mem::swap(&mut frontier, &mut next);
    }
    level
}

/// The same with workers that draw morsels of the frontier and meet at a barrier after each level.
pub fn levels_shared(graph: &impl Lists, source: u32, workers: usize) -> Vec<u8> {
    let level: Vec<AtomicU8> = (0..graph.vertices()).map(|_| AtomicU8::new(UNSEEN)).collect();
    level[source as usize].store(0, Relaxed);
    let frontier = std::sync::RwLock::new(vec![source]);
    let gathered = std::sync::Mutex::new(Vec::new());
    let (cursor, barrier) = (AtomicUsize::new(0), Barrier::new(workers));
    let work = || {
        let (mut depth, mut scratch) = (0u8, Vec::new());
        loop {
            depth += 1;
            let mut next = Vec::new();
            let current = frontier.read().expect("no panic");
            if current.is_empty() {
                return;
            }
            loop {
                let at = cursor.fetch_add(256, Relaxed);
                if at >= current.len() {
                    break;
                }
                for &v in &current[at..(at + 256).min(current.len())] {
                    for &w in graph.list(v, &mut scratch) {
                        let cell = &level[w as usize];
                        if cell.load(Relaxed) == UNSEEN && cell.swap(depth, Relaxed) == UNSEEN {
                            next.push(w);
                        }
                    }
                }
            }
            drop(current);
            gathered.lock().expect("no panic").append(&mut next);
            if barrier.wait().is_leader() {
                *frontier.write().expect("no panic") =
                    std::mem::take(&mut *gathered.lock().expect("no panic"));
                cursor.store(0, Relaxed);
            }
            barrier.wait();
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    level.into_iter().map(AtomicU8::into_inner).collect()
}

/// Two-hop walks from each source that do not return to it.
pub fn two_hops(graph: &impl Lists, sources: &[u32]) -> u64 {
    let (mut near, mut far, mut count) = (Vec::new(), Vec::new(), 0);
    for &v in sources {
        for &u in graph.list(v, &mut near) {
            count += graph.list(u, &mut far).iter().filter(|&&w| w != v).count() as u64;
        }
    }
    count
}

pub fn two_hops_shared(graph: &impl Lists, sources: &[u32], workers: usize) -> u64 {
    let cursor = AtomicUsize::new(0);
    let work = || {
        let mut count = 0;
        loop {
            let at = cursor.fetch_add(64, Relaxed);
            if at >= sources.len() {
                return count;
            }
            count += two_hops(graph, &sources[at..(at + 64).min(sources.len())]);
        }
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().map(|h| h.join().expect("no panic")).sum()
    })
}
