//! The programs that are built in, one a file.

mod block_render;
mod clustering_coefficient;
mod count_edges;
mod label_propagation;
mod reach;
mod shortest_distance;

use crate::program::NodeProgram;
use dataflow::Failure;
use model::Value;
use std::sync::Arc;
use store::Snapshot;

/// Names of the programs that are built in.
pub(crate) const NAMES: [&str; 6] =
    ["blockRender", "clusteringCoefficient", "countEdges", "labelPropagation", "reach", "shortestDistance"];

/// The program of this name, if it is built in.
///
/// # Errors
/// It does not take the parameters.
pub fn open(
    name: &str,
    parameters: &Value,
    snapshot: &Snapshot,
) -> Result<Option<Arc<dyn NodeProgram>>, Failure> {
    Ok(Some(match name {
        "blockRender" => Arc::new(block_render::BlockRender::read(parameters, snapshot)?),
        "clusteringCoefficient" => {
            Arc::new(clustering_coefficient::ClusteringCoefficient::read(parameters, snapshot)?)
        }
        "countEdges" => Arc::new(count_edges::CountEdges::read(parameters, snapshot)?),
        "labelPropagation" => Arc::new(label_propagation::LabelPropagation::read(parameters, snapshot)?),
        "reach" => Arc::new(reach::ReachProgram::read(parameters, snapshot)?),
        "shortestDistance" => Arc::new(shortest_distance::ShortestDistance::read(parameters, snapshot)?),
        _ => return Ok(None),
    }))
}
