/**
 * A subscription as the server sends it: events of a stream that never ends by itself.
 *
 * The browser's own EventSource cannot send a token, so the stream is read here. A break is mended by coming again with the mark of the last
 * event: nothing is lost, and nothing comes twice.
 */
import { ask, parseError, ServerError } from '../api/client'
import { readPlain, type Value } from '../api/values'

/** Pauses before coming again. */
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000]
/** Characters of one event. */
const EVENT_CHARACTERS_MAX = 64 << 20

export interface ServerEvent {
  name: string
  id: string | undefined
  data: string
}

/** Takes a stream of text apart (WHATWG HTML, 9.2). */
export class EventParser {
  private rest = ''

  push(text: string): ServerEvent[] {
    const parts = (this.rest + text.replaceAll('\r\n', '\n')).split('\n\n')
    this.rest = parts.pop() ?? ''
    if (this.rest.length > EVENT_CHARACTERS_MAX) throw new ServerError('Page.Unexpected', 'an event is too long', undefined, undefined)
    return parts.flatMap((part) => {
      const event: ServerEvent = { name: 'message', id: undefined, data: '' }
      const data: string[] = []
      for (const line of part.split('\n')) {
        const colon = line.indexOf(':')
        if (colon <= 0) continue
        const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
        if (field === 'event') event.name = value
        else if (field === 'id') event.id = value
        else if (field === 'data') data.push(value)
      }
      event.data = data.join('\n')
      return data.length > 0 ? [event] : []
    })
  }
}

export interface Change {
  difference: number
  row: Value[]
}

export interface Watcher {
  fields(fields: string[]): void
  /** The rows that came and went with a commit. After `begin` they are the whole answer. */
  changes(commit: number, timeMs: number | undefined, changes: Change[]): void
  state(state: 'connecting' | 'live' | 'waiting'): void
}

/** Follows a standing query until the signal is aborted. What the server refuses is thrown. */
export async function follow(name: string, args: Record<string, string>, watcher: Watcher, signal: AbortSignal): Promise<void> {
  let mark: string | undefined
  let failures = 0
  for (;;) {
    watcher.state('connecting')
    const query = new URLSearchParams(mark === undefined ? { snapshot: 'true' } : {})
    for (const [key, value] of Object.entries(args)) query.set(`param.${key}`, value)
    try {
      const response = await ask(`/db/neo4j/subscriptions/${encodeURIComponent(name)}?${query}`, {
        headers: { accept: 'text/event-stream', ...(mark === undefined ? {} : { 'last-event-id': mark }) },
        signal,
      })
      failures = 0
      watcher.state('live')
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      const parser = new EventParser()
      for (;;) {
        const read = await reader?.read()
        if (!read || read.done) break
        for (const event of parser.push(read.value)) {
          handle(event, watcher)
          mark = event.id ?? mark
        }
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ServerError && error.code !== 'Page.Unreachable') throw error
    }
    if (signal.aborted) return
    watcher.state('waiting')
    const pause = PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]
    await new Promise((resume) => setTimeout(resume, pause))
  }
}

function handle(event: ServerEvent, watcher: Watcher): void {
  const data = JSON.parse(event.data) as {
    fields?: string[]
    commit?: number
    time?: number | null
    rows?: { difference: number; row: unknown[] }[]
    errors?: { code: string; message: string }[]
  }
  if (event.name === 'fields') watcher.fields(data.fields ?? [])
  else if (event.name === 'error') throw parseError(data.errors?.[0] ?? { code: 'Page.Unexpected', message: 'the subscription ended' })
  else if (event.name === 'changes' || event.name === 'progress') {
    const changes = (data.rows ?? []).map(({ difference, row }) => ({ difference, row: row.map(readPlain) }))
    watcher.changes(data.commit ?? 0, data.time ?? undefined, changes)
  }
}
