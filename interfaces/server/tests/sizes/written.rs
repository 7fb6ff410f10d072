//! Values of any depth and width as each interface's clients write them: PackStream, GraphBinary, GraphSON typed and plain. Written without
//! recursion, so that a client here may be as deep as it likes.

/// What may lie around something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    List,
    Set,
    /// It is the value of a map.
    Map,
    /// It is the key of a map.
    Key,
    /// It is the id of a vertex.
    Id,
    /// It is a field of a structure, or the parent of a property.
    Within,
    /// It is the argument of a step of a traversal.
    Step,
    /// It is negated.
    Not,
    /// It is an option of a strategy.
    Option,
}

/// What lies innermost.
#[derive(Clone, Copy, Debug)]
pub enum Core {
    Int,
    Null,
    Empty,
    Text(usize),
    Blob(usize),
    /// A list of so many numbers.
    List(usize),
    /// A list of so many empty lists.
    Lists(usize),
    /// A map of so many numbers.
    Map(usize),
    /// A traversal of so many steps.
    Steps(usize),
    /// A predicate that joins so many.
    Joined(usize),
    /// A list that promises so many, and holds one.
    Promise(usize),
}

/// Layers from the outside inwards, in turns, and what is in them.
#[derive(Clone, Debug)]
pub struct Shape {
    pub layers: Vec<Layer>,
    pub depth: usize,
    pub core: Core,
}

