/**
 * The server as the page asks it: the log-on, statements whose rows come as a stream, and errors with their place in the text.
 *
 * Invariant: the token lives in this module's memory alone. Nothing writes it to the storage of the browser, and a reload forgets it.
 */
import { read, type Value } from './values'

const QUERY = '/db/neo4j/query/v2'
const LINES = 'application/vnd.neo4j.query.v1.1+jsonl'
/** Time that reading a stream may take before the page gets its turn to draw. */
const TURN_MS = 10

/** Where in a text an error is. Lines and columns begin at 1. */
export interface Place {
  line: number
  column: number
  length: number
}

export class ServerError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | undefined,
    readonly place: Place | undefined,
  ) {
    super(message)
  }
}

export interface Plan {
  operatorType: string
  identifiers: string[]
  arguments: Record<string, unknown>
  children: Plan[]
  rows?: number
  dbHits?: number
  time?: number
}

export interface Notification {
  code: string
  title: string
  description: string
  severity?: string
  position?: { offset: number; line: number; column: number }
}

export interface Summary {
  counters?: Record<string, number | boolean>
  plan?: Plan
  isProfile: boolean
  notifications: Notification[]
  bookmarks: string[]
}

export type Language = 'cypher' | 'gremlin' | 'datalog'

export interface Question {
  statement: string
  parameters?: Record<string, unknown>
  /** Parameters as they were typed: a text of JSON, sent as it is, so that `1.0` stays a float. */
  parametersText?: string
  language?: Language
  readsOnly?: boolean
  signal?: AbortSignal
}

export interface Discovery {
  tanglewood_version: string
  auth_enabled: boolean
  bolt_direct?: string
}

let token: string | undefined
let user: string | undefined
let onLogOff: () => void = () => undefined

export function whenLoggedOff(call: () => void): void {
  onLogOff = call
}

export function currentUser(): string | undefined {
  return user
}

/** What the server says of itself. */
export async function discover(): Promise<Discovery> {
  const path = import.meta.env.DEV ? '/discovery' : '/'
  const response = await fetch(path, { headers: { accept: 'application/json' }, credentials: 'omit' })
  return (await response.json()) as Discovery
}

