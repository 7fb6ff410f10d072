//! The memory of planning a long text is charged to the client, by an estimate that is compared with the allocator.

use tanglewood_database::{Database, Limits, MEMORY, Options, Params};

/// A charge may be so many times what was given, and what was given so many times the charge.
const TIMES_MAX: u64 = 3;

fn texts() -> Vec<(&'static str, String)> {
    let joined = |count: usize, sep: &str, one: &dyn Fn(usize) -> String| {
        (0..count).map(one).collect::<Vec<_>>().join(sep)
    };
    vec![
        ("elements", format!("EXPLAIN RETURN size([{}]) AS s", joined(100_000, ",", &|i| i.to_string()))),
        (
            "maps",
            format!("EXPLAIN RETURN [{}] AS s", joined(20_000, ",", &|i| format!("{{a: {i}, b: 'x'}}"))),
        ),
        ("columns", format!("EXPLAIN RETURN {}", joined(30_000, ", ", &|i| format!("{i} AS c{i}")))),
        (
            "sums",
            format!(
                "EXPLAIN UNWIND [1] AS x RETURN [{}] AS s",
                joined(20_000, ", ", &|i| format!("x + {i} * 2"))
            ),
        ),
        ("nodes", format!("EXPLAIN CREATE {}", joined(15_000, ", ", &|i| format!("(n{i}:L {{a: {i}}})")))),
        ("labels", format!("EXPLAIN MATCH (n:{}) RETURN n", joined(30_000, "|", &|i| format!("A{i}")))),
    ]
}

#[test]
fn planning_is_charged_as_the_allocator_gave() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    for (name, text) in texts() {
        let passes = |bytes_max: u64| {
            let limits = Limits { bytes_max: Some(bytes_max), ..Limits::default() };
            // Each time another text, which no cache knows.
            let text = format!("{text} // {bytes_max}");
            match database
                .session()
                .query_within(&text, Params::new(), &limits)
                .and_then(|found| found.rows())
            {
                Ok(_) => true,
                Err(error) => {
                    assert!(error.code.contains("Memory"), "{name}: {error:?}");
                    false
                }
            }
        };
        assert!(passes(1 << 33), "{name}");
        let before = heap::held();
        heap::restart_most();
        assert!(passes((1 << 33) + 1), "{name}");
        let given = u64::try_from(heap::most() - before).unwrap();
        let (mut low, mut high) = (0, given * 8);
        assert!(passes(high), "{name}");
        while high - low > high / 16 {
            let middle = low + (high - low) / 2;
            if passes(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        println!("{name}: {} bytes of text, {given} given, {high} charged", text.len());
        assert!(
            high <= given * TIMES_MAX && given <= high * TIMES_MAX,
            "{name}: {given} given, {high} charged"
        );
        // Nothing of it stays charged.
        assert!(database.running().is_empty());
        assert!(passes(high + high / 8), "{name}");
    }
}
