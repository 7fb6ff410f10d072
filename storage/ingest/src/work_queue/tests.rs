use super::*;
use world::chance::Chance;
use world::threads;

/// Blocks put in any order by several threads come out in order; the work queue never holds more than its threads can add to the limit.
#[test]
fn blocks_come_out_in_order() {
    let mut chance = Chance::from_system();
    let seed = chance.next_u64();
    println!("seed {seed}");
    for round in 0..50 {
        let mut chance = Chance::seeded(seed + round);
        let jobs: Vec<usize> = (0..5).map(|_| chance.index(20)).collect();
        let mut blocks: Vec<PartNumber> = jobs
            .iter()
            .enumerate()
            .flat_map(|(job, count)| (0..*count).map(move |number| (job, number)))
            .collect();
        let expected = blocks.clone();
        chance.shuffle(&mut blocks);
        let taken = Mutex::new(Vec::new());
        let work_queue: WorkQueue<usize, _, ()> = WorkQueue::new(jobs.len(), |job, number| {
            taken.lock().push((job, number));
            Ok(())
        });
        threads::in_parallel("work queue", 3, |thread| {
            for (job, number) in blocks.iter().skip(thread).step_by(3) {
                work_queue.put(*job, *number, Some(*number));
            }
            jobs.iter()
                .enumerate()
                .skip(thread)
                .step_by(3)
                .for_each(|(job, count)| work_queue.end(job, *count));
        });
        work_queue.finish().unwrap();
        assert_eq!(taken.into_inner(), expected);
    }
}

#[test]
fn an_error_stops_it_and_blocks_without_anything_are_passed_over() {
    let mut taken = Vec::new();
    let work_queue = WorkQueue::new(1, |_, number| {
        taken.push(number);
        if number == 2 { Err("two") } else { Ok(()) }
    });
    work_queue.put(0, 1, None);
    for number in [0, 3, 2, 4] {
        work_queue.put(0, number, Some(number));
    }
    assert!(work_queue.is_stopped());
    assert_eq!(work_queue.finish(), Err("two"));
    assert_eq!(taken, [0, 2]);
}
