/** An answer as a drawing of nodes and relationships: WebGL by sigma, the layout in a worker. */
import { useCallback, useEffect, useReducer, useRef, useState } from 'react'
import type { MultiDirectedGraph } from 'graphology'
import type Sigma from 'sigma'
import { Node, type Relationship } from '../api/values'
import type { Answer } from '../query/answer'
import { captionOf, styleOf } from './graph-style'
import { EDGES_MAX, GraphModel, labelOf, NODES_MAX } from './graph-model'
import { Layout } from './layout'
import { Legend } from './legend'
import { bring, type Count, Panel } from './neighbours'
import { change, draw, follow, type Highlight, leave, present } from './sigma'
import { rowsOf } from '../api/client'

/** Time within which two clicks are one. */
const DOUBLE_CLICK_MS = 600
/** Nodes among which all relationships are looked for. */
const CONNECTED_MAX = 2_000
/** Time between two additions to the drawing while rows come. */
const GROW_EVERY_MS = 250
/** Rows that are taken at once, and the time after which the page draws a frame before it takes more. */
const SLICE_ROWS = 200
const SLICE_MS = 8

interface Properties {
  answer: Answer
  isDark: boolean
  /** Are the nodes labels, which have no neighbours to bring? */
  isSchema?: boolean
}

