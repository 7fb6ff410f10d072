/** The drawing itself: sigma with the page's colours, in light and in dark. */
import { MultiDirectedGraph } from 'graphology'
import Sigma from 'sigma'
import { NodeCircleProgram, type NodeHoverDrawingFunction, NodePointProgram } from 'sigma/rendering'

/** What stands out. Everything else is drawn pale where something does. */
export interface Highlight {
  isDark?: boolean
  chosen?: string | undefined
  elements?: Set<string> | undefined
  /** Are nodes moved by the layout now? */
  isMoving?: boolean
}

/** Relationships up to which their types are written. */
const EDGE_LABELS_MAX = 400
/** Relationships up to which they have heads, and can be clicked; beyond that they are plain lines, and left out while anything moves. */
const EDGES_FINE_MAX = 4_000
/** Nodes up to which captions are written while anything moves. */
const NODES_FINE_MAX = 2_000
/** Time without a movement after which relationships of a large graph are drawn again. */
const LARGE_REST_MS = 500
/** Where the mouse is, is looked up so many times less often than it takes: that waits for the graphics card. */
const LOOK_SHARE = 3

interface Ink {
  text: string
  edge: string
  pale: string
  mark: string
  ground: string
}

const LIGHT: Ink = { text: '#17211d', edge: '#a9b5b0', pale: '#dde3e0', mark: '#d4620a', ground: '#ffffff' }
const DARK: Ink = { text: '#e6ece9', edge: '#55645d', pale: '#2b342f', mark: '#ffb454', ground: '#212a26' }

const NOTHING = new MultiDirectedGraph()

/** Is it so large that its nodes alone are drawn while the layout moves them? */
export function isLarge(graph: MultiDirectedGraph): boolean {
  return graph.size > EDGES_FINE_MAX
}

/** Changes a graph while sigma looks elsewhere: it would follow each new element, and stumble over those it has not indexed. */
export function change(sigma: Sigma | undefined, graph: MultiDirectedGraph, highlight: Highlight, work: () => void): void {
  sigma?.setGraph(NOTHING)
  try {
    work()
  } finally {
    present(sigma, graph, highlight.isMoving ?? false)
  }
}

/** Sigma looks elsewhere from now on, at the same nodes where there are any, so that the graph may grow a slice at a time. */
export function leave(sigma: Sigma | undefined, graph: MultiDirectedGraph): void {
  if (sigma?.getGraph() === graph) sigma.setGraph(graph.order === 0 ? NOTHING : nodesOf(graph))
}

/** Shows a graph; of a large one that is moved, its nodes alone: sigma looks at every relationship for each movement, drawn or not. */
export function present(sigma: Sigma | undefined, graph: MultiDirectedGraph, isMoving: boolean): void {
  if (!sigma) return
  const isPlain = isLarge(graph)
  sigma.setSettings({
    defaultEdgeType: isPlain ? 'line' : 'arrow',
    // A point is one vertex; a disc is drawn as an instance of a shape, which takes software some microseconds each.
    defaultNodeType: graph.order > NODES_FINE_MAX ? 'point' : 'circle',
    enableEdgeEvents: !isPlain,
    hideEdgesOnMove: isPlain,
    // Where a frame takes longer than this, relationships would be drawn in the middle of a movement.
    dragTimeout: isPlain ? LARGE_REST_MS : 100,
    hideLabelsOnMove: graph.order > NODES_FINE_MAX,
    renderLabels: !isMoving || graph.order <= NODES_FINE_MAX,
  })
  sigma.setGraph(isPlain && isMoving ? nodesOf(graph) : graph)
}

/** The nodes of a graph, in their order, as a graph of its own. */
function nodesOf(graph: MultiDirectedGraph): MultiDirectedGraph {
  const nodes = new MultiDirectedGraph()
  graph.forEachNode((id, attributes) => nodes.addNode(id, attributes))
  return nodes
}

/** The layout begins or ends to move nodes. */
export function follow(sigma: Sigma | undefined, graph: MultiDirectedGraph, highlight: Highlight, isMoving: boolean): void {
  if (!sigma || highlight.isMoving === isMoving) return
  highlight.isMoving = isMoving
  if (isLarge(graph)) present(sigma, graph, isMoving)
  else sigma.setSetting('renderLabels', !isMoving || graph.order <= NODES_FINE_MAX)
}

