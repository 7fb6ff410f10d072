/** The page's end of the layout's worker: hands a graph over, takes coordinates. */
import type { MultiDirectedGraph } from 'graphology'
import type { LayoutReport, LayoutRequest } from './layout.worker'

export class Layout {
  private readonly worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' })
  private number = 0
  private graph: MultiDirectedGraph | undefined
  private latest: LayoutReport | undefined
  private isShowing = false
  private readonly onMove: (isOver: boolean) => void
  private readonly shown: () => MultiDirectedGraph | undefined

  /** Told of each movement; nodes move in the graph that is laid out, and in its copy that is shown, where that is another. */
  constructor(shown: () => MultiDirectedGraph | undefined, onMove: (isOver: boolean) => void) {
    this.shown = shown
    this.worker.onmessage = (event: MessageEvent<LayoutReport>) => {
      this.latest = event.data
      this.show()
    }
    this.onMove = onMove
  }

  /** Draws the newest report, then leaves the page twice the time that this took. */
  private show(): void {
    const report = this.latest
    if (this.isShowing || !report) return
    this.latest = undefined
    // A report about a graph that has changed since is nobody's.
    if (report.number !== this.number) return
    this.isShowing = true
    const began = performance.now()
    this.take(report.places)
    this.onMove(report.isOver)
    const rest = () => {
      setTimeout(() => {
        this.isShowing = false
        this.show()
      }, 2 * (performance.now() - began))
    }
    // The frame after the one in which it is drawn: it waits for the graphics card, too.
    requestAnimationFrame(() => requestAnimationFrame(rest))
  }

  /** Begins, or begins again from where nodes lie. */
  start(graph: MultiDirectedGraph): void {
    this.graph = graph
    const ids = graph.nodes()
    const index = new Map(ids.map((id, at) => [id, at]))
    const places = new Float32Array(ids.length * 2)
    const sizes = new Float32Array(ids.length)
    ids.forEach((id, at) => {
      const { x, y, size } = graph.getNodeAttributes(id)
      places[at * 2] = x
      places[at * 2 + 1] = y
      sizes[at] = size ?? 1
    })
    const edges: number[] = []
    graph.forEachEdge((_edge, _attributes, source, target) => {
      // A loop pulls nothing.
      if (source !== target) edges.push(index.get(source) ?? 0, index.get(target) ?? 0)
    })
    const request: LayoutRequest = { number: ++this.number, places, sizes, edges: Uint32Array.from(edges) }
    this.worker.postMessage(request, [places.buffer, sizes.buffer])
  }

  stop(): void {
    this.number++
    this.worker.postMessage('stop')
  }

  end(): void {
    this.worker.terminate()
  }

  private take(places: Float32Array): void {
    for (const graph of new Set([this.graph, this.shown()])) {
      // A copy has its nodes in the same order, or is none.
      if (graph && graph.order * 2 === places.length) move(graph, places)
    }
  }
}

function move(graph: MultiDirectedGraph, places: Float32Array): void {
  let at = 0
  graph.updateEachNodeAttributes(
    (_id, attributes) => {
      attributes.x = places[at * 2]
      attributes.y = places[at * 2 + 1]
      at++
      return attributes
    },
    { attributes: ['x', 'y'] },
  )
}
