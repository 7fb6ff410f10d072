//! A node program: how many relationships the neighbours of each node have together.

use tanglewood_program::{Needs, NodeOutbox, NodeProgram, Value, VisitedNode};

pub struct Around;
tanglewood_program::export!(Around);

impl NodeProgram for Around {
    fn needs(_: &Value) -> Result<Needs, String> {
        Ok(Needs::both())
    }
    fn visit(_: &Value, round: u32, node: &mut VisitedNode, out: &mut NodeOutbox) -> Result<(), String> {
        let own = node.edges.len() as i64;
        match round {
            0 => node.edges.iter().for_each(|edge| out.send(edge.other, Value::Int(own))),
            _ => out.emit(node.id, Value::Int(node.messages.iter().filter_map(Value::as_int).sum())),
        }
        Ok(())
    }
}

#[test]
fn a_path_of_three() {
    let mut graph = tanglewood_program::trial::Trial::new();
    let [a, b, c] = [(); 3].map(|()| graph.node(&[], []));
    graph.edge(a, "KNOWS", b, []);
    graph.edge(b, "KNOWS", c, []);
    let rows = graph.run::<Around>(None, &Value::Null).unwrap();
    assert_eq!(rows, [(a, Value::Int(2)), (b, Value::Int(2)), (c, Value::Int(2))]);
}
