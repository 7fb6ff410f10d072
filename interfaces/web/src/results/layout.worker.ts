/**
 * Where nodes of a graph lie: forces (ForceAtlas2) in a worker, so that the page stays free.
 *
 * In: a graph as arrays. Out, several times a second until it is still: the coordinates, two floats a node.
 */
import iterate from 'graphology-layout-forceatlas2/iterate'

/** Numbers of a node and of an edge in the matrices that the layout works on. */
const NODE_NUMBERS = 10
const EDGE_NUMBERS = 3
/** Nodes from which forces of far nodes are taken together (Barnes-Hut). */
const APPROXIMATE_FROM = 800
/** Rounds after which the layout ends, whatever moves. */
const ROUNDS_MAX = 600
/** Time that it may take. */
const TIME_MAX_MS = 20_000
/** Time between two reports. */
const REPORT_MS = 60
/** Mean movement of a node, as a share of the drawing's size, below which it is still. */
const STILL = 0.00012

export interface LayoutRequest {
  /** Which layout this is; reports carry it. */
  number: number
  /** Coordinates at the beginning, two a node. */
  places: Float32Array
  sizes: Float32Array
  /** Indexes of nodes, two an edge. */
  edges: Uint32Array
}

export interface LayoutReport {
  number: number
  places: Float32Array
  isOver: boolean
}

interface Work {
  number: number
  nodes: Float32Array
  edges: Float32Array
  count: number
  round: number
  beganMs: number
}

let work: Work | undefined

self.onmessage = (event: MessageEvent<LayoutRequest | 'stop'>) => {
  if (event.data === 'stop') {
    work = undefined
    return
  }
  const isIdle = work === undefined
  work = begin(event.data)
  if (isIdle) turn()
}

function begin(request: LayoutRequest): Work {
  const count = request.places.length / 2
  const nodes = new Float32Array(count * NODE_NUMBERS)
  const edges = new Float32Array((request.edges.length / 2) * EDGE_NUMBERS)
  for (let at = 0; at < count; at++) {
    const base = at * NODE_NUMBERS
    nodes[base] = request.places[at * 2] ?? 0
    nodes[base + 1] = request.places[at * 2 + 1] ?? 0
    // Mass is one and the degree, convergence is one.
    nodes[base + 6] = 1
    nodes[base + 7] = 1
    nodes[base + 8] = request.sizes[at] ?? 1
  }
  for (let at = 0; at * 2 < request.edges.length; at++) {
    const [source, target] = [request.edges[at * 2] ?? 0, request.edges[at * 2 + 1] ?? 0]
    edges[at * EDGE_NUMBERS] = source * NODE_NUMBERS
    edges[at * EDGE_NUMBERS + 1] = target * NODE_NUMBERS
    edges[at * EDGE_NUMBERS + 2] = 1
    for (const end of [source, target]) nodes[end * NODE_NUMBERS + 6] = (nodes[end * NODE_NUMBERS + 6] ?? 1) + 1
  }
  return { number: request.number, nodes, edges, count, round: 0, beganMs: performance.now() }
}

function settings(count: number) {
  return {
    linLogMode: false,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 0,
    scalingRatio: 10,
    // Parts that hang together by nothing stay in sight.
    strongGravityMode: true,
    gravity: count > APPROXIMATE_FROM ? 0.05 : 0.3,
    slowDown: 1 + Math.log(Math.max(1, count)),
    barnesHutOptimize: count > APPROXIMATE_FROM,
    barnesHutTheta: 0.7,
  }
}

/** Rounds until it is time to report; then others get their turn, a new request among them. */
function turn(): void {
  const now = work
  if (!now) return
  const options = settings(now.count)
  const until = performance.now() + REPORT_MS
  const before = coordinates(now)
  let rounds = 0
  do {
    iterate(options, now.nodes, now.edges)
    now.round++
    rounds++
  } while (performance.now() < until && now.round < ROUNDS_MAX)
  const places = coordinates(now)
  const isStill = movement(before, places) / rounds < STILL
  const isOver = isStill || now.round >= ROUNDS_MAX || performance.now() - now.beganMs > TIME_MAX_MS
  const report: LayoutReport = { number: now.number, places, isOver }
  self.postMessage(report, { transfer: [places.buffer] })
  if (isOver) work = undefined
  else setTimeout(turn, 0)
}

function coordinates(now: Work): Float32Array {
  const places = new Float32Array(now.count * 2)
  for (let at = 0; at < now.count; at++) {
    places[at * 2] = now.nodes[at * NODE_NUMBERS] ?? 0
    places[at * 2 + 1] = now.nodes[at * NODE_NUMBERS + 1] ?? 0
  }
  return places
}

/** How far a node moved on average, as a share of the drawing's size. */
function movement(before: Float32Array, after: Float32Array): number {
  let [low, high, sum] = [Infinity, -Infinity, 0]
  for (let at = 0; at < after.length; at++) {
    const value = after[at] ?? 0
    low = Math.min(low, value)
    high = Math.max(high, value)
    sum += Math.abs(value - (before[at] ?? 0))
  }
  return after.length === 0 ? 0 : sum / after.length / Math.max(1e-9, high - low)
}
