/** An answer as lines of plain JSON, one for each row; all of it as a file. */
import { toJson } from '../api/values'
import type { Answer } from '../query/answer'
import { Rows } from './rows'

const LINE_HEIGHT = 22
/** Characters of a line that are drawn; the file has all. */
const LINE_CHARACTERS_MAX = 2_000

function lineOf(answer: Answer, at: number): string {
  const row = answer.rows[at] ?? []
  return `{${answer.fields.map((field, column) => `${JSON.stringify(field)}:${toJson(row[column] ?? null)}`).join(',')}}`
}

export function Raw({ answer }: { answer: Answer }) {
  return (
    <Rows
      className="raw"
      label={`${answer.count} rows as JSON`}
      count={answer.count}
      rowHeight={LINE_HEIGHT}
      row={(at, style) => (
        <div key={at} className="raw-line" role="listitem" style={style}>
          {lineOf(answer, at).slice(0, LINE_CHARACTERS_MAX)}
        </div>
      )}
    />
  )
}

/** Gives the browser a file to keep. */
export function saveFile(name: string, mime: string, parts: string[]): void {
  const address = URL.createObjectURL(new Blob(parts, { type: mime }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

export function saveJson(answer: Answer): void {
  const lines = Array.from({ length: answer.count }, (_, at) => `${lineOf(answer, at)}\n`)
  saveFile('answer.ndjson', 'application/x-ndjson', lines)
}
