//! The edges: for each event the list of events right after it, in blocks of powers of two.
//!
//! Idea: a list of one is kept in the event itself; a longer one lies in a block of its size class, and moves to the next class when it is
//! full. A freed block is the next one taken.
//! Invariant: a list of `count` targets lies in class `ceil(log2(count))`; a block belongs to at most one list.
//! Cost: 4 bytes an edge and at most as much again of slack; a push copies each target once on average.

/// Words of a segment, unless one block needs more. Segments are never moved, so growth copies nothing.
const SEGMENT_WORDS: usize = 1 << 16;

/// Where the list of one event lies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    /// The only target of a list of one; else the block in its class.
    place: u32,
    count: u32,
}

/// The blocks of all lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    /// By class, from blocks of two words upward.
    classes: Vec<Class>,
}

#[derive(Clone, Debug, Default)]
struct Class {
    segments: Vec<Box<[u32]>>,
    blocks: u32,
    free: Vec<u32>,
}

impl List {
    pub(super) fn len(self) -> usize {
        self.count as usize
    }
}

impl Lists {
    /// The targets, in the order in which they came.
    pub(super) fn targets<'a>(&'a self, list: &'a List) -> &'a [u32] {
        match list.count {
            0 => &[],
            1 => std::slice::from_ref(&list.place),
            count => &self.classes[class_of(count)].block(class_of(count), list.place)[..count as usize],
        }
    }

    pub(super) fn push(&mut self, list: &mut List, target: u32) {
        let count = list.count;
        if count == 0 {
            list.place = target;
        } else {
            if count.is_power_of_two() {
                self.move_to(list, class_of(count + 1));
            }
            let class = class_of(count + 1);
            self.classes[class].block_mut(class, list.place)[count as usize] = target;
        }
        list.count = count + 1;
    }

    /// Takes the last target back.
    pub(super) fn pop(&mut self, list: &mut List) -> Option<u32> {
        let last = *self.targets(list).last()?;
        let left = list.count - 1;
        if left == 1 {
            let first = self.targets(list)[0];
            self.classes[0].free.push(list.place);
            list.place = first;
        } else if left > 1 && left.is_power_of_two() {
            let (from, to) = (class_of(list.count), class_of(left));
            let kept: Vec<u32> = self.targets(list)[..left as usize].to_vec();
            let place = self.allocate(to);
            self.classes[to].block_mut(to, place).copy_from_slice(&kept);
            self.classes[from].free.push(list.place);
            list.place = place;
        }
        list.count = left;
        Some(last)
    }

    /// Gives the block back.
    pub(super) fn clear(&mut self, list: &mut List) {
        if list.count > 1 {
            self.classes[class_of(list.count)].free.push(list.place);
        }
        *list = List::default();
    }

    /// Bytes of all blocks, used and free.
    pub(super) fn bytes(&self) -> usize {
        let of = |class: &Class| {
            class.segments.iter().map(|segment| segment.len() * 4).sum::<usize>() + class.free.capacity() * 4
        };
        self.classes.iter().map(of).sum()
    }

    /// Moves a full list of `count` targets into a block of a larger class.
    fn move_to(&mut self, list: &mut List, class: usize) {
        let count = list.count as usize;
        let place = self.allocate(class);
        if count == 1 {
            self.classes[class].block_mut(class, place)[0] = list.place;
        } else {
            let (smaller, larger) = self.classes.split_at_mut(class);
            let source = smaller[class - 1].block(class - 1, list.place);
            larger[0].block_mut(class, place)[..count].copy_from_slice(source);
            self.classes[class - 1].free.push(list.place);
        }
        list.place = place;
    }

    fn allocate(&mut self, class: usize) -> u32 {
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Class::default);
        }
        self.classes[class].allocate(class)
    }
}

impl Class {
    fn allocate(&mut self, class: usize) -> u32 {
        if let Some(block) = self.free.pop() {
            return block;
        }
        let block = self.blocks;
        if (block as usize).is_multiple_of(blocks_of_segment(class)) {
            self.segments.push(vec![0; blocks_of_segment(class) << (class + 1)].into());
        }
        self.blocks += 1;
        block
    }
    fn block(&self, class: usize, block: u32) -> &[u32] {
        let (segment, from, to) = position(class, block);
        &self.segments[segment][from..to]
    }
    fn block_mut(&mut self, class: usize, block: u32) -> &mut [u32] {
        let (segment, from, to) = position(class, block);
        &mut self.segments[segment][from..to]
    }
}

/// The class of a list of two or more: 0 holds two, 1 holds four.
fn class_of(count: u32) -> usize {
    debug_assert!(count > 1, "a shorter list has no block");
    (31 - (count - 1).leading_zeros()) as usize
}

fn blocks_of_segment(class: usize) -> usize {
    (SEGMENT_WORDS >> (class + 1)).max(1)
}

fn position(class: usize, block: u32) -> (usize, usize, usize) {
    let a_segment = blocks_of_segment(class);
    let from = (block as usize % a_segment) << (class + 1);
    (block as usize / a_segment, from, from + (2 << class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    /// Lists beside plain vectors, through pushes, pops and clears, also past the size of a segment.
    #[test]
    fn lists_are_vectors() {
        for seed in 0..20 {
            let mut chance = Chance::seeded(seed);
            let mut lists = Lists::default();
            let mut pairs: Vec<(List, Vec<u32>)> = vec![Default::default(); 40];
            for step in 0..4_000 {
                let at = chance.below(pairs.len() as u64) as usize;
                let (list, twin) = &mut pairs[at];
                match chance.below(20) {
                    0 => {
                        lists.clear(list);
                        twin.clear();
                    }
                    1..=5 => assert_eq!(lists.pop(list), twin.pop(), "seed {seed}"),
                    _ => {
                        lists.push(list, step);
                        twin.push(step);
                    }
                }
                pairs.iter().for_each(|(list, twin)| assert_eq!(lists.targets(list), twin, "seed {seed}"));
            }
        }
    }

    #[test]
    fn a_list_longer_than_a_segment() {
        let (mut lists, mut list) = (Lists::default(), List::default());
        let count = SEGMENT_WORDS as u32 * 2 + 1;
        (0..count).for_each(|target| lists.push(&mut list, target));
        assert!(lists.targets(&list).iter().copied().eq(0..count));
        // Segments of the smaller classes, too, that it outgrew.
        assert!(lists.bytes() >= count as usize * 4 && lists.bytes() % 4 == 0, "{}", lists.bytes());
        let words: usize =
            lists.classes.iter().flat_map(|class| &class.segments).map(|segment| segment.len()).sum();
        let free: usize = lists.classes.iter().map(|class| class.free.capacity()).sum();
        assert_eq!(lists.bytes(), 4 * words + 4 * free);
        (0..count).rev().for_each(|target| assert_eq!(lists.pop(&mut list), Some(target)));
        assert_eq!(list.len(), 0);
    }
}
