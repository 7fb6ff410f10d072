/** One value in full. Texts are text: what looks like HTML in a property stays what it is. */
import { type ReactNode } from 'react'
import { Float, MapValue, Node, Path, Relationship, Scalar, show, type Value } from '../api/values'
import { classOf } from './table'

/** Items of a list that are drawn. */
const ITEMS_MAX = 1_000
const TEXT_CHARACTERS_MAX = 100_000

export function Properties({ entries }: { entries: Record<string, Value> }) {
  const keys = Object.keys(entries)
  if (keys.length === 0) return <p className="soft">no properties</p>
  return (
    <dl className="properties">
      {keys.slice(0, ITEMS_MAX).map((key) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>
            <Whole value={entries[key] ?? null} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A value with all of its parts. */
export function Whole({ value }: { value: Value }): ReactNode {
  if (value instanceof Node) {
    return (
      <section>
        <Labels labels={value.labels} />
        <Properties entries={value.properties} />
        <p className="soft">id {value.id}</p>
      </section>
    )
  }
  if (value instanceof Relationship) {
    return (
      <section>
        <Labels labels={[value.type]} />
        <Properties entries={value.properties} />
        <p className="soft">
          id {value.id}, from {value.source} to {value.target}
        </p>
      </section>
    )
  }
  if (value instanceof Path) {
    return (
      <ol className="items">
        {value.nodes.flatMap((node, at) => {
          const next = value.relationships[at]
          const item = <li key={`n${at}`}>{show(node, TEXT_CHARACTERS_MAX)}</li>
          return next ? [item, <li key={`r${at}`}>{show(next, TEXT_CHARACTERS_MAX)}</li>] : [item]
        })}
      </ol>
    )
  }
  if (value instanceof MapValue) return <Properties entries={value.entries} />
  if (Array.isArray(value)) {
    return (
      <ol className="items" start={0}>
        {value.slice(0, ITEMS_MAX).map((item, at) => (
          <li key={at}>
            <Whole value={item} />
          </li>
        ))}
        {value.length > ITEMS_MAX && <li className="soft">and {value.length - ITEMS_MAX} more</li>}
      </ol>
    )
  }
  return <span className={`whole ${classOf(value)}`}>{show(value, TEXT_CHARACTERS_MAX)}</span>
}

function Labels({ labels }: { labels: string[] }) {
  return (
    <p className="labels">
      {labels.map((label) => (
        <span key={label} className="label">
          {label}
        </span>
      ))}
    </p>
  )
}

/** The name of a value's type. */
function typeOf(value: Value): string {
  if (value === null) return 'null'
  if (value instanceof Scalar) return value.type
  if (value instanceof Float) return 'Float'
  if (value instanceof Node) return 'Node'
  if (value instanceof Relationship) return 'Relationship'
  if (value instanceof Path) return 'Path'
  if (value instanceof MapValue) return 'Map'
  if (Array.isArray(value)) return `List of ${value.length}`
  const names = { number: 'Integer', bigint: 'Integer', string: 'String', boolean: 'Boolean' }
  return names[typeof value as keyof typeof names]
}

export function Inspector({ value, onClose }: { value: Value; onClose(): void }) {
  return (
    <aside className="inspector" aria-label="Value">
      <header>
        <strong>{typeOf(value)}</strong>
        <button type="button" className="quiet" aria-label="Close the value" onClick={onClose}>
          ✕
        </button>
      </header>
      <div className="inspector-body">
        <Whole value={value} />
      </div>
    </aside>
  )
}
