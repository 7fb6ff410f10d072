/** An answer as a table: sorted by a click on a column, a value in full by a click on its cell. */
import { type CSSProperties, useEffect, useMemo, useState } from 'react'
import type { Answer } from '../query/answer'
import { Float, MapValue, Node, numberOf, Path, Relationship, Scalar, show, type Value } from '../api/values'
import { Rows } from './rows'

const ROW_HEIGHT = 30
/** Characters of a value that a cell draws. */
const CELL_CHARACTERS_MAX = 300
/** Characters by which lists, maps and entities are sorted. */
const SORTED_CHARACTERS_MAX = 200
/** Rows looked at to find how wide a column should be. */
const WIDTH_ROWS = 50

interface Properties {
  answer: Answer
  onInspect(value: Value): void
}

interface Order {
  column: number
  isDown: boolean
}

export function Table({ answer, onInspect }: Properties) {
  const [order, setOrder] = useState<Order>()
  const [focus, setFocus] = useState<{ row: number; column: number }>()
  const { fields, rows, count } = answer
  useEffect(() => {
    setOrder(undefined)
    setFocus(undefined)
  }, [answer.startedMs])

  const sorted = useMemo(() => (order ? sortedRows(rows, count, order) : undefined), [order, rows, count])
  const widths = useMemo(() => columnWidths(fields, rows.slice(0, WIDTH_ROWS)), [fields, Math.min(count, WIDTH_ROWS)])
  const columns: CSSProperties = { gridTemplateColumns: `64px ${widths}` }

  const move = (key: string): boolean => {
    const at = focus ?? { row: 0, column: 0 }
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-20, 0],
      PageDown: [20, 0],
      Home: [-count, 0],
      End: [count, 0],
    }
    if (key === 'Enter' && focus) {
      onInspect((sorted ?? rows)[focus.row]?.[focus.column] ?? null)
      return true
    }
    const step = steps[key]
    if (!step) return false
    const within = (value: number, max: number) => Math.max(0, Math.min(max - 1, value))
    setFocus({ row: within(at.row + step[0], count), column: within(at.column + step[1], fields.length) })
    return true
  }

  const head = (
    <div className="table-row table-head" role="row" style={columns}>
      <div className="cell number" role="columnheader">
        #
      </div>
      {fields.map((field, column) => {
        const isSorted = order?.column === column
        const next = !isSorted ? { column, isDown: false } : order.isDown ? undefined : { column, isDown: true }
        return (
          <div
            key={`${column} ${field}`}
            className="cell"
            role="columnheader"
            aria-sort={isSorted ? (order.isDown ? 'descending' : 'ascending') : 'none'}
          >
            <button type="button" className="sort" title={`Sort by ${field}`} onClick={() => setOrder(next)}>
              {field}
              {isSorted && <span aria-hidden="true">{order.isDown ? ' ▼' : ' ▲'}</span>}
            </button>
          </div>
        )
      })}
    </div>
  )
  return (
    <Rows
      className="table"
      label={`${count} rows`}
      count={count}
      columns={fields.length + 1}
      rowHeight={ROW_HEIGHT}
      head={head}
      onKey={move}
      reveal={focus?.row}
      row={(at, style) => (
        <div key={at} className="table-row" role="row" aria-rowindex={at + 2} style={{ ...style, ...columns }}>
          <div className="cell number" role="rowheader">
            {at + 1}
          </div>
          {fields.map((field, column) => {
            const value = (sorted ?? rows)[at]?.[column] ?? null
            const isFocused = focus?.row === at && focus.column === column
            return (
              <div
                key={`${column} ${field}`}
                role="gridcell"
                className={`cell ${classOf(value)}${isFocused ? ' focused' : ''}`}
                onClick={() => {
                  setFocus({ row: at, column })
                  onInspect(value)
                }}
              >
                {show(value, CELL_CHARACTERS_MAX)}
              </div>
            )
          })}
        </div>
      )}
    />
  )
}

/** What kind of a value it is, for its colour and side. */
export function classOf(value: Value): string {
  if (value === null) return 'is-null'
  if (numberOf(value) !== undefined) return 'is-number'
  if (typeof value === 'boolean') return 'is-truth'
  if (value instanceof Scalar) return 'is-scalar'
  if (value instanceof Node || value instanceof Relationship || value instanceof Path) return 'is-entity'
  return typeof value === 'string' ? 'is-text' : 'is-nested'
}

function columnWidths(fields: string[], rows: Value[][]): string {
  return fields
    .map((field, column) => {
      let characters = field.length + 2
      for (const row of rows) characters = Math.max(characters, show(row[column] ?? null, 48).length)
      return `minmax(${Math.max(80, characters * 8 + 24)}px, ${Math.max(1, characters)}fr)`
    })
    .join(' ')
}

function sortedRows(rows: Value[][], count: number, { column, isDown }: Order): Value[][] {
  const keyed = rows.slice(0, count).map((row) => ({ row, key: sortKey(row[column] ?? null) }))
  keyed.sort((one, other) => compare(one.key, other.key))
  if (isDown) keyed.reverse()
  return keyed.map(({ row }) => row)
}

type Key = { kind: number; number?: number | bigint; text?: string }

function sortKey(value: Value): Key {
  if (value === null) return { kind: 4 }
  if (typeof value === 'bigint' || typeof value === 'number') return { kind: 1, number: value }
  if (value instanceof Float) return { kind: 1, number: value.value }
  if (typeof value === 'string') return { kind: 2, text: value }
  if (value instanceof MapValue || typeof value === 'object') return { kind: 3, text: show(value, SORTED_CHARACTERS_MAX) }
  return { kind: 0, text: String(value) }
}

function compare(one: Key, other: Key): number {
  if (one.kind !== other.kind) return one.kind - other.kind
  if (one.number !== undefined && other.number !== undefined) return one.number < other.number ? -1 : one.number > other.number ? 1 : 0
  const [text, otherText] = [one.text ?? '', other.text ?? '']
  return text < otherText ? -1 : text > otherText ? 1 : 0
}
