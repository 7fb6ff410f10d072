/** What of an answer is a graph: its nodes and relationships, each once, and its paths. */
import { MultiDirectedGraph } from 'graphology'
import { Node, Path, Relationship, type Value, visitEntities } from '../api/values'

/** Nodes that are drawn. */
export const NODES_MAX = 10_000
/** Relationships that are drawn. */
export const EDGES_MAX = 50_000
/** Paths that can be chosen one by one. */
export const PATHS_MAX = 500
/** The angle between two points of a sunflower: new nodes never lie on one another. */
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5))

export class GraphModel {
  readonly graph = new MultiDirectedGraph()
  readonly nodes = new Map<string, Node>()
  readonly relationships = new Map<string, Relationship>()
  readonly paths: Path[] = []
  /** Was something left out because there is too much? */
  isCut = false
  /** Relationships whose ends were not there when they came; later rows may have them. */
  private waiting: Relationship[] = []

  /** Adds all that is in rows, and the relationships whose ends are there by then; the others wait for more rows. */
  addRows(rows: Value[][], from: number, to: number): void {
    const relationships = this.waiting
    for (let at = from; at < to; at++) {
      for (const value of rows[at] ?? []) {
        visitEntities(value, (entity) => {
          if (entity instanceof Node) this.addNode(entity)
          else if (entity instanceof Relationship) relationships.push(entity)
          else if (this.paths.length < PATHS_MAX && entity.relationships.length > 0) this.paths.push(entity)
        })
      }
    }
    this.waiting = []
    for (const one of relationships) {
      const isPlaced = this.addRelationship(one)
      if (isPlaced) continue
      if (this.waiting.length < EDGES_MAX) this.waiting.push(one)
      else this.isCut = true
    }
  }

  /** Adds a node, near another one if that is said. */
  addNode(node: Node, near?: string): void {
    if (this.nodes.has(node.id)) {
      // The answer may be younger than what is drawn.
      this.nodes.set(node.id, node)
      return
    }
    if (this.nodes.size >= NODES_MAX) {
      this.isCut = true
      return
    }
    const number = this.nodes.size
    this.nodes.set(node.id, node)
    const radius = near === undefined ? 10 * Math.sqrt(number + 1) : 6 + (number % 7)
    const centre = near !== undefined && this.graph.hasNode(near) ? this.graph.getNodeAttributes(near) : { x: 0, y: 0 }
    const angle = number * GOLDEN_ANGLE
    this.graph.addNode(node.id, { x: centre.x + radius * Math.cos(angle), y: centre.y + radius * Math.sin(angle) })
  }

  /** Adds a relationship, once; false where an end of it is missing. */
  addRelationship(relationship: Relationship): boolean {
    const { id, source, target } = relationship
    if (this.relationships.has(id)) return true
    if (!this.nodes.has(source) || !this.nodes.has(target)) return false
    if (this.relationships.size >= EDGES_MAX) {
      this.isCut = true
      return true
    }
    this.relationships.set(id, relationship)
    this.graph.addDirectedEdgeWithKey(id, source, target)
    return true
  }

  /** Takes a node and its relationships away. */
  remove(id: string): void {
    this.waiting = this.waiting.filter(({ source, target }) => source !== id && target !== id)
    this.graph.forEachEdge(id, (edge) => this.relationships.delete(edge))
    this.graph.dropNode(id)
    this.nodes.delete(id)
  }

  /** How many nodes have each label as their first, most first. */
  labels(): [string, number][] {
    const counts = new Map<string, number>()
    for (const node of this.nodes.values()) {
      const label = labelOf(node)
      counts.set(label, (counts.get(label) ?? 0) + 1)
    }
    return [...counts].sort((one, other) => other[1] - one[1])
  }

  /** Keys of the properties that nodes with this label have. */
  keysOf(label: string): string[] {
    const keys = new Set<string>()
    let left = 200
    for (const node of this.nodes.values()) {
      if (labelOf(node) !== label) continue
      Object.keys(node.properties).forEach((key) => keys.add(key))
      if (--left === 0) break
    }
    return [...keys].sort()
  }
}

/** The label by which a node is styled. */
export function labelOf(node: Node): string {
  return node.labels[0] ?? ''
}

/** Is there something to draw in these rows? */
export function hasGraph(rows: Value[][], count: number): boolean {
  let found = false
  for (const row of rows.slice(0, Math.min(count, 50))) {
    for (const value of row) {
      visitEntities(value, () => {
        found = true
      })
    }
  }
  return found
}
