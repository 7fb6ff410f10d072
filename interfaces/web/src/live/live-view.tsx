/** Standing queries: which there are, how each fares, and the answer of one as it changes. */
import { useCallback, useEffect, useState } from 'react'
import { rowsOf, type ServerError } from '../api/client'
import { numberOf, show, type Value } from '../api/values'
import { asServerError } from '../query/answer'
import { quoted } from '../query/statements'
import { ErrorBox } from '../results/error-box'
import { Watch } from './watch'

/** Time between two looks at the list. */
const LOOK_EVERY_MS = 2_000

type Row = Record<string, Value>

interface Properties {
  isShown: boolean
  isDark: boolean
}

export function LiveView({ isShown, isDark }: Properties) {
  const [queries, setQueries] = useState<Row[]>()
  const [error, setError] = useState<ServerError>()
  const [watched, setWatched] = useState<string>()
  const [isMaking, setIsMaking] = useState(false)

  const look = useCallback(async () => {
    try {
      setQueries(await rowsOf('SHOW STANDING QUERIES'))
    } catch (failure) {
      setError(asServerError(failure))
    }
  }, [])
  useEffect(() => {
    if (!isShown) return
    void look()
    const timer = setInterval(() => !document.hidden && void look(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [isShown, look])

  const change = async (statement: string): Promise<boolean> => {
    setError(undefined)
    try {
      await rowsOf(statement)
      void look()
      return true
    } catch (failure) {
      setError(asServerError(failure))
      return false
    }
  }
  const chosen = queries?.find((row) => show(row.name ?? '') === watched)
  return (
    <div className="live">
      <section className="live-list" aria-label="Standing queries">
        <header className="toolbar">
          <h2>Standing queries</h2>
          <span className="grow" />
          <button type="button" aria-expanded={isMaking} onClick={() => setIsMaking(!isMaking)}>
            New
          </button>
        </header>
        {isMaking && (
          <Make
            onMake={async (name, text) => {
              if (await change(`CREATE STANDING QUERY ${quoted(name)} AS ${text}`)) {
                setIsMaking(false)
                setWatched(name)
              }
            }}
          />
        )}
        {error && <ErrorBox error={error} />}
        {queries?.length === 0 && !isMaking && (
          <p className="soft">None yet. A standing query is an answer that stays true while the graph changes: make one to see rows come and go.</p>
        )}
        <ul>
          {queries?.map((row) => {
            const name = show(row.name ?? '')
            return (
              <Item
                key={name}
                row={row}
                isChosen={watched === name}
                onWatch={() => setWatched(name)}
                onRetry={() => void change(`ALTER STANDING QUERY ${quoted(name)} RETRY`)}
                onDrop={() => {
                  if (!confirm(`Drop the standing query ${name}?`)) return
                  if (watched === name) setWatched(undefined)
                  void change(`DROP STANDING QUERY ${quoted(name)}`)
                }}
              />
            )
          })}
        </ul>
      </section>
      {chosen && watched !== undefined ? (
        <Watch key={`${watched} ${show(chosen.query ?? '')}`} name={watched} text={show(chosen.query ?? '')} isDark={isDark} />
      ) : (
        <section className="results welcome soft">Choose a standing query to watch it.</section>
      )}
    </div>
  )
}

interface ItemProperties {
  row: Row
  isChosen: boolean
  onWatch(): void
  onRetry(): void
  onDrop(): void
}

function Item({ row, isChosen, onWatch, onRetry, onDrop }: ItemProperties) {
  const name = show(row.name ?? '')
  const state = show(row.state ?? '')
  return (
    <li className={isChosen ? 'chosen' : ''}>
      <button type="button" className="take" aria-pressed={isChosen} onClick={onWatch}>
        <strong>{name}</strong> <span className={`state ${state.replace(' ', '-')}`}>{state}</span>
        <br />
        <code>{show(row.query ?? '', 300)}</code>
        <br />
        <span className="soft">
          {(numberOf(row.rows) ?? 0).toLocaleString('en')} rows, {show(row.subscribers ?? 0)} subscribers, {(numberOf(row.bytes) ?? 0).toLocaleString('en')} bytes
        </span>
        {row.failure !== null && <span className="bad"> {show(row.failure ?? '')}</span>}
      </button>
      {(state === 'failed' || state === 'set aside') && (
        <button type="button" onClick={onRetry}>
          Retry
        </button>
      )}
      <button type="button" className="quiet" aria-label={`Drop ${name}`} onClick={onDrop}>
        ✕
      </button>
    </li>
  )
}

function Make({ onMake }: { onMake(name: string, text: string): Promise<void> }) {
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  return (
    <form
      className="make"
      onSubmit={(event) => {
        event.preventDefault()
        void onMake(name.trim(), text.trim())
      }}
    >
      <label>
        Name
        <input value={name} onChange={(event) => setName(event.target.value)} required />
      </label>
      <label>
        Query
        <textarea
          rows={4}
          spellCheck={false}
          value={text}
          placeholder="MATCH (p:Person) RETURN p.city AS city, count(*) AS people"
          onChange={(event) => setText(event.target.value)}
          required
        />
      </label>
      <button type="submit" className="primary" disabled={name.trim() === '' || text.trim() === ''}>
        Make
      </button>
    </form>
  )
}