export function Graph({ answer, isDark, isSchema = false }: Properties) {
  const box = useRef<HTMLDivElement>(null)
  const model = useRef(new GraphModel())
  const sigma = useRef<Sigma>(undefined)
  const layout = useRef<Layout>(undefined)
  const taken = useRef({ rows: 0, untilMs: 0, isTaking: false })
  const newest = useRef(answer)
  const highlight = useRef<Highlight>({})
  const [version, redraw] = useReducer((count: number) => count + 1, 0)
  const [chosen, setChosen] = useState<string>()
  /** The node that was double-clicked; a new object each time. */
  const [expanded, setExpanded] = useState<{ id: string }>()
  const [path, setPath] = useState(-1)
  const [isMoving, setIsMoving] = useState(true)
  const [message, setMessage] = useState('')

  /** Changes what is drawn, and gives everything its looks. */
  const update = useCallback((work: () => void) => {
    change(sigma.current, model.current.graph, highlight.current, () => {
      work()
      style()
    })
    redraw()
  }, [])
  const style = () => {
    const { graph, nodes, relationships } = model.current
    const isSmall = nodes.size > 3_000
    graph.updateEachNodeAttributes((id, attributes) => {
      const node = nodes.get(id)
      if (!node) return attributes
      const style = styleOf(labelOf(node))
      return { ...attributes, color: style.colour, size: isSmall ? style.size / 2 : style.size, label: captionOf(node, style) }
    })
    graph.updateEachEdgeAttributes((id, attributes) => ({ ...attributes, label: relationships.get(id)?.type, size: isSmall ? 0.6 : 1.6 }))
  }

  useEffect(() => {
    if (!box.current) return
    const drawing = draw(box.current, model.current.graph, highlight)
    const moves = new Layout(
      () => sigma.current?.getGraph() as MultiDirectedGraph | undefined,
      (isOver) => {
        if (isOver) setIsMoving(false)
      },
    )
    sigma.current = drawing
    layout.current = moves
    // The panel that the first click opens moves the picture, so the second one may miss the node.
    let clicked = { node: '', atMs: -Infinity }
    drawing.on('clickNode', ({ node }) => {
      clicked = { node, atMs: performance.now() }
      setChosen(node)
    })
    drawing.on('clickEdge', ({ edge }) => setChosen(edge))
    drawing.on('clickStage', () => setChosen(undefined))
    const doubled = (node: string, { preventSigmaDefault }: { preventSigmaDefault(): void }) => {
      preventSigmaDefault()
      setChosen(node)
      setExpanded({ id: node })
    }
    drawing.on('doubleClickNode', (event) => doubled(event.node, event))
    drawing.on('doubleClickStage', (event) => {
      if (performance.now() - clicked.atMs < DOUBLE_CLICK_MS) doubled(clicked.node, event)
    })
    return () => {
      moves.end()
      drawing.kill()
      sigma.current = undefined
      layout.current = undefined
    }
  }, [])

  // A new answer begins an empty drawing; rows of the same answer are added to it.
  useEffect(() => {
    layout.current?.stop()
    model.current = new GraphModel()
    taken.current = { rows: 0, untilMs: 0, isTaking: false }
    setChosen(undefined)
    setPath(-1)
    setMessage('')
  }, [answer.startedMs])

  /** Takes the rows that have come, a slice a frame, and shows what they make: each step in a frame of its own. */
  const take = async () => {
    const [now, own] = [taken.current, model.current]
    // Another answer came, or the drawing went.
    const isOver = () => taken.current !== now || !sigma.current
    if (now.isTaking) return
    now.isTaking = true
    try {
      await takeAll(now, own, isOver)
    } finally {
      now.isTaking = false
    }
    if (!isOver() && now.rows < newest.current.count && newest.current.state !== 'running') void take()
  }
  const takeAll = async (now: typeof taken.current, own: GraphModel, isOver: () => boolean) => {
    const began = performance.now()
    layout.current?.stop()
    for (;;) {
      // What a click changed since the last slice is shown by now, so sigma looks at the graph again.
      leave(sigma.current, own.graph)
      const until = performance.now() + SLICE_MS
      while (now.rows < newest.current.count && performance.now() < until) {
        const to = Math.min(now.rows + SLICE_ROWS, newest.current.count)
        own.addRows(newest.current.rows, now.rows, to)
        now.rows = to
      }
      if (now.rows >= newest.current.count) break
      await frame()
      if (isOver()) return
    }
    const steps = [
      style,
      () => {
        highlight.current.isMoving = true
        present(sigma.current, own.graph, true)
        setIsMoving(true)
        redraw()
      },
      () => layout.current?.start(own.graph),
    ]
    for (const step of steps) {
      if (own.graph.order > CONNECTED_MAX) await frame()
      if (isOver()) return
      step()
    }
    // While rows come, drawing takes a fifth of the time at most.
    const end = performance.now()
    now.untilMs = end + Math.max(GROW_EVERY_MS, 4 * (end - began))
  }
  useEffect(() => {
    newest.current = answer
    if (answer.count <= taken.current.rows || (answer.state === 'running' && performance.now() < taken.current.untilMs)) return
    void take()
  }, [answer.startedMs, answer.count, answer.state])

  useEffect(() => {
    const before = { ...highlight.current }
    const elements = path === -2 ? undefined : elementsOf(model.current, path)
    Object.assign(highlight.current, { isDark, chosen, elements })
    // What is drawn anew looks so anyway.
    if (elements || before.elements || before.isDark !== isDark || before.chosen !== chosen) sigma.current?.refresh()
  }, [chosen, path, isDark, version])

  useEffect(() => follow(sigma.current, model.current.graph, highlight.current, isMoving), [isMoving, answer.startedMs])

  const grow = async (find: () => Promise<() => void>) => {
    try {
      const before = model.current.nodes.size + model.current.relationships.size
      update(await find())
      const after = model.current.nodes.size + model.current.relationships.size
      setMessage(after === before ? 'nothing new' : `${after - before} more`)
      if (after > before) {
        setIsMoving(true)
        layout.current?.start(model.current.graph)
      }
    } catch (error) {
      setMessage(error instanceof Error ? error.message : String(error))
    }
  }
  const expand = (id: string, kind: Count | undefined) =>
    void grow(async () => {
      const rows = await bring(id, kind)
      return () => {
        for (const value of rows.flat()) if (value instanceof Node) model.current.addNode(value, id)
        model.current.addRows(rows, 0, rows.length)
      }
    })
  const connect = () =>
    void grow(async () => {
      const ids = [...model.current.nodes.keys()]
      const statement = 'UNWIND $ids AS id MATCH (a)-[r]->(b) WHERE elementId(a) = id AND elementId(b) IN $ids RETURN r'
      const rows = (await rowsOf(statement, { ids })).map((row) => Object.values(row))
      return () => model.current.addRows(rows, 0, rows.length)
    })

  const { nodes, relationships, paths, isCut, graph } = model.current
  const found: Node | Relationship | undefined = chosen === undefined ? undefined : (nodes.get(chosen) ?? relationships.get(chosen))
  const press = (key: string): boolean => {
    const camera = sigma.current?.getCamera()
    if (!camera) return false
    const step = 0.1 * camera.ratio
    const ids = [...nodes.keys()]
    const at = chosen === undefined ? -1 : ids.indexOf(chosen)
    const actions: Record<string, () => void> = {
      '+': () => void camera.animatedZoom(1.4),
      '-': () => void camera.animatedUnzoom(1.4),
      '0': () => void camera.animatedReset(),
      ArrowLeft: () => camera.setState({ x: camera.x - step }),
      ArrowRight: () => camera.setState({ x: camera.x + step }),
      ArrowUp: () => camera.setState({ y: camera.y + step }),
      ArrowDown: () => camera.setState({ y: camera.y - step }),
      n: () => setChosen(ids[(at + 1) % ids.length]),
      p: () => setChosen(ids[(at - 1 + ids.length) % ids.length]),
      Enter: () => at >= 0 && chosen !== undefined && expand(chosen, undefined),
      Delete: () => at >= 0 && remove(chosen),
      Escape: () => setChosen(undefined),
    }
    const action = actions[key]
    action?.()
    return action !== undefined
  }
  const remove = (id: string | undefined) => {
    if (id === undefined || !nodes.has(id)) return
    layout.current?.stop()
    setIsMoving(false)
    setChosen(undefined)
    update(() => model.current.remove(id))
  }

  return (
    <div className="graph">
      <div className="graph-main">
        <div
          ref={box}
          className="graph-box"
          tabIndex={0}
          role="application"
          aria-label={`Graph of ${nodes.size} nodes and ${relationships.size} relationships. N and P choose a node, Enter expands it.`}
          onKeyDown={(event) => {
            if (!event.ctrlKey && !event.altKey && !event.metaKey && press(event.key)) event.preventDefault()
          }}
        />
        {!isSchema && <Legend model={model.current} onChange={() => update(() => undefined)} />}
        <div className="graph-tools" role="toolbar" aria-label="Graph">
          {paths.length > 0 && (
            <select aria-label="Paths" value={path} onChange={(event) => setPath(Number(event.target.value))}>
              <option value={-1}>All {paths.length} paths</option>
              <option value={-2}>No path marked</option>
              {paths.map((one, at) => (
                <option key={at} value={at}>
                  Path {at + 1}, {one.relationships.length} long
                </option>
              ))}
            </select>
          )}
          {!isSchema && (
            <button type="button" disabled={nodes.size > CONNECTED_MAX} title={`All relationships among at most ${CONNECTED_MAX} nodes`} onClick={connect}>
              Connect
            </button>
          )}
          <button
            type="button"
            aria-pressed={isMoving}
            onClick={() => {
              if (isMoving) layout.current?.stop()
              else layout.current?.start(model.current.graph)
              setIsMoving(!isMoving)
            }}
          >
            {isMoving ? 'Hold still' : 'Lay out'}
          </button>
          <button type="button" onClick={() => void sigma.current?.getCamera().animatedReset()}>
            All of it
          </button>
        </div>
        <p className="graph-count" role="status" data-nodes={nodes.size} data-edges={relationships.size} data-moving={isMoving}>
          {nodes.size.toLocaleString('en')} nodes, {relationships.size.toLocaleString('en')} relationships
          {isCut && ` · at most ${NODES_MAX.toLocaleString('en')} and ${EDGES_MAX.toLocaleString('en')} are drawn`}
          {message && ` · ${message}`}
        </p>
      </div>
      {found && !isSchema && (
        <Panel
          chosen={found}
          drawn={graph.hasNode(found.id) ? graph.degree(found.id) : 0}
          expanded={expanded?.id === found.id ? expanded : undefined}
          onBring={(kind) => expand(found.id, kind)}
          onRemove={() => remove(found.id)}
          onClose={() => setChosen(undefined)}
        />
      )}
    </div>
  )
}

/** The next frame. A page that is not seen draws none, and goes on without. */
function frame(): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, GROW_EVERY_MS)
    requestAnimationFrame(() => {
      clearTimeout(late)
      setTimeout(resolve, 0)
    })
  })
}

/** Nodes and relationships of one path, or of all; none where there is no path. */
function elementsOf(model: GraphModel, path: number): Set<string> | undefined {
  const paths = path < 0 ? model.paths : model.paths.slice(path, path + 1)
  if (paths.length === 0) return undefined
  const elements = new Set<string>()
  for (const one of paths) {
    one.nodes.forEach((node) => elements.add(node.id))
    one.relationships.forEach((relationship) => elements.add(relationship.id))
  }
  return elements
}
