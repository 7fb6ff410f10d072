//! Every limit of this crate, by name and with its reason.

/// Longest request text. Spans are 32 bits wide; data larger than this belongs into bindings.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting of traversals, predicates and collections. Parsing, printing, checking and dropping recurse once a level, and the
/// test `deepest_nesting_fits_the_stack` shows that this height fits the 2 MiB of a thread in an unoptimised build.
pub const NESTING_DEPTH_MAX: usize = 64;

/// Predicates joined to one another by `and` and `or`, in a chain or nested: testing, printing or dropping one recurses into them. Longer lists of
/// values belong into `within`.
pub const PREDICATE_DEPTH_MAX: usize = 128;

/// Most instructions of one traversal, nested ones included: each becomes a few hundred bytes.
pub const INSTRUCTIONS_MAX: usize = 20_000;

/// Most instructions of a traversal that becomes a plan: a plan is a chain of as many operators, which the planner weighs against each
/// other. Longer ones run on the machine.
pub const PLANNED_INSTRUCTIONS_MAX: usize = 256;

/// Traversals within each other that become sub-queries of a plan: each may be a scope, which executors keep in a tag of six places, and the
/// innermost may have a scope of its own. Deeper ones run on the machine.
pub const PLANNED_NESTING_MAX: usize = 5;

/// Most arguments of one instruction and most elements of one literal collection.
pub const ELEMENTS_MAX: usize = 100_000;

/// Operators one behind the other in a formula of `math`: the formula is a tree as high as they are many, and its value is computed by
/// recursion.
pub const FORMULA_OPERATORS_MAX: usize = 256;

/// Digits of a whole number or decimal without a fixed width: it is kept in 128 bits.
pub const DIGITS_MAX: usize = 38;
