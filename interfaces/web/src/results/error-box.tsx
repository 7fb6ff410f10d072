/** An error with the line it is about, the place underlined, and the hint. */
import type { ServerError } from '../api/client'

/** Characters of a line that are shown before and behind the place. */
const AROUND = 60

export function ErrorBox({ error, statement }: { error: ServerError; statement?: string }) {
  return (
    <div className="error-box" role="alert">
      <p>
        <strong>{error.message}</strong>
      </p>
      {error.place && statement !== undefined && <Excerpt error={error} statement={statement} />}
      {error.hint && (
        <p>
          <span className="hint">hint:</span> {error.hint}
        </p>
      )}
      <p className="soft code">{error.code}</p>
    </div>
  )
}

function Excerpt({ error, statement }: { error: ServerError; statement: string }) {
  const place = error.place
  const characters = Array.from(statement.split('\n')[(place?.line ?? 1) - 1] ?? '')
  if (!place) return null
  const begin = place.column - 1
  const end = begin + place.length
  return (
    <pre className="excerpt">
      <span className="soft">line {place.line} </span>
      {begin > AROUND && '…'}
      {characters.slice(Math.max(0, begin - AROUND), begin).join('')}
      <mark>{characters.slice(begin, end).join('') || ' '}</mark>
      {characters.slice(end, end + AROUND).join('')}
    </pre>
  )
}
