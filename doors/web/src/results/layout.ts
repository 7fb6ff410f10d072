/** The page's end of the layout's worker: hands a graph over, takes coordinates. */
import type { MultiDirectedGraph } from 'graphology'
import type { LayoutReport, LayoutRequest } from './layout.worker'

export class Layout {
  private readonly worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' })
  private number = 0
  private ids: string[] = []

  constructor(
    private readonly graph: MultiDirectedGraph,
    onMove: (isOver: boolean) => void,
  ) {
    this.worker.onmessage = (event: MessageEvent<LayoutReport>) => {
      const { number, places, isOver } = event.data
      // A report about a graph that has changed since is nobody's.
      if (number !== this.number) return
      this.take(places)
      onMove(isOver)
    }
  }

  /** Begins, or begins again from where nodes lie. */
  start(fixed: Set<string> = new Set()): void {
    this.ids = this.graph.nodes()
    const index = new Map(this.ids.map((id, at) => [id, at]))
    const places = new Float32Array(this.ids.length * 2)
    const sizes = new Float32Array(this.ids.length)
    const isFixed = new Uint8Array(this.ids.length)
    this.ids.forEach((id, at) => {
      const { x, y, size } = this.graph.getNodeAttributes(id)
      places[at * 2] = x
      places[at * 2 + 1] = y
      sizes[at] = size ?? 1
      isFixed[at] = fixed.has(id) ? 1 : 0
    })
    const edges: number[] = []
    this.graph.forEachEdge((_edge, _attributes, source, target) => {
      // A loop pulls nothing.
      if (source !== target) edges.push(index.get(source) ?? 0, index.get(target) ?? 0)
    })
    const request: LayoutRequest = { number: ++this.number, places, sizes, edges: Uint32Array.from(edges), fixed: isFixed }
    this.worker.postMessage(request, [places.buffer, sizes.buffer, isFixed.buffer])
  }

  stop(): void {
    this.number++
    this.worker.postMessage('stop')
  }

  end(): void {
    this.worker.terminate()
  }

  private take(places: Float32Array): void {
    let at = 0
    this.graph.updateEachNodeAttributes(
      (_id, attributes) => {
        attributes.x = places[at * 2]
        attributes.y = places[at * 2 + 1]
        at++
        return attributes
      },
      { attributes: ['x', 'y'] },
    )
  }
}
