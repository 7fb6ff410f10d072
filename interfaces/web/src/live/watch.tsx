/** The answer of one standing query: its rows now, what came and went, and a chart. */
import { useEffect, useMemo, useReducer, useRef, useState } from 'react'
import type { ServerError } from '../api/client'
import { show, type Value } from '../api/values'
import { asServerError } from '../query/answer'
import { ErrorBox } from '../results/error-box'
import { Rows } from '../results/rows'
import { classOf } from '../results/table'
import { Chart } from './chart'
import { follow } from './events'
import { ROWS_MAX, Tally } from './tally'

const ROW_HEIGHT = 30
/** How long a row that came is marked. */
const FRESH_MS = 2_500

interface Properties {
  name: string
  text: string
  isDark: boolean
}

/** The names of the parameters in a text. */
export function parametersOf(text: string): string[] {
  const bare = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\/\/.*|\/\*[\s\S]*?\*\//g, ' ')
  return [...new Set([...bare.matchAll(/\$([\p{L}_][\p{L}\p{N}_]*)/gu)].map((found) => found[1] ?? ''))]
}

export function Watch({ name, text, isDark }: Properties) {
  const wanted = useMemo(() => parametersOf(text), [text])
  const [args, setArgs] = useState<Record<string, string> | undefined>(wanted.length === 0 ? {} : undefined)
  return (
    <section className="watch" aria-label={`Standing query ${name}`}>
      {wanted.length > 0 && (
        <form
          className="toolbar"
          onSubmit={(event) => {
            event.preventDefault()
            const fields = new FormData(event.currentTarget)
            setArgs(Object.fromEntries(wanted.map((one) => [one, String(fields.get(one))])))
          }}
        >
          {wanted.map((one) => (
            <label key={one}>
              ${one} <input name={one} required />
            </label>
          ))}
          <button type="submit" className="primary">
            Watch
          </button>
        </form>
      )}
      {args && <Following key={JSON.stringify(args)} name={name} args={args} isDark={isDark} />}
    </section>
  )
}

function Following({ name, args, isDark }: { name: string; args: Record<string, string>; isDark: boolean }) {
  const tally = useRef(new Tally())
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const [fields, setFields] = useState<string[]>([])
  const [state, setState] = useState<'connecting' | 'live' | 'waiting'>('connecting')
  const [commit, setCommit] = useState(0)
  const [error, setError] = useState<ServerError>()
  const [isPaused, setIsPaused] = useState(false)
  const paused = useRef(false)
  paused.current = isPaused

  useEffect(() => {
    tally.current = new Tally()
    const control = new AbortController()
    let isPlanned = false
    const plan = () => {
      if (isPlanned) return
      isPlanned = true
      requestAnimationFrame(() => {
        isPlanned = false
        if (!paused.current) redraw()
      })
    }
    const watcher = {
      fields: setFields,
      state: setState,
      changes(place: number, timeMs: number | undefined, changes: { difference: number; row: Value[] }[]) {
        tally.current.add(place, timeMs ?? Date.now(), Date.now(), changes)
        setCommit(place)
        plan()
      },
    }
    follow(name, args, watcher, control.signal).catch((failure: unknown) => setError(asServerError(failure)))
    // Rows stop being fresh though nothing comes.
    const timer = setInterval(() => !paused.current && redraw(), 1_000)
    return () => {
      control.abort()
      clearInterval(timer)
    }
  }, [name, args])

  const { rows, log, isFull } = tally.current
  const shown = [...rows.values()]
  const now = Date.now()
  const columns = { gridTemplateColumns: `repeat(${fields.length}, minmax(90px, 1fr)) 70px` }
  const words = { connecting: 'connecting …', live: 'live', waiting: 'the server is away; coming again' }
  if (error) return <ErrorBox error={error} />
  return (
    <>
      <div className="toolbar">
        <span className="status" role="status" data-live={state}>
          <span className={`pulse is-${state}`} aria-hidden="true" /> {words[state]} · commit {commit} · {rows.size.toLocaleString('en')} rows
          {isFull && ` (the first ${ROWS_MAX.toLocaleString('en')})`}
        </span>
        <span className="grow" />
        <button type="button" aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
      </div>
      <Chart tally={tally.current} isDark={isDark} />
      <div className="watch-body">
        <div className="results-view" aria-label="Rows now">
          <Rows
            className="table"
            label={`${shown.length} rows`}
            count={shown.length}
            rowHeight={ROW_HEIGHT}
            head={
              <div className="table-row table-head" role="row" style={columns}>
                {fields.map((field) => (
                  <div key={field} role="columnheader" className="cell head-cell">
                    {field}
                  </div>
                ))}
                <div role="columnheader" className="cell head-cell">
                  times
                </div>
              </div>
            }
            row={(at, style) => {
              const kept = shown[at]
              if (!kept) return null
              const isFresh = log.length > 0 && now - kept.changedMs < FRESH_MS
              return (
                <div key={at} role="row" className={`table-row${isFresh ? ' fresh' : ''}`} style={{ ...style, ...columns }}>
                  {kept.row.map((value, column) => (
                    <div key={column} role="gridcell" className={`cell ${classOf(value)}`}>
                      {show(value, 300)}
                    </div>
                  ))}
                  <div role="gridcell" className="cell number">
                    {kept.count}
                  </div>
                </div>
              )
            }}
          />
        </div>
        <ol className="change-log" aria-label="Changes, youngest first" tabIndex={0}>
          {log.map((one) => (
            <li key={one.key} className={one.difference > 0 ? 'came' : 'went'}>
              <span className="sign">{one.difference > 0 ? `+${one.difference}` : one.difference}</span>
              <span>{one.row.map((value) => show(value, 100)).join(', ').slice(0, 200)}</span>
              <span className="soft">
                {new Date(one.timeMs).toLocaleTimeString()} · {one.commit}
              </span>
            </li>
          ))}
          {log.length === 0 && <li className="soft">Nothing has changed since.</li>}
        </ol>
      </div>
    </>
  )
}
