/** The drawing itself: sigma with the page's colours, in light and in dark. */
import { MultiDirectedGraph } from 'graphology'
import Sigma from 'sigma'
import type { NodeHoverDrawingFunction } from 'sigma/rendering'

/** What stands out. Everything else is drawn pale where something does. */
export interface Highlight {
  isDark?: boolean
  chosen?: string | undefined
  elements?: Set<string> | undefined
}

/** Relationships up to which their types are written. */
const EDGE_LABELS_MAX = 400
/** Relationships up to which they have heads, and can be clicked; beyond that they are plain lines, hidden while one moves the picture. */
const EDGES_FINE_MAX = 4_000

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

/** Changes a graph while sigma looks elsewhere: it would follow each new element, and stumble over those it has not indexed. */
export function change(sigma: Sigma | undefined, graph: MultiDirectedGraph, work: () => void): void {
  sigma?.setGraph(NOTHING)
  try {
    work()
  } finally {
    const isLarge = graph.size > EDGES_FINE_MAX
    sigma?.setSettings({ defaultEdgeType: isLarge ? 'line' : 'arrow', enableEdgeEvents: !isLarge, hideEdgesOnMove: isLarge })
    sigma?.setGraph(graph)
  }
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
  return new Sigma(graph, box, {
    allowInvalidContainer: true,
    stagePadding: 48,
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
      const out = { ...data, ink: ink().text, label: graph.size <= EDGE_LABELS_MAX ? data.label : '' }
      const { chosen, elements } = highlight.current
      if (id === chosen || elements?.has(id)) return { ...out, color: ink().mark, size: (data.size ?? 1) * 2, zIndex: 2 }
      if (isPale(id)) return { ...out, color: ink().pale, label: '', zIndex: 0 }
      if (chosen !== undefined && graph.hasNode(chosen) && graph.hasExtremity(id, chosen)) return { ...out, color: ink().mark, zIndex: 2 }
      return { ...out, color: ink().edge, zIndex: 1 }
    },
    renderEdgeLabels: true,
  })
}
