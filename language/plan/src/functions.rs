//! The function table: names, arity, signature and one line of documentation, shared by the languages (to check calls), `execute`
//! (to run them) and the reference pages (to list them).

macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($variant:ident $name:literal $min:literal ..= $max:tt $signature:literal $help:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each entry carries its documentation as data")]
        pub enum $table { $($variant),* }

        impl $table {
            /// Every entry, in the order of the table; those whose name begins with a blank are operators, which no call names.
            pub const ALL: &'static [$table] = &[$($table::$variant),*];
            /// Name as users write it.
            pub fn name(self) -> &'static str { match self { $($table::$variant => $name),* } }
            /// Fewest and most arguments.
            pub fn arity(self) -> (usize, usize) { match self { $($table::$variant => ($min, $max)),* } }
            /// Signature as documented.
            pub fn signature(self) -> &'static str { match self { $($table::$variant => $signature),* } }
            /// One line of documentation.
            pub fn help(self) -> &'static str { match self { $($table::$variant => $help),* } }
            /// The entry of this name, whatever its case.
            pub fn by_name(name: &str) -> Option<$table> {
                let named = |entry: &$table| !entry.name().starts_with(' ') && entry.name().eq_ignore_ascii_case(name);
                Self::ALL.iter().copied().find(named)
            }
        }
    };
}

/// A form that stands for `value[key]`.
pub const PROPERTY_OF_ANY: (&str, &str, &str) = (
    "apoc.any.property",
    "apoc.any.property(value :: ANY, key :: STRING) :: ANY",
    "A property of a node, a relationship or a map by its name",
);

/// Forms that look like functions but bind a variable or stand for another form, so that they are no entries of the tables: name, signature, help.
pub const BINDING_FORMS: [(&str, &str, &str); 6] = [
    (
        "all",
        "all(variable :: VARIABLE IN list :: LIST<ANY> WHERE predicate :: ANY) :: BOOLEAN",
        "Does the predicate hold of every element?",
    ),
    (
        "any",
        "any(variable :: VARIABLE IN list :: LIST<ANY> WHERE predicate :: ANY) :: BOOLEAN",
        "Does the predicate hold of an element?",
    ),
    PROPERTY_OF_ANY,
    (
        "none",
        "none(variable :: VARIABLE IN list :: LIST<ANY> WHERE predicate :: ANY) :: BOOLEAN",
        "Does the predicate hold of no element?",
    ),
    (
        "reduce",
        "reduce(accumulator :: VARIABLE = initial :: ANY, variable :: VARIABLE IN list :: LIST<ANY> | expression :: ANY) :: ANY",
        "What is left in the accumulator after all elements",
    ),
    (
        "single",
        "single(variable :: VARIABLE IN list :: LIST<ANY> WHERE predicate :: ANY) :: BOOLEAN",
        "Does the predicate hold of exactly one element?",
    ),
];

/// Most arguments of a variadic function.
const MANY: usize = usize::MAX;

