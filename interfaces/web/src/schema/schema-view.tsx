/** What kinds of nodes and relationships the graph has: drawn, and as lists with their properties, indexes and constraints. */
import { useCallback, useEffect, useState } from 'react'
import { rowsOf, run, type ServerError } from '../api/client'
import { Node, Relationship, show, type Value } from '../api/values'
import { type Answer, asServerError } from '../query/answer'
import { quoted } from '../query/statements'
import { ErrorBox } from '../results/error-box'
import { Graph } from '../results/graph'
import { styleOf } from '../results/graph-style'

interface Shape {
  drawn: Answer
  labels: { name: string; count: number }[]
  types: { name: string; count: number }[]
  keys: Map<string, string[]>
  indexes: Record<string, Value>[]
  constraints: Record<string, Value>[]
}

/** Labels and types that are counted. */
const COUNTED_MAX = 60

async function shape(): Promise<Shape> {
  const drawn = await drawing()
  const [labels, types] = await Promise.all([counted('label', 'CALL db.labels()'), counted('relationshipType', 'CALL db.relationshipTypes()')])
  const keys = new Map<string, string[]>()
  for (const row of await rowsOf('CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes RETURN *')) {
    if (row.propertyName === null || !Array.isArray(row.nodeLabels)) continue
    const types = Array.isArray(row.propertyTypes) ? row.propertyTypes.map((value) => show(value)).join(' | ') : ''
    for (const label of row.nodeLabels.map((value) => show(value))) {
      const known = keys.get(label) ?? []
      const text = `${show(row.propertyName ?? '')}: ${types}`
      if (!known.includes(text)) keys.set(label, [...known, text])
    }
  }
  const [indexes, constraints] = await Promise.all([
    rowsOf('SHOW INDEXES YIELD name, state, labelsOrTypes, properties, owningConstraint'),
    rowsOf('SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties'),
  ])
  return { drawn, labels, types, keys, indexes, constraints }
}

/** Nodes that stand for labels, as an answer that can be drawn. */
async function drawing(): Promise<Answer> {
  const question = { statement: 'CALL db.schema.visualization() YIELD nodes, relationships RETURN nodes, relationships' }
  const rows: Value[][] = []
  await run(question, { fields: () => undefined, rows: (more) => rows.push(...more) })
  const named = rows.map((row) => row.map(withCaption))
  return { question, state: 'done', fields: ['nodes', 'relationships'], rows: named, count: named.length, elapsedMs: 0, startedMs: performance.now() }
}

/** A node of the drawing has its label as its only property. */
function withCaption(value: Value): Value {
  if (Array.isArray(value)) return value.map(withCaption)
  if (value instanceof Node) return new Node(value.id, value.labels, { name: value.properties.name ?? value.labels.join(':') })
  if (value instanceof Relationship) return new Relationship(value.id, value.type, value.source, value.target, {})
  return value
}

async function counted(column: string, call: string): Promise<{ name: string; count: number }[]> {
  const rows = await rowsOf(`${call} YIELD ${column} RETURN ${column} AS name LIMIT ${COUNTED_MAX}`)
  const isLabel = column === 'label'
  const count = async (name: string) => {
    const pattern = isLabel ? `(x:${quoted(name)})` : `()-[x:${quoted(name)}]->()`
    const [row] = await rowsOf(`MATCH ${pattern} RETURN count(x) AS count`)
    return { name, count: Number(row?.count ?? 0) }
  }
  const all = await Promise.all(rows.map((row) => count(show(row.name ?? ''))))
  return all.filter((one) => one.count > 0).sort((one, other) => other.count - one.count)
}

interface Properties {
  isShown: boolean
  isDark: boolean
  onAsk(text: string): void
}

export function SchemaView({ isShown, isDark, onAsk }: Properties) {
  const [found, setFound] = useState<Shape>()
  const [error, setError] = useState<ServerError>()
  const look = useCallback(() => {
    setError(undefined)
    shape()
      .then(setFound)
      .catch((failure: unknown) => setError(asServerError(failure)))
  }, [])
  useEffect(() => {
    if (isShown) look()
  }, [isShown, look])

  return (
    <div className="schema">
      {error && <ErrorBox error={error} />}
      <section className="schema-drawing results-body" aria-label="Drawn schema">
        <div className="results-view">{found && isShown && <Graph answer={found.drawn} isDark={isDark} isSchema />}</div>
      </section>
      <section className="schema-lists" aria-busy={!found && !error}>
        <header className="toolbar">
          <h2>Labels</h2>
          <span className="grow" />
          <button type="button" onClick={look}>
            Look again
          </button>
        </header>
        <ul>
          {found?.labels.map(({ name, count }) => (
            <li key={name}>
              <button type="button" className="take" title="Show some" onClick={() => onAsk(`MATCH (n:${quoted(name)}) RETURN n LIMIT 100`)}>
                <span className="dot" style={{ background: styleOf(name).colour }} /> {name} <span className="soft">{count.toLocaleString('en')}</span>
              </button>
              <span className="soft code keys-of">{(found.keys.get(name) ?? []).join(', ')}</span>
            </li>
          ))}
          {found?.labels.length === 0 && <li className="soft">none yet</li>}
        </ul>
        <h2>Types</h2>
        <ul>
          {found?.types.map(({ name, count }) => (
            <li key={name}>
              <button type="button" className="take" title="Show some" onClick={() => onAsk(`MATCH p = ()-[:${quoted(name)}]->() RETURN p LIMIT 100`)}>
                ─ {name} ⟶ <span className="soft">{count.toLocaleString('en')}</span>
              </button>
            </li>
          ))}
        </ul>
        <h2>Indexes and constraints</h2>
        <ul className="plain">
          {found?.constraints.map((row) => (
            <li key={show(row.name ?? '')}>
              <code>{describe(row)}</code> <span className="soft">{show(row.type ?? '').toLowerCase().replaceAll('_', ' ')}</span>
            </li>
          ))}
          {found?.indexes
            .filter((row) => row.owningConstraint === null)
            .map((row) => (
              <li key={show(row.name ?? '')}>
                <code>{describe(row)}</code> <span className="soft">index, {show(row.state ?? '').toLowerCase()}</span>
              </li>
            ))}
        </ul>
      </section>
    </div>
  )
}

function describe(row: Record<string, Value>): string {
  const list = (value: Value | undefined) => (Array.isArray(value) ? value.map((value) => show(value)).join(', ') : '')
  return `:${list(row.labelsOrTypes)} (${list(row.properties)})`
}
