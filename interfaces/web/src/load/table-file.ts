/** Rows of a dropped file: CSV with a line of names, JSON lists and JSON lines. A file is read whole, within a limit. */

/** Bytes of a file that is read in the page; larger ones are for `tanglewood import`. */
export const FILE_BYTES_MAX = 64 << 20
const ROWS_MAX = 1_000_000
const COLUMNS_MAX = 1_000

export type Kind = 'integer' | 'float' | 'boolean' | 'text' | 'json'

export interface TableFile {
  columns: string[]
  kinds: Kind[]
  /** A cell is the text of JSON that stands for it; `null` for none. */
  rows: string[][]
}

export class FileFault extends Error {}

/** Reads a file by what it looks like. */
export function readTable(name: string, text: string): TableFile {
  const bare = text.replace(/^\ufeff/, '')
  if (/\.(json|ndjson|jsonl)$/i.test(name) || /^\s*[[{]/.test(bare)) return ofObjects(objectsOf(bare))
  return ofRecords(recordsOf(bare, delimiterOf(bare)))
}

function objectsOf(text: string): Record<string, unknown>[] {
  let found: unknown[]
  try {
    const whole = JSON.parse(text) as unknown
    found = Array.isArray(whole) ? whole : [whole]
  } catch {
    found = text
      .split('\n')
      .map((line, at) => ({ line: line.trim(), number: at + 1 }))
      .filter(({ line }) => line !== '')
      .map(({ line, number }) => {
        try {
          return JSON.parse(line) as unknown
        } catch {
          throw new FileFault(`line ${number} is no JSON`)
        }
      })
  }
  if (!found.every((one) => one !== null && typeof one === 'object' && !Array.isArray(one))) throw new FileFault('the rows must be objects')
  return found as Record<string, unknown>[]
}

function ofObjects(objects: Record<string, unknown>[]): TableFile {
  const columns = [...new Set(objects.flatMap((one) => Object.keys(one)))]
  const kinds = columns.map((column) => kindOfValues(objects.map((one) => one[column])))
  const rows = objects.map((one) => columns.map((column) => JSON.stringify(one[column] ?? null)))
  return checked({ columns, kinds, rows })
}

function kindOfValues(values: unknown[]): Kind {
  const known = values.filter((value) => value !== null && value !== undefined)
  if (known.every((value) => typeof value === 'string')) return 'text'
  if (known.every((value) => typeof value === 'boolean')) return 'boolean'
  if (known.every((value) => Number.isSafeInteger(value))) return 'integer'
  if (known.every((value) => typeof value === 'number')) return 'float'
  return 'json'
}

function delimiterOf(text: string): string {
  const line = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'))
  const count = (delimiter: string) => line.split(delimiter).length
  return [',', '\t', ';', '|'].reduce((best, one) => (count(one) > count(best) ? one : best))
}

/** Records of CSV (RFC 4180); a quote that does not begin a field is a character. */
export function recordsOf(text: string, delimiter: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let at = 0
  while (at < text.length) {
    let field = ''
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') field += text[at]
        else if (text[at + 1] === '"') {
          field += '"'
          at++
        } else break
      }
      at++
    }
    const rest = /[\r\n]/
    while (at < text.length && text[at] !== delimiter && !rest.test(text[at] ?? '')) field += text[at++]
    record.push(field)
    if (text[at] === delimiter) {
      at++
      if (at >= text.length) record.push('')
      else if (!rest.test(text[at] ?? '')) continue
      else record.push('')
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    if (record.length > 1 || record[0] !== '') records.push(record)
    record = []
  }
  return records
}

function ofRecords(records: string[][]): TableFile {
  const [columns, ...rest] = records
  if (!columns || rest.length === 0) throw new FileFault('the file has no rows behind its first line')
  const long = rest.findIndex((record) => record.length > columns.length)
  if (long >= 0) throw new FileFault(`row ${long + 1} has ${rest[long]?.length} fields, the first line names ${columns.length}`)
  const kinds = columns.map((_, column) => kindOfTexts(rest.map((record) => record[column] ?? '')))
  const rows = rest.map((record) => columns.map((_, column) => cell(record[column] ?? '', kinds[column] ?? 'text')))
  return checked({ columns, kinds, rows })
}

const INTEGER = /^-?(0|[1-9]\d{0,17})$/
const FLOAT = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** What all texts of a column are. A number with zeros in front is a text: it is a code. */
function kindOfTexts(texts: string[]): Kind {
  const known = texts.filter((text) => text !== '')
  if (known.length === 0) return 'text'
  if (known.every((text) => INTEGER.test(text))) return 'integer'
  if (known.every((text) => FLOAT.test(text) && !/^-?0\d/.test(text))) return 'float'
  if (known.every((text) => /^(true|false)$/i.test(text))) return 'boolean'
  return 'text'
}

function cell(text: string, kind: Kind): string {
  if (text === '') return 'null'
  if (kind === 'integer') return text
  if (kind === 'float') return INTEGER.test(text) ? `${text}.0` : text
  if (kind === 'boolean') return text.toLowerCase()
  return JSON.stringify(text)
}

function checked(table: TableFile): TableFile {
  if (table.rows.length > ROWS_MAX) throw new FileFault(`the file has more than ${ROWS_MAX.toLocaleString('en')} rows; \`tanglewood import\` takes them`)
  if (table.columns.length > COLUMNS_MAX) throw new FileFault(`the file has more than ${COLUMNS_MAX.toLocaleString('en')} columns`)
  const names = new Set(table.columns)
  if (names.size < table.columns.length || names.has('')) throw new FileFault('each column needs a name of its own')
  return table
}

/** Rows as the JSON text of a list of objects, without nulls: a property that is null is none. */
export function jsonOf(table: TableFile, from: number, to: number): string {
  const names = table.columns.map((column) => JSON.stringify(column))
  const row = (cells: string[]) => `{${cells.flatMap((cell, at) => (cell === 'null' ? [] : [`${names[at]}:${cell}`])).join(',')}}`
  return `[${table.rows.slice(from, to).map(row).join(',')}]`
}