/** Exchanges a name and a password for a token of this page's memory. */
export async function logOn(name: string, password: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${name}:${password}`)
  const secret = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  const response = await request('/tokens', { method: 'POST', headers: { authorization: `Basic ${secret}` } })
  if (!response.ok) throw await errorOf(response)
  token = ((await response.json()) as { token: string }).token
  user = name
}

/** Gives the token back. */
export async function logOff(): Promise<void> {
  const headers = authorization()
  token = undefined
  user = undefined
  onLogOff()
  await request('/tokens', { method: 'DELETE', headers })
}

// A page that is left gives its token back, as far as the browser still lets it: a user may have a hundred.
if (typeof window !== 'undefined') {
  window.addEventListener('pagehide', () => {
    if (token === undefined) return
    void fetch('/tokens', { method: 'DELETE', headers: authorization(), credentials: 'omit', keepalive: true }).catch(() => undefined)
    token = undefined
    user = undefined
    onLogOff()
  })
}

function authorization(): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** A request without cookies, and without the browser's own box for passwords. */
async function request(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, credentials: 'omit', cache: 'no-store' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ServerError('Page.Unreachable', 'the server does not answer', 'is `tanglewood serve` still running?', undefined)
  }
}

/** A request with the token; a token that is good no more brings the log-on back. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), ...authorization() }
  const response = await request(path, { ...init, headers })
  if (response.ok) return response
  if (response.status === 401) {
    token = undefined
    user = undefined
    onLogOff()
  }
  throw await errorOf(response)
}

interface WireError {
  code: string
  message: string
}

async function errorOf(response: Response): Promise<ServerError> {
  const text = await response.text()
  try {
    const errors = (JSON.parse(text) as { errors: WireError[] }).errors
    if (errors[0]) return parseError(errors[0])
  } catch {
    // Whoever stands between may answer with something else than JSON.
  }
  return new ServerError('Page.Unexpected', `the server answered with status ${response.status}`, undefined, undefined)
}

/** Takes a message apart: the sentence, the line with the place underlined, the hint. */
export function parseError(error: WireError): ServerError {
  const lines = error.message.split('\n')
  const excerptAt = lines.findIndex((line) => /^\s*--> line \d+, column \d+$/.test(line))
  const hintAt = lines.findIndex((line, at) => at > 0 && line.startsWith('hint: '))
  const hint = hintAt < 0 ? undefined : lines.slice(hintAt).join('\n').slice('hint: '.length)
  const ends = [excerptAt, hintAt].filter((at) => at >= 0)
  const message = lines.slice(0, ends.length > 0 ? Math.min(...ends) : undefined).join('\n')
  const found = excerptAt < 0 ? null : /line (\d+), column (\d+)/.exec(lines[excerptAt] ?? '')
  if (!found) return new ServerError(error.code, message, hint, undefined)
  const marks = /\^+/.exec(lines.slice(excerptAt + 2, excerptAt + 3).join(''))
  const place = { line: Number(found[1]), column: Number(found[2]), length: marks ? marks[0].length : 1 }
  return new ServerError(error.code, message, hint, place)
}

export interface Reader {
  fields(fields: string[]): void
  rows(rows: Value[][]): void
}

/** Runs a statement and gives its rows to the reader as they come. Aborting the signal ends the statement at the server. */
export async function run(question: Question, reader: Reader): Promise<Summary> {
  const fields = {
    statement: question.statement,
    includeCounters: true,
    ...(question.language === 'gremlin' ? { language: 'gremlin' } : {}),
    ...(question.readsOnly ? { accessMode: 'READ' } : {}),
  }
  const parameters = question.parametersText ?? JSON.stringify(question.parameters ?? {})
  const body = `${JSON.stringify(fields).slice(0, -1)},"parameters":${parameters}}`
  const response = await ask(QUERY, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: LINES },
    body,
    ...(question.signal ? { signal: question.signal } : {}),
  })
  let summary: Summary | undefined
  await eachLines(response, (lines) => {
    const rows: Value[][] = []
    for (const line of lines) {
      const event = JSON.parse(line) as { $event: string; _body: unknown }
      if (event.$event === 'Record') rows.push((event._body as unknown[]).map(read))
      else if (event.$event === 'Header') reader.fields((event._body as { fields: string[] }).fields)
      else if (event.$event === 'Summary') summary = summaryOf(event._body as WireSummary)
      else if (event.$event === 'Error') {
        if (rows.length > 0) reader.rows(rows)
        throw parseError((event._body as WireError[])[0] ?? { code: 'Page.Unexpected', message: 'the statement failed' })
      }
    }
    if (rows.length > 0) reader.rows(rows)
  })
  if (!summary) throw new ServerError('Page.Unexpected', 'the answer ended before its end', 'ask again', undefined)
  return summary
}

interface WireSummary {
  counters?: Record<string, number | boolean>
  queryPlan?: Plan
  profiledQueryPlan?: Plan
  notifications?: Notification[]
  bookmarks?: string[]
}

function summaryOf(wire: WireSummary): Summary {
  const plan = wire.profiledQueryPlan ?? wire.queryPlan
  return {
    ...(wire.counters ? { counters: wire.counters } : {}),
    ...(plan ? { plan } : {}),
    isProfile: wire.profiledQueryPlan !== undefined,
    notifications: wire.notifications ?? [],
    bookmarks: wire.bookmarks ?? [],
  }
}

/** Reads a body by lines. Between two pieces the page may draw. */
export async function eachLines(response: Response, take: (lines: string[]) => void): Promise<void> {
  const body = response.body
  if (!body) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let turnEnds = performance.now() + TURN_MS
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      const whole = lines.filter((line) => line !== '')
      if (whole.length > 0) take(whole)
      if (performance.now() > turnEnds) {
        await new Promise((resume) => setTimeout(resume, 0))
        turnEnds = performance.now() + TURN_MS
      }
    }
    if (rest !== '') take([rest])
  } finally {
    // What is not read is not sent: the server ends the statement.
    reader.cancel().catch(() => undefined)
  }
}

/** All rows of a small answer, as objects by column. */
export async function rowsOf(
  statement: string,
  parameters: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<Record<string, Value>[]> {
  let fields: string[] = []
  const out: Record<string, Value>[] = []
  await run(
    { statement, parameters, ...(signal ? { signal } : {}) },
    {
      fields: (names) => {
        fields = names
      },
      rows: (rows) => {
        for (const row of rows) {
          const entries: Record<string, Value> = Object.create(null)
          fields.forEach((field, at) => {
            entries[field] = row[at] ?? null
          })
          out.push(entries)
        }
      },
    },
  )
  return out
}