/**
 * Looks for the node under the mouse less often where that takes long, and not at all while the picture is dragged. A click is always looked up.
 * Sigma reads a pixel for it, twice for each movement of the mouse, and the graphics card must have drawn all before it answers.
 */
function lookSparingly(sigma: Sigma, box: HTMLElement): () => void {
  interface Picking {
    getNodeAtPosition(at: { x: number; y: number }): string | null
  }
  const inner = sigma as unknown as Picking
  const look = inner.getNodeAtPosition.bind(sigma)
  const captor = sigma.getMouseCaptor()
  let [isHover, found, nextMs] = [false, null as string | null, 0]
  const note = (event: Event) => {
    isHover = event.type === 'mousemove'
  }
  const kinds = ['mousemove', 'mousedown', 'mouseup', 'click', 'dblclick']
  kinds.forEach((kind) => window.addEventListener(kind, note, true))
  inner.getNodeAtPosition = (at) => {
    if (captor.isMoving) return null
    const began = performance.now()
    if (isHover && began < nextMs) return found
    found = look(at)
    const now = performance.now()
    nextMs = now + LOOK_SHARE * (now - began)
    return found
  }
  box.addEventListener('mouseleave', () => (found = null))
  return () => kinds.forEach((kind) => window.removeEventListener(kind, note, true))
}

export function draw(box: HTMLElement, graph: MultiDirectedGraph, highlight: { current: Highlight }): Sigma {
  const ink = () => (highlight.current.isDark ? DARK : LIGHT)
  const hover: NodeHoverDrawingFunction = (context, data, settings) => {
    const text = data.label ?? ''
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`
    const width = context.measureText(text).width
    const height = settings.labelSize + 8
    context.fillStyle = ink().ground
    context.strokeStyle = ink().mark
    context.lineWidth = 1.5
    context.beginPath()
    context.arc(data.x, data.y, data.size + 3, 0, Math.PI * 2)
    context.stroke()
    if (text === '') return
    context.fillRect(data.x + data.size + 4, data.y - height / 2, width + 10, height)
    context.strokeRect(data.x + data.size + 4, data.y - height / 2, width + 10, height)
    context.fillStyle = ink().text
    context.fillText(text, data.x + data.size + 9, data.y + settings.labelSize / 3)
  }
  const isPale = (id: string) => {
    const { elements } = highlight.current
    return elements !== undefined && !elements.has(id)
  }
  // Another answer is another graph. Sigma asks its reducers before it is made.
  let drawing: Sigma | undefined
  const shown = () => drawing?.getGraph() ?? graph
  drawing = new Sigma(graph, box, {
    allowInvalidContainer: true,
    stagePadding: 48,
    nodeProgramClasses: { circle: NodeCircleProgram, point: NodePointProgram },
    defaultEdgeType: 'arrow',
    defaultDrawNodeHover: hover,
    labelColor: { attribute: 'ink' },
    edgeLabelColor: { attribute: 'ink' },
    labelSize: 12,
    edgeLabelSize: 10,
    labelFont: 'system-ui, sans-serif',
    labelDensity: 0.6,
    labelRenderedSizeThreshold: 5,
    enableEdgeEvents: true,
    zIndex: true,
    minCameraRatio: 0.02,
    maxCameraRatio: 4,
    nodeReducer: (id, data) => {
      const out = { ...data, ink: ink().text }
      if (isPale(id)) return { ...out, color: ink().pale, label: '', zIndex: 0 }
      if (id === highlight.current.chosen) return { ...out, highlighted: true, zIndex: 2 }
      return { ...out, zIndex: 1 }
    },
    edgeReducer: (id, data) => {
      const out = { ...data, ink: ink().text, label: shown().size <= EDGE_LABELS_MAX ? data.label : '' }
      const { chosen, elements } = highlight.current
      if (id === chosen || elements?.has(id)) return { ...out, color: ink().mark, size: (data.size ?? 1) * 2, zIndex: 2 }
      if (isPale(id)) return { ...out, color: ink().pale, label: '', zIndex: 0 }
      if (chosen !== undefined && shown().hasNode(chosen) && shown().hasExtremity(id, chosen)) return { ...out, color: ink().mark, zIndex: 2 }
      return { ...out, color: ink().edge, zIndex: 1 }
    },
    renderEdgeLabels: true,
  })
  drawing.once('kill', lookSparingly(drawing, box))
  return drawing
}
