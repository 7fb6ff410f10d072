/** An answer as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets a quote in front. */
import { show, type Value } from '../api/values'
import type { Answer } from '../query/answer'
import { saveFile } from './raw'

export function field(value: Value): string {
  if (value === null) return ''
  let text = show(value)
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export function saveCsv(answer: Answer): void {
  const lines = [`${answer.fields.map(field).join(',')}\r\n`]
  for (const row of answer.rows.slice(0, answer.count)) lines.push(`${row.map(field).join(',')}\r\n`)
  saveFile('answer.csv', 'text/csv', lines)
}
