use super::*;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Resumes until it ends; how often it paused, and its outcome.
fn run<R>(mut fiber: Fiber<R>, stacks: &mut Stacks) -> (usize, R) {
    for pauses in 0.. {
        match fiber.resume(0, stacks) {
            Resumed::Paused(paused) => fiber = paused,
            Resumed::Done(outcome) => return (pauses, outcome),
        }
    }
    unreachable!("it ends")
}

/// Pauses at a depth of `calls` calls.
fn deep(calls: usize) -> usize {
    if calls == 0 {
        pause();
        return 0;
    }
    1 + deep(calls - 1)
}

fn fiber<R: 'static>(stacks: &mut Stacks, body: impl FnOnce() -> R + 'static) -> Fiber<R> {
    stacks.fiber(body).ok().expect("there is room for a fiber")
}

#[test]
fn work_pauses_anywhere_and_goes_on() {
    let mut stacks = Stacks::default();
    let work = fiber(&mut stacks, || (0..5).map(|_| deep(100)).sum::<usize>());
    assert_eq!(run(work, &mut stacks), (5, 500));
    assert_eq!((stacks.lent.get(), stacks.spare.len()), (0, 1));
}

#[test]
fn many_take_turns() {
    let mut stacks = Stacks::default();
    let told = Rc::new(RefCell::new(Vec::new()));
    let mut waiting: Vec<Fiber<()>> = Vec::new();
    for number in 0..3 {
        let told = told.clone();
        waiting.push(fiber(&mut stacks, move || {
            for round in 0..3 {
                told.borrow_mut().push((round, number));
                pause();
            }
        }));
    }
    while !waiting.is_empty() {
        let resumed = waiting.drain(..).map(|work| work.resume(0, &mut stacks)).collect::<Vec<_>>();
        waiting = resumed
            .into_iter()
            .filter_map(|resumed| match resumed {
                Resumed::Paused(work) => Some(work),
                Resumed::Done(()) => None,
            })
            .collect();
    }
    let expected: Vec<(usize, usize)> = (0..3).flat_map(|round| (0..3).map(move |of| (round, of))).collect();
    assert_eq!(*told.borrow(), expected);
}

#[test]
fn a_fiber_within_a_fiber_pauses_alone() {
    let mut stacks = Stacks::default();
    let outer = fiber(&mut stacks, || {
        let mut stacks = Stacks::default();
        let inner = fiber(&mut stacks, || {
            pause();
            7
        });
        let Resumed::Paused(inner) = inner.resume(0, &mut stacks) else { panic!("it pauses") };
        pause();
        let Resumed::Done(found) = inner.resume(0, &mut stacks) else { panic!("it ends") };
        pause();
        found
    });
    assert_eq!(run(outer, &mut stacks), (2, 7));
}

#[test]
fn nothing_pauses_outside_of_fibers_and_while_still() {
    pause();
    assert!(!is_due(u64::MAX));
    let mut stacks = Stacks::default();
    let work = fiber(&mut stacks, || {
        {
            let _still = Still::begin();
            let _stiller = Still::begin();
            assert!(!is_due(1));
            pause();
        }
        assert!(is_due(1));
        pause();
    });
    assert_eq!(run(work, &mut stacks), (1, ()));
}

#[test]
fn a_panic_comes_out_where_it_was_resumed_and_leaves_the_thread_as_it_was() {
    let mut stacks = Stacks::default();
    let work = fiber(&mut stacks, || {
        let _still = Still::begin();
        panic!("as planned");
    });
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _: Resumed<()> = work.resume(0, &mut stacks);
    }));
    assert!(caught.is_err());
    assert_eq!((STILL.get(), UNTIL_NS.get(), RUNNING.get()), (0, u64::MAX, ptr::null()));
    let next = fiber(&mut stacks, || deep(3));
    assert_eq!(run(next, &mut stacks), (1, 3));
}

#[test]
fn what_a_dropped_fiber_held_is_dropped() {
    let mut stacks = Stacks::default();
    let held = Rc::new(());
    let inside = held.clone();
    let work = fiber(&mut stacks, move || {
        let _inside = inside;
        pause();
    });
    let Resumed::Paused(work) = work.resume(0, &mut stacks) else { panic!("it pauses") };
    assert_eq!(Rc::strong_count(&held), 2);
    drop(work);
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn there_is_a_limit_to_their_number() {
    let mut stacks = Stacks::default();
    let mut paused = Vec::new();
    for _ in 0..FIBERS_MAX {
        let work = fiber(&mut stacks, pause);
        let Resumed::Paused(work) = work.resume(0, &mut stacks) else { panic!("it pauses") };
        paused.push(work);
    }
    assert!(stacks.fiber(|| ()).is_err());
    let (_, ()) = run(paused.pop().expect("some"), &mut stacks);
    assert!(stacks.fiber(|| ()).is_ok());
}

/// So deep that a stack of a megabyte does not hold it.
fn deeper(calls: usize) -> usize {
    let ballast = std::hint::black_box([calls as u8; 1_024]);
    if calls == 0 { 0 } else { 1 + deeper(calls - 1) + usize::from(ballast[7]) - usize::from(ballast[8]) }
}

#[test]
fn how_deep_work_may_go_does_not_depend_on_its_thread() {
    let small = || {
        assert_eq!(roomy(|| roomy(|| deeper(3_000))), 3_000);
        let caught = catch_unwind(|| roomy(|| panic!("as planned")));
        assert!(caught.is_err() && !IS_ROOMY.get());
        roomy(|| deeper(2_000))
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(small).expect("a thread");
    assert_eq!(thread.join().expect("it has room"), 2_000);
}
