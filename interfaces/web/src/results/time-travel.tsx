/** The answer as it was: a slider over the commits, or the time, for which the database keeps its past. */
import { useEffect, useRef, useState } from 'react'
import { type Question, rowsOf, type ServerError } from '../api/client'
import { show } from '../api/values'
import { asServerError } from '../query/answer'
import { languageOf } from '../query/statements'
import { ErrorBox } from './error-box'

/** Time without a move of the slider after which the question is asked. */
const ASK_AFTER_MS = 150

interface Moment {
  version: number
  /** Not known before the first commit. */
  timeMs: number | undefined
}

/** Can this be asked of the past? Statements that read alone. */
export function canTravel(question: Question): boolean {
  const text = question.statement
  if (question.language === 'gremlin' || languageOf(text) === 'gremlin') return false
  if (/\b(CREATE|MERGE|SET|DELETE|REMOVE|DROP|INSERT|FOREACH)\b/i.test(text.replace(/'[^']*'|"[^"]*"|`[^`]*`/g, ''))) return false
  return /^(MATCH|OPTIONAL|RETURN|WITH|UNWIND|CALL|LET|FILTER|DATALOG)\b/i.test(text)
}

/** The oldest and the newest moment that can be asked for; none where no past is kept. */
async function span(): Promise<[Moment, Moment] | undefined> {
  const rows = await rowsOf("SHOW SETTINGS YIELD name, value WHERE name STARTS WITH 'tanglewood.history' RETURN name, value")
  const moment = (name: string): Moment | undefined => {
    const text = show(rows.find((row) => row.name === `tanglewood.history.${name}`)?.value ?? '')
    const found = /version (\d+)(?: \((.+)\))?/.exec(text)
    const timeMs = Date.parse(found?.[2] ?? '')
    return found ? { version: Number(found[1]), timeMs: Number.isNaN(timeMs) ? undefined : timeMs } : undefined
  }
  if (rows.some((row) => row.name === 'tanglewood.history' && row.value === 'none')) return undefined
  const [oldest, newest] = [moment('oldest'), moment('newest')]
  return oldest && newest ? [oldest, newest] : undefined
}

interface Properties {
  question: Question
  onAsk(question: Question): void
}

export function TimeTravel({ question, onAsk }: Properties) {
  const [ends, setEnds] = useState<[Moment, Moment] | 'none'>()
  const [error, setError] = useState<ServerError>()
  const [isByTime, setIsByTime] = useState(false)
  const [at, setAt] = useState<number>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  useEffect(() => {
    span()
      .then((found) => setEnds(found ?? 'none'))
      .catch((failure: unknown) => setError(asServerError(failure)))
    return () => clearTimeout(timer.current)
  }, [])

  if (error) return <ErrorBox error={error} />
  if (!ends) return <p className="soft">looking for the past …</p>
  if (ends === 'none') {
    return (
      <p className="notices">
        This database keeps no past. <code>tanglewood serve DB --history 7d</code> keeps it from then on.
      </p>
    )
  }
  const [oldest, newest] = ends
  const hasTimes = oldest.timeMs !== undefined && newest.timeMs !== undefined
  const [low, high] = isByTime ? [oldest.timeMs ?? 0, newest.timeMs ?? 0] : [oldest.version, newest.version]
  const value = at ?? high
  const move = (next: number) => {
    const within = Math.max(low, Math.min(high, next))
    setAt(within)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      const moment = isByTime ? `datetime('${new Date(within).toISOString()}')` : String(within)
      onAsk({ ...question, statement: `AS OF ${moment} ${question.statement}` })
    }, ASK_AFTER_MS)
  }
  const step = isByTime ? Math.max(1, Math.round((high - low) / 100)) : 1
  return (
    <div className="travel" role="group" aria-label="Time travel">
      <select
        aria-label="Move by"
        value={isByTime ? 'time' : 'commit'}
        onChange={(event) => {
          setIsByTime(event.target.value === 'time')
          setAt(undefined)
        }}
      >
        <option value="commit">Commit</option>
        <option value="time" disabled={!hasTimes}>
          Time
        </option>
      </select>
      <button type="button" aria-label="Earlier" disabled={value <= low} onClick={() => move(value - step)}>
        ◀
      </button>
      <input
        type="range"
        aria-label={isByTime ? 'Time' : 'Commit'}
        aria-valuetext={isByTime ? new Date(value).toLocaleString() : `commit ${value}`}
        min={low}
        max={high}
        step={1}
        value={value}
        onChange={(event) => move(Number(event.target.value))}
      />
      <button type="button" aria-label="Later" disabled={value >= high} onClick={() => move(value + step)}>
        ▶
      </button>
      <output>{isByTime ? new Date(value).toLocaleString() : `commit ${value} of ${oldest.version} … ${newest.version}`}</output>
    </div>
  )
}
