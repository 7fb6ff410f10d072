/** What runs now, with a button to end it, and how the machine is shared out among tenants. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { rowsOf, type ServerError } from '../api/client'
import { MapValue, numberOf, show, type Value } from '../api/values'
import { asServerError } from '../query/answer'
import { ErrorBox } from '../results/error-box'

/** Time between two looks. */
const LOOK_EVERY_MS = 1_000
/** Queries that are listed. */
const LISTED_MAX = 200

type Row = Record<string, Value>

interface Seen {
  queries: Row[]
  tenants: Row[]
}

export function ActivityView({ isShown }: { isShown: boolean }) {
  const [seen, setSeen] = useState<Seen>()
  const [error, setError] = useState<ServerError>()
  const [killed, setKilled] = useState<ReadonlySet<string>>(new Set())
  const isLooking = useRef(false)

  const look = useCallback(async () => {
    if (isLooking.current || document.hidden) return
    isLooking.current = true
    try {
      const [queries, tenants] = await Promise.all([rowsOf(`SHOW QUERIES YIELD * ORDER BY elapsedMillis DESC LIMIT ${LISTED_MAX}`), rowsOf('SHOW TENANTS')])
      setSeen({ queries: queries.filter((row) => !show(row.query ?? '').startsWith('SHOW ')), tenants })
      setError(undefined)
    } catch (failure) {
      setError(asServerError(failure))
    }
    isLooking.current = false
  }, [])
  useEffect(() => {
    if (!isShown) return
    void look()
    const timer = setInterval(() => void look(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [isShown, look])

  const kill = async (id: string) => {
    setKilled(new Set([...killed, id]))
    try {
      await rowsOf(`KILL QUERY '${id.replace(/[^\w-]/g, '')}'`)
    } catch (failure) {
      setError(asServerError(failure))
    }
    void look()
  }
  const queries = seen?.queries ?? []
  return (
    <div className="activity">
      {error && <ErrorBox error={error} />}
      <section aria-label="Running queries">
        <h2>
          Running queries <span className="soft">{queries.length}</span>
        </h2>
        {seen && queries.length === 0 && <p className="soft">Nothing runs now.</p>}
        {queries.map((row) => {
          const id = show(row.queryId ?? '')
          return <Query key={id} row={row} isKilled={killed.has(id)} onKill={() => void kill(id)} />
        })}
      </section>
      <Tenants tenants={seen?.tenants ?? []} queries={queries} />
    </div>
  )
}

function Query({ row, isKilled, onKill }: { row: Row; isKilled: boolean; onKill(): void }) {
  const id = show(row.queryId ?? '')
  const count = (key: string) => (numberOf(row[key]) ?? 0).toLocaleString('en')
  return (
    <article className="query-card">
      <header>
        <strong>{id}</strong>
        <span className={`state ${show(row.state ?? '')}`}>{show(row.state ?? '')}</span>
        <span className="soft">
          {show(row.user ?? 'nobody')} of {show(row.tenant ?? '')}
        </span>
        <span className="grow" />
        <span>
          <span className="is-number">{seconds(row.elapsedMillis)}</span>, <span className="is-number">{seconds(row.cpuMillis)}</span> of processors, {count('rows')} rows,{' '}
          {bytes(numberOf(row.bytes) ?? 0)}
        </span>
        <button type="button" className="danger" disabled={isKilled} aria-label={`Kill ${id}`} onClick={onKill}>
          {isKilled ? 'Ending …' : 'Kill'}
        </button>
      </header>
      <pre className="query-text">{show(row.query ?? '', 2_000)}</pre>
      <Progress value={row.progress ?? null} />
    </article>
  )
}

/** What each operator has done until now. */
function Progress({ value }: { value: Value }) {
  if (!Array.isArray(value) || value.length === 0) return null
  const operators = value.filter((one) => one instanceof MapValue)
  const keys = [...new Set(operators.flatMap((one) => Object.keys(one.entries)))]
  return (
    <details>
      <summary>{operators.length} operators</summary>
      <div className="scrolled">
        <table>
          <thead>
            <tr>
              {keys.map((key) => (
                <th key={key}>{key}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {operators.map((one, at) => (
              <tr key={at}>
                {keys.map((key) => (
                  <td key={key} className={numberOf(one.entries[key]) === undefined ? '' : 'is-number'}>
                    {show(one.entries[key] ?? '')}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

function Tenants({ tenants, queries }: { tenants: Row[]; queries: Row[] }) {
  const own = tenants.filter((row) => row.user === null || row.user === undefined)
  const running = new Map<string, { count: number; bytes: number; cpuMs: number }>()
  for (const row of queries) {
    const name = show(row.tenant ?? '')
    const sum = running.get(name) ?? { count: 0, bytes: 0, cpuMs: 0 }
    const add = (key: string) => numberOf(row[key]) ?? 0
    running.set(name, { count: sum.count + 1, bytes: sum.bytes + add('bytes'), cpuMs: sum.cpuMs + add('cpuMillis') })
  }
  const names = [...new Set([...own.map((row) => show(row.name ?? '')), ...running.keys()])]
  const shareOf = (name: string) => numberOf(own.find((row) => show(row.name ?? '') === name)?.share) ?? 100
  const total = names.reduce((sum, name) => sum + shareOf(name), 0)
  return (
    <section aria-label="Tenants">
      <h2>Tenants</h2>
      {names.length === 0 && (
        <p className="soft">
          All belong to the tenant <code>default</code>; <code>CREATE TENANT acme SET SHARE 200</code> makes another.
        </p>
      )}
      {names.length > 0 && (
        <table className="tenants">
          <thead>
            <tr>
              <th>Tenant</th>
              <th>Share, if all have work</th>
              <th>Runs</th>
              <th>Memory held</th>
              <th>Processors' time</th>
              <th>Limits</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => {
              const row = own.find((one) => show(one.name ?? '') === name)
              const now = running.get(name)
              const percent = Math.round((shareOf(name) / total) * 100)
              return (
                <tr key={name}>
                  <td>{name}</td>
                  <td>
                    <meter min={0} max={100} value={percent} aria-label={`Share of ${name}`} /> {percent} %
                  </td>
                  <td className="is-number">{now?.count ?? 0}</td>
                  <td className="is-number">{bytes(now?.bytes ?? 0)}</td>
                  <td className="is-number">{((now?.cpuMs ?? 0) / 1_000).toFixed(1)} s</td>
                  <td className="soft">{row ? limitsOf(row) : ''}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
    </section>
  )
}

function limitsOf(row: Row): string {
  const parts: string[] = []
  if (row.memory !== null) parts.push(`memory ${show(row.memory ?? '')}`)
  if (row.concurrent !== null) parts.push(`${show(row.concurrent ?? '')} at once`)
  if (row.timeMillis !== null) parts.push(`${seconds(row.timeMillis)} each`)
  if (Array.isArray(row.rules)) parts.push(...row.rules.map((value) => show(value)))
  if (row.failure !== null && row.failure !== undefined) parts.push(show(row.failure))
  return parts.join(', ')
}

function seconds(value: Value | undefined): string {
  return `${((numberOf(value) ?? 0) / 1_000).toFixed(1)} s`
}

function bytes(count: number): string {
  if (count < 1_024) return `${count} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [count / 1_024, 0]
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024
    unit++
  }
  return `${value.toFixed(1)} ${units[unit]}`
}
