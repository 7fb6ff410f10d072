/** What a chosen node or relationship is, and how many neighbours it has by type, before they are brought in. */
import { useEffect, useRef, useState } from 'react'
import { rowsOf } from '../api/client'
import { Node, Relationship, show, type Value } from '../api/values'
import { quoted } from '../query/statements'
import { Properties } from './inspector'
import { styleOf } from './graph-style'
import { labelOf } from './graph-model'

/** Neighbours that one click brings. */
const BROUGHT_MAX = 200

export interface Count {
  type: string
  isOut: boolean
  count: number
}

/** How many relationships a node has, by type and direction. */
async function countsOf(id: string, signal: AbortSignal): Promise<Count[]> {
  const each = async (pattern: string, isOut: boolean): Promise<Count[]> => {
    const statement = `MATCH (n)${pattern}() WHERE elementId(n) = $id RETURN type(r) AS type, count(*) AS count ORDER BY count DESC`
    const rows = await rowsOf(statement, { id }, signal)
    return rows.map((row) => ({ type: show(row.type ?? ''), isOut, count: Number(row.count) }))
  }
  const [out, into] = await Promise.all([each('-[r]->', true), each('<-[r]-', false)])
  return [...out, ...into]
}

/** The nearest neighbours of one kind, and the relationships to them. */
export async function bring(id: string, kind: Count | undefined): Promise<Value[][]> {
  const type = kind ? `:${quoted(kind.type)}` : ''
  const pattern = kind ? (kind.isOut ? `-[r${type}]->` : `<-[r${type}]-`) : '-[r]-'
  const rows = await rowsOf(`MATCH (n)${pattern}(m) WHERE elementId(n) = $id RETURN r, m LIMIT ${BROUGHT_MAX}`, { id })
  return rows.map((row) => [row.r ?? null, row.m ?? null])
}

interface PanelProperties {
  chosen: Node | Relationship
  /** How many relationships of the node are drawn. */
  drawn: number
  /** Set anew each time all neighbours are asked for: they come once they are counted, if they are few. */
  expanded: object | undefined
  onBring(kind: Count | undefined): void
  onRemove(): void
  onClose(): void
}

export function Panel({ chosen, drawn, expanded, onBring, onRemove, onClose }: PanelProperties) {
  const isNode = chosen instanceof Node
  const counts = useCounts(isNode ? chosen.id : undefined)
  const served = useRef<object>(undefined)
  const all = counts?.reduce((sum, kind) => sum + kind.count, 0)
  useEffect(() => {
    if (expanded === undefined || all === undefined || served.current === expanded) return
    served.current = expanded
    if (all > 0 && all <= BROUGHT_MAX) onBring(undefined)
  }, [expanded, all])
  const title = isNode ? chosen.labels.join(', ') || 'Node' : chosen.type
  return (
    <aside className="inspector" aria-label="Chosen">
      <header>
        <strong>
          {isNode && <span className="dot" style={{ background: styleOf(labelOf(chosen)).colour }} />} {title}
        </strong>
        <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      <div className="inspector-body">
        {isNode && (
          <section aria-label="Neighbours" className="neighbours" aria-busy={counts === undefined}>
            <h2>Neighbours</h2>
            {counts === undefined && <p className="soft">counting …</p>}
            {counts?.length === 0 && <p className="soft">none</p>}
            {expanded && all !== undefined && all > BROUGHT_MAX && <p>{all.toLocaleString('en')} neighbours: choose which</p>}
            {counts?.map((kind) => (
              <button key={`${kind.type} ${kind.isOut}`} type="button" onClick={() => onBring(kind)}>
                <span>{kind.isOut ? `─ ${kind.type} ⟶` : `⟵ ${kind.type} ─`}</span>
                <span className="is-number">
                  {kind.count.toLocaleString('en')}
                  {kind.count > BROUGHT_MAX && <span className="soft"> (brings {BROUGHT_MAX})</span>}
                </span>
              </button>
            ))}
            <p className="soft">
              {drawn} drawn{' '}
              <button type="button" className="quiet" onClick={onRemove}>
                Hide the node
              </button>
            </p>
          </section>
        )}
        <Properties entries={chosen.properties} />
        <p className="soft">
          id {chosen.id}
          {!isNode && `, from ${chosen.source} to ${chosen.target}`}
        </p>
      </div>
    </aside>
  )
}

function useCounts(id: string | undefined): Count[] | undefined {
  const [counts, setCounts] = useState<Count[]>()
  useEffect(() => {
    setCounts(undefined)
    if (id === undefined) return
    const control = new AbortController()
    countsOf(id, control.signal)
      .then(setCounts)
      .catch(() => {
        if (!control.signal.aborted) setCounts([])
      })
    return () => control.abort()
  }, [id])
  return counts
}
