//! The checker itself: each anomaly is found under its name, and nothing is found where nothing is wrong.

use tanglewood_histories::anomaly::Anomaly;
use tanglewood_histories::check::{Findings, check};
use tanglewood_histories::history::Operation::{Add, Append, Read, ReadList, ReadSet, Write};
use tanglewood_histories::history::{History, Observed, Operation, Outcome};

const X: u32 = 1;
const Y: u32 = 2;

fn at(invoked: u64, returned: u64, operations: &[Operation]) -> Observed {
    let process = invoked as usize;
    Observed { process, invoked, returned, outcome: Outcome::Committed, operations: operations.to_vec() }
}

/// Ends with this outcome, at the same time as all others.
fn ended(outcome: Outcome, operations: &[Operation]) -> Observed {
    Observed { outcome, ..at(0, 100, operations) }
}

/// All at the same time: real time orders nothing.
fn together(transactions: &[&[Operation]]) -> Vec<Observed> {
    transactions.iter().map(|operations| at(0, 100, operations)).collect()
}

fn find(transactions: Vec<Observed>) -> Findings {
    check(&History { transactions })
}

fn names(transactions: Vec<Observed>) -> Vec<&'static str> {
    find(transactions).names()
}

#[test]
fn an_empty_history_is_clean() {
    assert!(find(Vec::new()).is_clean());
    assert!(find(together(&[&[], &[]])).is_clean());
}

#[test]
fn g0_dirty_writes() {
    let found = find(together(&[
        &[Append(X, 1), Append(Y, 1)],
        &[Append(X, 2), Append(Y, 2)],
        &[ReadList(X, vec![1, 2]), ReadList(Y, vec![2, 1])],
    ]));
    assert_eq!(found.names(), ["G0 (dirty write)"]);
    assert_eq!(found.anomalies[0].transactions(), [0, 1]);
    let story = found.to_string();
    assert!(story.contains("wrote list 1, and T1 wrote 2 behind it"), "{story}");
}

#[test]
fn g1a_aborted_reads() {
    let aborted = ended(Outcome::Aborted, &[Append(X, 1)]);
    assert_eq!(names(vec![aborted, at(0, 100, &[ReadList(X, vec![1])])]), ["G1a (aborted read)"]);
    let aborted = ended(Outcome::Aborted, &[Write(X, 1)]);
    assert_eq!(names(vec![aborted, at(0, 100, &[Read(X, Some(1))])]), ["G1a (aborted read)"]);
    // Even a transaction that is refused later must never have seen what was taken back.
    let aborted = ended(Outcome::Aborted, &[Add(X, 1)]);
    let refused = ended(Outcome::Aborted, &[ReadSet(X, vec![1])]);
    assert_eq!(names(vec![aborted, refused]), ["G1a (aborted read)"]);
}

#[test]
fn g1b_intermediate_reads() {
    let history =
        together(&[&[Append(X, 1), Append(X, 2)], &[ReadList(X, vec![1])], &[ReadList(X, vec![1, 2])]]);
    assert_eq!(names(history)[0], "G1b (intermediate read)");
    assert_eq!(
        names(together(&[&[Write(X, 1), Write(X, 2)], &[Read(X, Some(1))]])),
        ["G1b (intermediate read)"]
    );
    let half = names(together(&[&[Add(X, 1), Add(X, 2)], &[ReadSet(X, vec![2])]]));
    assert_eq!(half[0], "G1b (intermediate read)");
}

#[test]
fn g1c_circular_information_flow() {
    let lists = together(&[&[Append(X, 1), ReadList(Y, vec![1])], &[Append(Y, 1), ReadList(X, vec![1])]]);
    assert_eq!(names(lists), ["G1c (circular information flow)"]);
    let registers = together(&[&[Write(X, 1), Read(Y, Some(1))], &[Write(Y, 1), Read(X, Some(1))]]);
    assert_eq!(names(registers), ["G1c (circular information flow)"]);
}

#[test]
fn g_single_read_skew() {
    let skewed = together(&[&[Append(X, 1), Append(Y, 1)], &[ReadList(X, vec![]), ReadList(Y, vec![1])]]);
    assert_eq!(names(skewed), ["G-single (read skew)"]);
    let skewed = together(&[&[Write(X, 1), Write(Y, 1)], &[Read(X, None), Read(Y, Some(1))]]);
    assert_eq!(names(skewed), ["G-single (read skew)"]);
    let skewed = together(&[&[Add(X, 1), Add(Y, 1)], &[ReadSet(X, vec![]), ReadSet(Y, vec![1])]]);
    assert_eq!(names(skewed), ["G-single (read skew)"]);
}

#[test]
fn read_skew_against_a_later_value_of_a_register() {
    // T2 saw the second value of one register and the first of the other: the order of the writes follows from T1's own reads.
    let skewed = together(&[
        &[Write(X, 1), Write(Y, 1)],
        &[Read(X, Some(1)), Read(Y, Some(1)), Write(X, 2), Write(Y, 2)],
        &[Read(X, Some(2)), Read(Y, Some(1))],
    ]);
    assert_eq!(names(skewed), ["G-single (read skew)"]);
}

#[test]
fn lost_updates() {
    let lost = together(&[
        &[ReadList(X, vec![]), Append(X, 1)],
        &[ReadList(X, vec![]), Append(X, 2)],
        &[ReadList(X, vec![1, 2])],
    ]);
    assert_eq!(names(lost), ["lost update"]);
    let lost =
        together(&[&[Write(X, 1)], &[Read(X, Some(1)), Write(X, 2)], &[Read(X, Some(1)), Write(X, 3)]]);
    assert_eq!(names(lost), ["lost update"]);
}