functions! {
    /// Scalar functions.
    Function {
        Id "id" 1..=1 "id(entity) :: Integer" "Number of a node or relationship";
        ElementId "elementId" 1..=1 "elementId(entity) :: String" "Identity of a node or relationship as text";
        Labels "labels" 1..=1 "labels(node) :: List<String>" "Labels of a node";
        Type "type" 1..=1 "type(relationship) :: String" "Type of a relationship";
        Keys "keys" 1..=1 "keys(entity or map) :: List<String>" "Names of the properties that are present";
        Properties "properties" 1..=1 "properties(entity or map) :: Map" "All properties as a map";
        StartNode "startNode" 1..=1 "startNode(relationship) :: Node" "Node where a relationship starts";
        EndNode "endNode" 1..=1 "endNode(relationship) :: Node" "Node where a relationship ends";
        Nodes "nodes" 1..=1 "nodes(path) :: List<Node>" "Nodes of a path";
        Relationships "relationships" 1..=1 "relationships(path) :: List<Relationship>" "Relationships of a path";
        Length "length" 1..=1 "length(path) :: Integer" "Number of relationships of a path";
        Size "size" 1..=1 "size(list or string) :: Integer" "Number of elements or characters";
        Head "head" 1..=1 "head(list) :: Any" "First element";
        Last "last" 1..=1 "last(list) :: Any" "Last element";
        Tail "tail" 1..=1 "tail(list) :: List" "All but the first element";
        Reverse "reverse" 1..=1 "reverse(list or string) :: Any" "The same backwards";
        Range "range" 2..=3 "range(start, end [, step]) :: List<Integer>" "Integers from start to end, both included";
        Coalesce "coalesce" 1..=MANY "coalesce(value, …) :: Any" "First value that is not null";
        NullIf "nullIf" 2..=2 "nullIf(a, b) :: Any" "Null if both are equal, else the first";
        IsEmpty "isEmpty" 1..=1 "isEmpty(list, map or string) :: Boolean" "Has it no element?";
        Exists "exists" 1..=1 "exists(property) :: Boolean" "Is the property present?";
        ToIntegerList "toIntegerList" 1..=1 "toIntegerList(list) :: List<Integer>" "Each element as toIntegerOrNull makes it";
        ToFloatList "toFloatList" 1..=1 "toFloatList(list) :: List<Float>" "Each element as toFloatOrNull makes it";
        ToBooleanList "toBooleanList" 1..=1 "toBooleanList(list) :: List<Boolean>" "Each element as toBooleanOrNull makes it";
        ToStringList "toStringList" 1..=1 "toStringList(list) :: List<String>" "Each element as toStringOrNull makes it";
        ToInteger "toInteger" 1..=1 "toInteger(value) :: Integer" "Integer from a number, string or boolean; null if it is none";
        ToIntegerOrNull "toIntegerOrNull" 1..=1 "toIntegerOrNull(value) :: Integer" "Integer, or null for anything else";
        ToFloat "toFloat" 1..=1 "toFloat(value) :: Float" "Float from a number or string; null if it is none";
        ToFloatOrNull "toFloatOrNull" 1..=1 "toFloatOrNull(value) :: Float" "Float, or null for anything else";
        ToBoolean "toBoolean" 1..=1 "toBoolean(value) :: Boolean" "Boolean from a string or integer; null if it is none";
        ToBooleanOrNull "toBooleanOrNull" 1..=1 "toBooleanOrNull(value) :: Boolean" "Boolean, or null for anything else";
        ToString "toString" 1..=1 "toString(value) :: String" "Text of a number, boolean, string or temporal value";
        ToStringOrNull "toStringOrNull" 1..=1 "toStringOrNull(value) :: String" "Text, or null for anything else";
        ToUpper "toUpper" 1..=1 "toUpper(string) :: String" "Upper case";
        ToLower "toLower" 1..=1 "toLower(string) :: String" "Lower case";
        Upper "upper" 1..=1 "upper(string) :: String" "Upper case";
        Lower "lower" 1..=1 "lower(string) :: String" "Lower case";
        Trim "trim" 1..=2 "trim([[LEADING | TRAILING | BOTH] [characters] FROM] string) :: String" "Without blanks, or these characters, at its ends";
        BTrim "btrim" 1..=2 "btrim(string [, characters]) :: String" "Without blanks, or these characters, at both ends";
        LTrim "lTrim" 1..=2 "lTrim(string [, characters]) :: String" "Without blanks, or these characters, in front";
        RTrim "rTrim" 1..=2 "rTrim(string [, characters]) :: String" "Without blanks, or these characters, behind";
        Normalize "normalize" 1..=2 "normalize(string [, NFC | NFD | NFKC | NFKD]) :: String" "In a normal form of Unicode; NFC if none is named";
        Replace "replace" 3..=3 "replace(string, search, replacement) :: String" "Every occurrence replaced";
        Substring "substring" 2..=3 "substring(string, start [, length]) :: String" "A part, from start counted from 0";
        Left "left" 2..=2 "left(string, length) :: String" "The first characters";
        Right "right" 2..=2 "right(string, length) :: String" "The last characters";
        Split "split" 2..=2 "split(string, delimiter) :: List<String>" "Parts between delimiters";
        Abs "abs" 1..=1 "abs(number) :: Number" "Absolute value";
        Sign "sign" 1..=1 "sign(number) :: Integer" "-1, 0 or 1";
        Ceil "ceil" 1..=1 "ceil(number) :: Float" "Smallest whole number not below";
        Floor "floor" 1..=1 "floor(number) :: Float" "Largest whole number not above";
        Round "round" 1..=3 "round(number [, precision [, mode]]) :: Float" "Nearest number of that precision";
        Sqrt "sqrt" 1..=1 "sqrt(number) :: Float" "Square root";
        Exp "exp" 1..=1 "exp(number) :: Float" "e to the power";
        Log "log" 1..=1 "log(number) :: Float" "Natural logarithm";
        Log10 "log10" 1..=1 "log10(number) :: Float" "Logarithm to base 10";
        Sin "sin" 1..=1 "sin(radians) :: Float" "Sine";
        Cos "cos" 1..=1 "cos(radians) :: Float" "Cosine";
        Tan "tan" 1..=1 "tan(radians) :: Float" "Tangent";
        Cot "cot" 1..=1 "cot(radians) :: Float" "Cotangent";
        Asin "asin" 1..=1 "asin(number) :: Float" "Arc sine";
        Acos "acos" 1..=1 "acos(number) :: Float" "Arc cosine";
        Atan "atan" 1..=1 "atan(number) :: Float" "Arc tangent";
        Atan2 "atan2" 2..=2 "atan2(y, x) :: Float" "Angle of a point";
        Degrees "degrees" 1..=1 "degrees(radians) :: Float" "Radians to degrees";
        Radians "radians" 1..=1 "radians(degrees) :: Float" "Degrees to radians";
        Haversin "haversin" 1..=1 "haversin(radians) :: Float" "Half the versine";
        Pi "pi" 0..=0 "pi() :: Float" "Circle number";
        E "e" 0..=0 "e() :: Float" "Euler's number";
        Rand "rand" 0..=0 "rand() :: Float" "A random number from 0 up to 1";
        RandomUuid "randomUUID" 0..=0 "randomUUID() :: String" "A random UUID";
        IsNaN "isNaN" 1..=1 "isNaN(number) :: Boolean" "Is it not a number?";
        Timestamp "timestamp" 0..=0 "timestamp() :: Integer" "Milliseconds since 1970, of this statement";
        Date "date" 0..=1 "date([value]) :: Date" "A date from text, a map or another temporal value; today without argument";
        LocalTime "localtime" 0..=1 "localtime([value]) :: LocalTime" "A time of day without zone";
        Time "time" 0..=1 "time([value]) :: Time" "A time of day with offset";
        LocalDateTime "localdatetime" 0..=1 "localdatetime([value]) :: LocalDateTime" "Date and time without zone";
        DateTime "datetime" 0..=1 "datetime([value]) :: DateTime" "Date and time with zone";
        Duration "duration" 1..=1 "duration(value) :: Duration" "A duration from text or a map";
        DateTransaction "date.transaction" 0..=1 "date.transaction([timezone])" "Today, as of the transaction's begin";
        DateStatement "date.statement" 0..=1 "date.statement([timezone])" "Today, as of the statement's begin";
        DateRealtime "date.realtime" 0..=1 "date.realtime([timezone])" "Today";
        LocalTimeTransaction "localtime.transaction" 0..=1 "localtime.transaction([timezone])" "As of the transaction's begin";
        LocalTimeStatement "localtime.statement" 0..=1 "localtime.statement([timezone])" "As of the statement's begin";
        LocalTimeRealtime "localtime.realtime" 0..=1 "localtime.realtime([timezone])" "Now";
        TimeTransaction "time.transaction" 0..=1 "time.transaction([timezone])" "As of the transaction's begin";
        TimeStatement "time.statement" 0..=1 "time.statement([timezone])" "As of the statement's begin";
        TimeRealtime "time.realtime" 0..=1 "time.realtime([timezone])" "Now";
        LocalDateTimeTransaction "localdatetime.transaction" 0..=1 "localdatetime.transaction([timezone])" "As of the transaction's begin";
        LocalDateTimeStatement "localdatetime.statement" 0..=1 "localdatetime.statement([timezone])" "As of the statement's begin";
        LocalDateTimeRealtime "localdatetime.realtime" 0..=1 "localdatetime.realtime([timezone])" "Now";
        DateTimeTransaction "datetime.transaction" 0..=1 "datetime.transaction([timezone])" "As of the transaction's begin";
        DateTimeStatement "datetime.statement" 0..=1 "datetime.statement([timezone])" "As of the statement's begin";
        DateTimeRealtime "datetime.realtime" 0..=1 "datetime.realtime([timezone])" "Now";
        DateTruncate "date.truncate" 1..=3 "date.truncate(unit [, instant [, fields]])" "Rounded down to a unit";
        LocalTimeTruncate "localtime.truncate" 1..=3 "localtime.truncate(unit [, instant [, fields]])" "Rounded down to a unit";
        TimeTruncate "time.truncate" 1..=3 "time.truncate(unit [, instant [, fields]])" "Rounded down to a unit";
        LocalDateTimeTruncate "localdatetime.truncate" 1..=3 "localdatetime.truncate(unit [, instant [, fields]])" "Rounded down to a unit";
        DateTimeTruncate "datetime.truncate" 1..=3 "datetime.truncate(unit [, instant [, fields]])" "Rounded down to a unit";
        DateTimeFromEpoch "datetime.fromepoch" 2..=2 "datetime.fromepoch(seconds, nanoseconds)" "Instant from the UNIX epoch";
        DateTimeFromEpochMillis "datetime.fromepochmillis" 1..=1 "datetime.fromepochmillis(milliseconds)" "Instant from the UNIX epoch";
        DurationBetween "duration.between" 2..=2 "duration.between(from, to) :: Duration" "Time between, in months, days and seconds";
        DurationInMonths "duration.inMonths" 2..=2 "duration.inMonths(from, to) :: Duration" "Time between in whole months";
        DurationInDays "duration.inDays" 2..=2 "duration.inDays(from, to) :: Duration" "Time between in whole days";
        DurationInSeconds "duration.inSeconds" 2..=2 "duration.inSeconds(from, to) :: Duration" "Time between in seconds";
        Point "point" 1..=1 "point(map) :: Point" "A point from its coordinates";
        PointDistance "point.distance" 2..=2 "point.distance(a, b) :: Float" "Distance between two points";
        PointWithinBBox "point.withinBBox" 3..=3 "point.withinBBox(point, lowerLeft, upperRight) :: Boolean" "Is it inside the box?";
        VectorCosine "vector.similarity.cosine" 2..=2 "vector.similarity.cosine(a, b) :: Float" "How near two vectors are by their angle, from 0 to 1";
        VectorEuclidean "vector.similarity.euclidean" 2..=2 "vector.similarity.euclidean(a, b) :: Float" "How near two vectors are by their distance, from 0 to 1";
        LineNumber "linenumber" 0..=0 "linenumber() :: Integer" "Line of the file that the LOAD CSV before read last; null without one";
        File "file" 0..=0 "file() :: String" "File that the LOAD CSV before reads, below the import folder; null without one";
        IsNormalized " isNormalized" 1..=2 "value IS [NOT] [NFC | NFD | NFKC | NFKD] NORMALIZED" "Is it in that normal form of Unicode?";
        IsTyped " isTyped" 2..=2 "value IS [NOT] :: TYPE" "Is it of that type?";
        CharacterLength "character_length" 1..=1 "character_length(string) :: Integer" "Number of characters";
        CharLength "char_length" 1..=1 "char_length(string) :: Integer" "Number of characters";
        TypeOrder "typeOrder" 1..=1 "typeOrder(value) :: Integer" "Place of the value's type where types are ordered as in Gremlin: 0 for numbers and booleans, 2 for strings, 1 for others";
        ValueType "valueType" 1..=1 "valueType(value) :: String" "Name of the value's type";
    }
}

