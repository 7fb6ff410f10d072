use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn a_thread_has_a_name_and_a_result() {
    let thread = spawn("loader", || std::thread::current().name().map(str::to_string));
    assert_eq!(thread.join().as_deref(), Some("loader"));
}

#[test]
#[should_panic(expected = "inside the thread")]
fn a_panic_goes_on_in_who_joins() {
    spawn("loader", || panic!("inside the thread")).join()
}

#[test]
fn dropping_a_thread_waits_for_it() {
    let done = Arc::new(AtomicU32::new(0));
    let inside = Arc::clone(&done);
    drop(spawn("slow", move || {
        sleep(Duration::from_millis(20));
        inside.store(1, Ordering::SeqCst);
    }));
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[test]
fn a_parallel_map_keeps_the_order_of_its_inputs() {
    let inputs: Vec<u64> = (0..1000).collect();
    for threads in [0, 1, 3, 2000] {
        let squares = map_parallel("square", threads, &inputs, |x| x * x);
        assert!(squares.into_iter().eq(inputs.iter().map(|x| x * x)));
    }
    assert!(map_parallel("square", 4, &[], |x: &u64| *x).is_empty());
    assert_eq!(in_parallel("index", 4, |index| index * 2), [0, 2, 4, 6]);
    assert!(in_parallel("index", 0, |index| index).is_empty());
}

#[test]
fn a_signal_is_remembered_once() {
    let signal = Signal::new();
    assert!(!signal.take() && !signal.wait_for(Duration::from_millis(1)));
    signal.raise();
    signal.raise();
    signal.wait();
    assert!(!signal.take());
    signal.raise();
    assert!(signal.wait_for(Duration::from_secs(60)) && !signal.take());
}

fn counting(pace: impl Fn(u32) -> Pace + Send + 'static) -> (Background, Arc<AtomicU32>) {
    let steps = Arc::new(AtomicU32::new(0));
    let inside = Arc::clone(&steps);
    (Background::start("counting", move || pace(inside.fetch_add(1, Ordering::SeqCst) + 1)), steps)
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(1));
    }
    panic!("it did not happen within ten seconds");
}

#[test]
fn a_background_job_rests_until_it_is_nudged() {
    let (job, steps) = counting(|_| Pace::Rest);
    wait_until(|| steps.load(Ordering::SeqCst) == 1);
    job.nudge();
    wait_until(|| steps.load(Ordering::SeqCst) == 2);
    job.stop();
    assert_eq!(steps.load(Ordering::SeqCst), 2);
}

#[test]
fn a_background_job_goes_on_by_itself_and_ends_by_itself() {
    let (job, steps) = counting(|step| match step {
        1 => Pace::Again,
        2 => Pace::RestFor(Duration::from_millis(1)),
        _ => Pace::End,
    });
    wait_until(|| job.is_over());
    assert_eq!(steps.load(Ordering::SeqCst), 3);
}

#[test]
fn dropping_a_background_job_stops_it() {
    let (job, steps) = counting(|_| Pace::RestFor(Duration::from_millis(1)));
    wait_until(|| steps.load(Ordering::SeqCst) > 2);
    drop(job);
    let after = steps.load(Ordering::SeqCst);
    sleep(Duration::from_millis(10));
    assert_eq!(steps.load(Ordering::SeqCst), after);
}