#[test]
fn g2_write_skew() {
    let skew = together(&[&[ReadList(X, vec![]), Append(Y, 1)], &[ReadList(Y, vec![]), Append(X, 1)]]);
    assert_eq!(names(skew), ["G2 (write skew)"]);
    let phantoms = together(&[&[ReadSet(X, vec![]), Add(X, 1)], &[ReadSet(X, vec![]), Add(X, 2)]]);
    assert_eq!(phantoms.len(), 2);
    assert_eq!(names(phantoms), ["lost update"], "two on one set that each missed the other's value");
    let three = together(&[
        &[ReadSet(X, vec![]), Add(Y, 1)],
        &[ReadSet(Y, vec![]), Add(3, 1)],
        &[ReadSet(3, vec![]), Add(X, 1)],
    ]);
    let found = find(three);
    assert_eq!(found.names(), ["G2 (write skew)"]);
    assert_eq!(found.anomalies[0].transactions(), [0, 1, 2]);
}

#[test]
fn real_time_violations() {
    let stale =
        vec![at(0, 1, &[Append(X, 1)]), at(2, 3, &[ReadList(X, vec![])]), at(4, 5, &[ReadList(X, vec![1])])];
    let found = find(stale.clone());
    assert!(matches!(found.anomalies[..], [Anomaly::Cycle { real_time: true, .. }]), "{found}");
    assert!(found.to_string().contains("T0 had answered before T1 began"), "{found}");
    // The same without an order in time is fine: the reader came first.
    let operations: Vec<Vec<Operation>> = stale.into_iter().map(|one| one.operations).collect();
    assert!(find(operations.iter().map(|one| at(0, 100, one)).collect()).is_clean());
}

#[test]
fn real_time_orders_the_values_of_registers() {
    let stale = vec![
        at(0, 1, &[Write(X, 1)]),
        at(2, 3, &[Write(X, 2)]),
        at(4, 5, &[Read(X, Some(1))]),
        at(6, 7, &[Read(X, Some(2))]),
    ];
    let found = find(stale);
    assert!(matches!(found.anomalies[..], [Anomaly::Cycle { real_time: true, .. }]), "{found}");
}

#[test]
fn lost_and_duplicate_and_garbage_and_disorder() {
    let lost = vec![at(0, 1, &[Append(X, 1)]), at(2, 3, &[ReadList(X, vec![])])];
    assert_eq!(names(lost)[0], "lost write");
    let lost = vec![at(0, 1, &[Add(X, 1), Add(X, 2)]), at(2, 3, &[ReadSet(X, vec![])])];
    assert_eq!(&names(lost)[..2], ["lost write", "lost write"]);
    let twice = together(&[&[Append(X, 1)], &[ReadList(X, vec![1, 1])]]);
    assert_eq!(names(twice)[0], "duplicate write");
    assert_eq!(names(together(&[&[ReadList(X, vec![9])]])), ["garbage read"]);
    let disorder =
        together(&[&[Append(X, 1)], &[Append(X, 2)], &[ReadList(X, vec![1])], &[ReadList(X, vec![2, 1])]]);
    assert_eq!(names(disorder)[0], "incompatible order");
}

#[test]
fn transactions_must_agree_with_themselves() {
    let forgot = together(&[&[Append(X, 1), ReadList(X, vec![])]]);
    assert_eq!(names(forgot), ["internal inconsistency"]);
    let changed = together(&[&[Add(X, 1)], &[ReadSet(X, vec![]), ReadSet(X, vec![1])]]);
    assert_eq!(names(changed)[0], "internal inconsistency");
    let fine =
        together(&[&[Write(X, 1), Read(X, Some(1)), Write(X, 2), Read(X, Some(2))], &[Read(X, Some(2))]]);
    assert!(find(fine).is_clean());
}

#[test]
fn unknown_outcomes_may_be_there_or_not_but_not_half() {
    let unknown = || ended(Outcome::Unknown, &[Append(X, 1), Append(Y, 1)]);
    assert!(find(vec![unknown(), at(200, 201, &[ReadList(X, vec![]), ReadList(Y, vec![])])]).is_clean());
    assert!(find(vec![unknown(), at(200, 201, &[ReadList(X, vec![1]), ReadList(Y, vec![1])])]).is_clean());
    // It may even take effect long after its client gave up.
    let late = vec![
        unknown(),
        at(200, 201, &[ReadList(X, vec![]), ReadList(Y, vec![])]),
        at(202, 203, &[ReadList(X, vec![1]), ReadList(Y, vec![1])]),
    ];
    assert!(find(late).is_clean());
    let half = vec![unknown(), at(200, 201, &[ReadList(X, vec![1]), ReadList(Y, vec![])])];
    assert_eq!(names(half), ["G-single (read skew)"]);
    // Seen once, gone later: it had taken effect, so it was lost.
    let gone = vec![unknown(), at(200, 201, &[ReadList(X, vec![1])]), at(202, 203, &[ReadList(X, vec![])])];
    let found = find(gone);
    assert!(matches!(found.anomalies[..], [Anomaly::Cycle { real_time: true, .. }]), "{found}");
}

#[test]
#[should_panic(expected = "the workload is at fault")]
fn values_must_be_new() {
    find(together(&[&[Append(X, 1)], &[Append(X, 1)]]));
}
