/** A dropped file into the graph: its rows become nodes, or relationships between nodes that are there. */
import { useEffect, useRef, useState } from 'react'
import { run, type ServerError } from '../api/client'
import { asServerError } from '../query/answer'
import { quoted } from '../query/statements'
import { ErrorBox } from '../results/error-box'
import { forgetNames, type Names, schemaNow } from '../schema/names'
import { FILE_BYTES_MAX, jsonOf, readTable, type TableFile } from './table-file'

/** Rows of one transaction. */
const BATCH_ROWS = 1_000
/** Rows that are shown before. */
const PREVIEW_ROWS = 10

interface Nodes {
  label: string
  /** The column by which a node is the same; empty where each row is a new node. */
  key: string
}

interface End {
  column: string
  label: string
  property: string
}

interface Loaded {
  name: string
  table: TableFile
}

interface Progress {
  rows: number
  created: number
  isOver: boolean
}

export function LoadView({ file }: { file: File | undefined }) {
  const [loaded, setLoaded] = useState<Loaded>()
  const [fault, setFault] = useState<string>()
  const [isOver, setIsOver] = useState(false)
  const take = async (one: File | undefined) => {
    if (!one) return
    setLoaded(undefined)
    setFault(undefined)
    if (one.size > FILE_BYTES_MAX) {
      setFault(`${one.name} has more than ${FILE_BYTES_MAX >> 20} MiB. \`tanglewood import\` reads files of any size.`)
      return
    }
    try {
      setLoaded({ name: one.name, table: readTable(one.name, await one.text()) })
    } catch (error) {
      setFault(`${one.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  useEffect(() => void take(file), [file])
  return (
    <div className="load">
      <label
        className={`drop${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault()
          setIsOver(true)
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          event.stopPropagation()
          setIsOver(false)
          void take(event.dataTransfer.files[0])
        }}
      >
        <span>Drop a file of CSV or JSON here, or choose one.</span>
        <input type="file" accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl" onChange={(event) => void take(event.target.files?.[0])} />
        <span className="soft">CSV needs names of columns in its first line. JSON is a list of objects, or an object a line.</span>
      </label>
      {fault && (
        <p className="error-box" role="alert">
          {fault}
        </p>
      )}
      {loaded && <Plan key={`${loaded.name} ${loaded.table.rows.length}`} loaded={loaded} />}
    </div>
  )
}

function Plan({ loaded }: { loaded: Loaded }) {
  const { table, name } = loaded
  const guess = name.replace(/\.[^.]*$/, '').replace(/[^\p{L}\p{N}_]/gu, '')
  const idColumn = table.columns.find((column) => /^id$|_id$|Id$/.test(column)) ?? ''
  const [kind, setKind] = useState<'nodes' | 'relationships'>('nodes')
  const [nodes, setNodes] = useState<Nodes>({ label: guess, key: idColumn })
  const [type, setType] = useState(guess.toUpperCase())
  const [ends, setEnds] = useState<[End, End]>(() => [end(table, 0), end(table, 1)])
  const [names, setNames] = useState<Names>()
  const [progress, setProgress] = useState<Progress>()
  const [error, setError] = useState<ServerError>()
  const control = useRef<AbortController>(undefined)
  useEffect(() => {
    void schemaNow().then(setNames)
    return () => control.current?.abort()
  }, [])

  const load = async () => {
    control.current = new AbortController()
    const signal = control.current.signal
    const statement = kind === 'nodes' ? nodesStatement(nodes) : relationshipsStatement(type, ends)
    setError(undefined)
    let created = 0
    try {
      for (const index of kind === 'nodes' ? indexesOf([{ label: nodes.label, property: nodes.key }]) : indexesOf(ends)) {
        await run({ statement: index, signal }, NOTHING)
      }
      for (let from = 0; from < table.rows.length; from += BATCH_ROWS) {
        setProgress({ rows: from, created, isOver: false })
        const to = Math.min(table.rows.length, from + BATCH_ROWS)
        const summary = await run({ statement, parametersText: `{"rows":${jsonOf(table, from, to)}}`, signal }, NOTHING)
        created += Number(summary.counters?.nodesCreated ?? 0) + Number(summary.counters?.relationshipsCreated ?? 0)
      }
      setProgress({ rows: table.rows.length, created, isOver: true })
      forgetNames()
    } catch (failure) {
      if (!signal.aborted) setError(asServerError(failure))
      setProgress((now) => now && { ...now, isOver: true })
    }
  }
  const isReady = kind === 'nodes' ? nodes.label !== '' : type !== '' && ends.every((one) => one.column && one.label && one.property)
  const isBusy = progress !== undefined && !progress.isOver
  return (
    <section className="load-plan" aria-label={`Import of ${name}`}>
      <h2>
        {name} <span className="soft">{table.rows.length.toLocaleString('en')} rows</span>
      </h2>
      <Preview table={table} />
      <div className="tabs" role="radiogroup" aria-label="What rows become">
        {(['nodes', 'relationships'] as const).map((one) => (
          <label key={one}>
            <input type="radio" name="kind" checked={kind === one} onChange={() => setKind(one)} /> {one}
          </label>
        ))}
      </div>
      <datalist id="known-labels">{names?.labels.map((label) => <option key={label} value={label} />)}</datalist>
      {kind === 'nodes' ? (
        <div className="toolbar">
          <label>
            Label <input list="known-labels" value={nodes.label} onChange={(event) => setNodes({ ...nodes, label: event.target.value.trim() })} />
          </label>
          <label>
            The same node by{' '}
            <Choice options={['', ...table.columns]} empty="nothing: each row is a new node" value={nodes.key} onChange={(key) => setNodes({ ...nodes, key })} />
          </label>
        </div>
      ) : (
        <>
          <div className="toolbar">
            <label>
              Type <input value={type} onChange={(event) => setType(event.target.value.trim())} />
            </label>
          </div>
          {ends.map((one, at) => (
            <EndForm
              key={at}
              name={at === 0 ? 'From' : 'To'}
              end={one}
              columns={table.columns}
              onChange={(next) => setEnds(at === 0 ? [next, ends[1]] : [ends[0], next])}
            />
          ))}
        </>
      )}
      <pre className="excerpt soft">{kind === 'nodes' ? nodesStatement(nodes) : relationshipsStatement(type, ends)}</pre>
      <div className="toolbar">
        {isBusy ? (
          <button type="button" className="stop" onClick={() => control.current?.abort()}>
            ■ Stop
          </button>
        ) : (
          <button type="button" className="primary" disabled={!isReady} onClick={() => void load()}>
            Import
          </button>
        )}
        {progress && (
          <>
            <progress max={table.rows.length} value={progress.rows} aria-label="Rows imported" />
            <span role="status">
              {progress.rows.toLocaleString('en')} rows, {progress.created.toLocaleString('en')} {kind} created{progress.isOver && ', done'}
            </span>
          </>
        )}
      </div>
      {progress?.isOver && kind === 'relationships' && progress.created < progress.rows && (
        <p className="soft">{(progress.rows - progress.created).toLocaleString('en')} rows made none: an end was not found, or the relationship was there.</p>
      )}
      {error && <ErrorBox error={error} />}
    </section>
  )
}

const NOTHING = { fields: () => undefined, rows: () => undefined }

function end(table: TableFile, at: number): End {
  return { column: table.columns[at] ?? '', label: '', property: 'id' }
}

function nodesStatement({ label, key }: Nodes): string {
  const node = `n:${quoted(label)}`
  if (key === '') return `UNWIND $rows AS row\nCREATE (${node})\nSET n = row`
  return `UNWIND $rows AS row\nMERGE (${node} {${quoted(key)}: row.${quoted(key)}})\nSET n += row`
}

function relationshipsStatement(type: string, [from, to]: [End, End]): string {
  const match = (name: string, one: End) => `MATCH (${name}:${quoted(one.label)} {${quoted(one.property)}: row.${quoted(one.column)}})`
  return `UNWIND $rows AS row\n${match('a', from)}\n${match('b', to)}\nMERGE (a)-[r:${quoted(type)}]->(b)\nSET r += row {.*, ${quoted(from.column)}: null, ${quoted(to.column)}: null}`
}

/** Nodes are looked up by these, so they need an index. */
function indexesOf(ends: { label: string; property: string }[]): string[] {
  return ends
    .filter(({ property }) => property !== '')
    .map(({ label, property }) => `CREATE INDEX IF NOT EXISTS FOR (n:${quoted(label)}) ON (n.${quoted(property)})`)
}

interface EndProperties {
  name: string
  end: End
  columns: string[]
  onChange(end: End): void
}

function EndForm({ name, end: one, columns, onChange }: EndProperties) {
  return (
    <fieldset className="toolbar">
      <legend>{name}</legend>
      <label>
        Label <input list="known-labels" value={one.label} onChange={(event) => onChange({ ...one, label: event.target.value.trim() })} />
      </label>
      <label>
        whose <input value={one.property} aria-label={`Property of ${name}`} onChange={(event) => onChange({ ...one, property: event.target.value.trim() })} />
      </label>
      <label>
        is in the column <Choice options={columns} empty="" value={one.column} onChange={(column) => onChange({ ...one, column })} />
      </label>
    </fieldset>
  )
}

function Choice({ options, empty, value, onChange }: { options: string[]; empty: string; value: string; onChange(value: string): void }) {
  return (
    <select value={value} onChange={(event) => onChange(event.target.value)}>
      {options.map((one) => (
        <option key={one} value={one}>
          {one || empty}
        </option>
      ))}
    </select>
  )
}

function Preview({ table }: { table: TableFile }) {
  return (
    <div className="scrolled" tabIndex={0} aria-label="First rows">
      <table>
        <thead>
          <tr>
            {table.columns.map((column, at) => (
              <th key={column}>
                {column} <span className="soft">{table.kinds[at]}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, PREVIEW_ROWS).map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} className={cell === 'null' ? 'is-null' : ''}>
                  {(cell.startsWith('"') ? (JSON.parse(cell) as string) : cell).slice(0, 200)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
