//! The words that are neither data nor steps: `T.id`, `Order.desc`, `Scope.local`, …

macro_rules! tokens {
    ($($(#[$doc:meta])* $class:literal { $($variant:ident $name:literal),* $(,)? })*) => {
        /// A word of one of Gremlin's enumerations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each is the word of its class: TId is T.id")]
        pub enum Token { $($($variant),*),* }

        impl Token {
            /// The enumeration it belongs to.
            pub fn class(self) -> &'static str {
                match self { $($(Token::$variant => $class),*),* }
            }
            /// Its name there.
            pub fn name(self) -> &'static str {
                match self { $($(Token::$variant => $name),*),* }
            }
            /// The word of an enumeration by its name.
            pub fn of(class: &str, name: &str) -> Option<Token> {
                Some(match (class, name) { $($(($class, $name) => Token::$variant),*),*, _ => return None })
            }
            /// All of them.
            pub const ALL: &'static [Token] = &[$($(Token::$variant),*),*];
        }
    };
}

tokens! {
    "T" { TId "id", TLabel "label", TKey "key", TValue "value" }
    "Order" { Asc "asc", Desc "desc", Shuffle "shuffle" }
    "Scope" { Local "local", Global "global" }
    "Pop" { First "first", Last "last", All "all", Mixed "mixed" }
    "Column" { Keys "keys", Values "values" }
    "Direction" { Out "OUT", In "IN", Both "BOTH" }
    "Cardinality" { Single "single", List "list", Set "set" }
    "Operator" {
        Sum "sum", Minus "minus", Mult "mult", Div "div", Min "min", Max "max", Assign "assign",
        And "and", Or "or", AddAll "addAll", SumLong "sumLong",
    }
    "Pick" { PickAny "any", PickNone "none", Unproductive "unproductive" }
    "Merge" { OnCreate "onCreate", OnMatch "onMatch", OutV "outV", InV "inV" }
    "DT" { Second "second", Minute "minute", Hour "hour", Day "day" }
    "Barrier" { NormSack "normSack" }
    "GType" {
        GBigDecimal "BIGDECIMAL", GBigInt "BIGINT", GBinary "BINARY", GBoolean "BOOLEAN", GByte "BYTE", GChar "CHAR",
        GDateTime "DATETIME", GDouble "DOUBLE", GDuration "DURATION", GEdge "EDGE", GFloat "FLOAT", GGraph "GRAPH",
        GInt "INT", GList "LIST", GLong "LONG", GMap "MAP", GNull "NULL", GNumber "NUMBER", GPath "PATH",
        GProperty "PROPERTY", GSet "SET", GShort "SHORT", GString "STRING", GTree "TREE", GUuid "UUID",
        GVertex "VERTEX", GVertexProperty "VPROPERTY",
    }
}

/// How the values of one key of a vertex are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cardinality {
    /// One value; a new one takes its place.
    Single,
    /// Any number, equal ones too.
    List,
    /// Any number, each once.
    Set,
}

impl Cardinality {
    /// The cardinality a token names.
    pub fn of(token: Token) -> Option<Cardinality> {
        Some(match token {
            Token::Single => Cardinality::Single,
            Token::List => Cardinality::List,
            Token::Set => Cardinality::Set,
            _ => return None,
        })
    }
    /// Its token.
    pub fn token(self) -> Token {
        match self {
            Cardinality::Single => Token::Single,
            Cardinality::List => Token::List,
            Cardinality::Set => Token::Set,
        }
    }
}

impl Token {
    /// The word that stands without its class, such as `desc` or `local`. Where two classes share a word, the first of the list above
    /// has it, but `from` and `to` are directions.
    pub fn bare(name: &str) -> Option<Token> {
        Token::direction(name).or_else(|| Token::ALL.iter().copied().find(|token| token.name() == name))
    }
    /// A word of a class, in all the spellings drivers use.
    pub fn parse(class: &str, name: &str) -> Option<Token> {
        match class {
            "Direction" => Token::direction(name),
            "VertexProperty.Cardinality" => Token::of("Cardinality", name),
            "SackFunctions.Barrier" => Token::of("Barrier", name),
            "GType" => Token::of("GType", &name.to_uppercase()),
            _ => Token::of(class, name.trim_end_matches('_')),
        }
    }
    fn direction(name: &str) -> Option<Token> {
        Some(match name {
            "OUT" | "from" | "from_" => Token::Out,
            "IN" | "to" => Token::In,
            "BOTH" => Token::Both,
            _ => return None,
        })
    }
}