functions! {
    /// Aggregating functions. `CountRows` is `count(*)`.
    AggregateFunction {
        CountRows "count(*)" 0..=0 "count(*) :: Integer" "Number of rows";
        Count "count" 1..=1 "count(value) :: Integer" "Number of values that are not null";
        Sum "sum" 1..=1 "sum(value) :: Number or Duration" "Sum; 0 of none";
        Average "avg" 1..=1 "avg(value) :: Float or Duration" "Mean; null of none";
        Min "min" 1..=1 "min(value) :: Any" "Smallest; null of none";
        Max "max" 1..=1 "max(value) :: Any" "Largest; null of none";
        Collect "collect" 1..=1 "collect(value) :: List" "All values that are not null";
        StDev "stDev" 1..=1 "stDev(value) :: Float" "Standard deviation of a sample";
        StDevP "stDevP" 1..=1 "stDevP(value) :: Float" "Standard deviation of a whole population";
        PercentileCont "percentileCont" 2..=2 "percentileCont(value, percentile) :: Float" "Percentile, interpolated";
        PercentileDisc "percentileDisc" 2..=2 "percentileDisc(value, percentile) :: Number" "Percentile, the nearest value";
    }
}

impl Function {
    /// May two calls with the same arguments differ?
    pub fn is_volatile(self) -> bool {
        use Function::*;
        matches!(
            self,
            Rand | RandomUuid
                | DateRealtime
                | LocalTimeRealtime
                | TimeRealtime
                | LocalDateTimeRealtime
                | DateTimeRealtime
        )
    }
}
