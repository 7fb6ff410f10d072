declare module 'graphology-layout-forceatlas2/iterate' {
  import type { ForceAtlas2Settings } from 'graphology-layout-forceatlas2'
  /** One round over the matrices of nodes (ten numbers each) and edges (three numbers each), in place. */
  export default function iterate(settings: ForceAtlas2Settings, nodes: Float32Array, edges: Float32Array): void
}