impl Shape {
    pub fn of(layers: &[Layer], depth: usize, core: Core) -> Shape {
        Shape { layers: layers.to_vec(), depth, core }
    }
    /// The layers, each as often as it is there, outermost first.
    pub fn around(&self) -> impl DoubleEndedIterator<Item = Layer> + '_ {
        (0..self.depth).map(|at| self.layers[at % self.layers.len()])
    }
    fn write(
        &self,
        open: fn(Layer) -> Option<Vec<u8>>,
        close: fn(Layer) -> Vec<u8>,
        core: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for layer in self.around() {
            bytes.extend(open(layer)?);
        }
        bytes.extend(core);
        self.around().rev().for_each(|layer| bytes.extend(close(layer)));
        Some(bytes)
    }
    /// As PackStream has it, if it has.
    pub fn packed(&self) -> Option<Vec<u8>> {
        let open = |layer| match layer {
            Layer::List => Some(vec![0x91]),
            Layer::Map => Some(vec![0xA1, 0x81, b'a']),
            Layer::Key => Some(vec![0xA1]),
            Layer::Within => Some(vec![0xB1, b'X']),
            _ => None,
        };
        let close = |layer| if layer == Layer::Key { vec![1] } else { Vec::new() };
        let sized = |tiny: Option<u8>, markers: [u8; 3], count: usize| match (tiny, count) {
            (Some(tiny), 0..=15) => vec![tiny | count as u8],
            (_, 0..=0xFF) => vec![markers[0], count as u8],
            (_, 0..=0xFFFF) => [&[markers[1]][..], &(count as u16).to_be_bytes()].concat(),
            _ => [&[markers[2]][..], &(count as u32).to_be_bytes()].concat(),
        };
        let list = |count| sized(Some(0x90), [0xD4, 0xD5, 0xD6], count);
        let core = match self.core {
            Core::Int => vec![7],
            Core::Null => vec![0xC0],
            Core::Empty => vec![0x90],
            Core::Text(count) => [sized(Some(0x80), [0xD0, 0xD1, 0xD2], count), vec![b'x'; count]].concat(),
            Core::Blob(count) => [sized(None, [0xCC, 0xCD, 0xCE], count), vec![9; count]].concat(),
            Core::List(count) => [list(count), vec![7; count]].concat(),
            Core::Lists(count) => [list(count), vec![0x90; count]].concat(),
            Core::Map(count) => {
                let key = |at: usize| {
                    [sized(Some(0x80), [0xD0, 0xD1, 0xD2], 8), format!("{at:08}").into(), vec![7]]
                };
                let pairs = (0..count).flat_map(|at| key(at).concat());
                sized(Some(0xA0), [0xD8, 0xD9, 0xDA], count).into_iter().chain(pairs).collect()
            }
            Core::Promise(count) => [list(count), vec![7]].concat(),
            Core::Steps(_) | Core::Joined(_) => return None,
        };
        self.write(open, close, core)
    }
    /// As GraphBinary has it.
    pub fn binary(&self) -> Option<Vec<u8>> {
        let open = |layer| {
            Some(match layer {
                Layer::List => vec![0x09, 0, 0, 0, 0, 1],
                Layer::Set => vec![0x0b, 0, 0, 0, 0, 1],
                Layer::Map => [&[0x0a, 0, 0, 0, 0, 1][..], &typed_text("a")].concat(),
                Layer::Key => vec![0x0a, 0, 0, 0, 0, 1],
                Layer::Id => vec![0x11, 0],
                // A binding: its name, and what it stands for.
                Layer::Within => [&[0x14, 0][..], &text("x")].concat(),
                Layer::Step => [&[0x15, 0][..], &counted(1), &text("where"), &counted(1)].concat(),
                Layer::Not => [&[0x1e, 0][..], &text("not"), &counted(1)].concat(),
                Layer::Option => {
                    [&[0x29, 0][..], &text("SomeStrategy"), &counted(1), &typed_text("o")].concat()
                }
            })
        };
        let close = |layer| match layer {
            Layer::Key => binary_int(),
            Layer::Id => [text("label"), vec![0xfe, 1]].concat(),
            // No sources.
            Layer::Step => counted(0),
            _ => Vec::new(),
        };
        let many = |code: u8, count: usize, one: &[u8]| {
            [&[code, 0][..], &counted(count), &one.repeat(count)].concat()
        };
        let core = match self.core {
            Core::Int => binary_int(),
            Core::Null => vec![0xfe, 1],
            Core::Empty => many(0x09, 0, &[]),
            Core::Text(count) => many(0x03, count, b"x"),
            Core::Blob(count) => many(0x25, count, &[9]),
            Core::List(count) => many(0x09, count, &binary_int()),
            Core::Lists(count) => many(0x09, count, &[0x09, 0, 0, 0, 0, 0]),
            Core::Map(count) => {
                let pair = |at: usize| [typed_text(&format!("{at:08}")), binary_int()].concat();
                let pairs = (0..count).flat_map(pair);
                [&[0x0a, 0][..], &counted(count)].concat().into_iter().chain(pairs).collect()
            }
            Core::Steps(count) => {
                let one = [text("identity"), counted(0)].concat();
                [many(0x15, count, &one), counted(0)].concat()
            }
            Core::Joined(count) => {
                let one = [&[0x1e, 0][..], &text("eq"), &counted(1), &binary_int()].concat();
                [&[0x1e, 0][..], &text("or"), &counted(count), &one.repeat(count)].concat()
            }
            Core::Promise(count) => [&[0x09, 0][..], &counted(count), &binary_int()].concat(),
        };
        self.write(open, close, core)
    }
    /// As GraphSON with types has it.
    pub fn typed_json(&self) -> Option<String> {
        let open = |layer| {
            let text = match layer {
                Layer::List => r#"{"@type":"g:List","@value":["#,
                Layer::Set => r#"{"@type":"g:Set","@value":["#,
                Layer::Map => r#"{"@type":"g:Map","@value":["a","#,
                Layer::Key => r#"{"@type":"g:Map","@value":["#,
                Layer::Id => r#"{"@type":"g:Vertex","@value":{"label":"label","id":"#,
                Layer::Within => r#"{"@type":"g:Traverser","@value":{"bulk":1,"value":"#,
                Layer::Step => r#"{"@type":"g:Bytecode","@value":{"step":[["where","#,
                Layer::Not => r#"{"@type":"g:P","@value":{"predicate":"not","value":"#,
                Layer::Option => r#"{"@type":"g:SomeStrategy","@value":{"conf":{"o":"#,
            };
            Some(text.into())
        };
        let close = |layer| {
            let text = match layer {
                Layer::List | Layer::Set | Layer::Map => "]}",
                Layer::Key => ",1]}",
                Layer::Id | Layer::Within | Layer::Not | Layer::Option => "}}",
                Layer::Step => "]]}}",
            };
            text.into()
        };
        let core = match self.core {
            Core::Int => r#"{"@type":"g:Int32","@value":7}"#.into(),
            Core::List(count) => {
                let all = vec![r#"{"@type":"g:Int32","@value":7}"#; count].join(",");
                format!(r#"{{"@type":"g:List","@value":[{all}]}}"#)
            }
            Core::Map(count) => {
                let all: Vec<String> = (0..count).map(|at| format!("\"{at:08}\",7")).collect();
                format!(r#"{{"@type":"g:Map","@value":[{}]}}"#, all.join(","))
            }
            Core::Steps(count) => {
                let all = vec![r#"["identity"]"#; count].join(",");
                format!(r#"{{"@type":"g:Bytecode","@value":{{"step":[{all}]}}}}"#)
            }
            Core::Joined(count) => {
                let all = vec![r#"{"@type":"g:P","@value":{"predicate":"eq","value":7}}"#; count].join(",");
                format!(r#"{{"@type":"g:P","@value":{{"predicate":"or","value":[{all}]}}}}"#)
            }
            _ => self.plain_core()?,
        };
        self.write(open, close, core.into_bytes()).and_then(|bytes| String::from_utf8(bytes).ok())
    }
    /// As JSON has it.
    pub fn plain_json(&self) -> Option<String> {
        let open = |layer| match layer {
            Layer::List => Some(b"[".to_vec()),
            Layer::Map => Some(br#"{"a":"#.to_vec()),
            _ => None,
        };
        let close = |layer| if layer == Layer::List { b"]".to_vec() } else { b"}".to_vec() };
        self.write(open, close, self.plain_core()?.into_bytes())
            .and_then(|bytes| String::from_utf8(bytes).ok())
    }
    fn plain_core(&self) -> Option<String> {
        Some(match self.core {
            Core::Int => "7".into(),
            Core::Null => "null".into(),
            Core::Empty => "[]".into(),
            Core::Text(count) => format!("\"{}\"", "x".repeat(count)),
            Core::List(count) => format!("[{}]", vec!["7"; count].join(",")),
            Core::Lists(count) => format!("[{}]", vec!["[]"; count].join(",")),
            Core::Map(count) => {
                let all: Vec<String> = (0..count).map(|at| format!("\"{at:08}\":7")).collect();
                format!("{{{}}}", all.join(","))
            }
            Core::Blob(_) | Core::Steps(_) | Core::Joined(_) | Core::Promise(_) => return None,
        })
    }
}

/// A number of things that follow, as GraphBinary writes it.
pub fn counted(count: usize) -> Vec<u8> {
    (count as i32).to_be_bytes().to_vec()
}

/// Text without a type, as GraphBinary writes it.
pub fn text(text: &str) -> Vec<u8> {
    [&counted(text.len())[..], text.as_bytes()].concat()
}

/// Text with its type.
pub fn typed_text(written: &str) -> Vec<u8> {
    [&[3, 0][..], &text(written)].concat()
}

fn binary_int() -> Vec<u8> {
    vec![1, 0, 0, 0, 0, 7]
}
