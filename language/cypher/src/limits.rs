//! Every limit of this crate, by name and with its reason.

/// Longest query text. Spans are 32 bits wide and a token takes about 50 bytes, so this bounds a parse to some 200 MiB;
/// data larger than this belongs into parameters or into an import.
pub const QUERY_TEXT_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting of expressions, patterns and subqueries, counted as the height of the syntax tree. Parsing, printing,
/// lowering and dropping recurse once a level; the test `deepest_tree_fits_the_stack` shows that this height fits
/// the 2 MiB of a thread in an unoptimised build. Chains of `AND`, `OR`, commas and clauses do not count.
pub const NESTING_DEPTH_MAX: usize = 80;

/// Longest chain of one left-associative operator such as `a + b + c`: it makes the tree as high as it is long, with frames
/// smaller than those of true nesting.
pub const TREE_HEIGHT_MAX: usize = 400;

/// Most clauses of one statement, subqueries and parts of a `UNION` included. A clause is one to three operators stacked on those
/// before it, and plans are walked and dropped by recursion.
pub const CLAUSES_MAX: usize = 1_000;

/// Most nodes of the patterns of one `MATCH`. The planner's own limit is lower; this one keeps the look-up of repeated nodes cheap.
pub const PATTERN_NODES_MAX: usize = 1_000;

/// Most operators that one `CREATE` is cut into because its properties read entities that it creates itself.
pub const CREATE_PARTS_MAX: usize = 200;
