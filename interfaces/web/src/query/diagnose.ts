/** What is wrong with a text, underlined where it is: by EXPLAIN while one types, by the error when it was run. */
import type { Diagnostic } from '@codemirror/lint'
import { type Language, type Notification, run, ServerError } from '../api/client'
import { languageOf, offsetOf, type Statement, statementsOf } from './statements'

/** Statements of one text that are looked at. */
const STATEMENTS_MAX = 20
const PREFIX = 'EXPLAIN '

/** An error of a statement that was run; `linesBefore` stand before it in what was sent. */
export function fromError(error: ServerError, text: string, statement: Statement, linesBefore: number): Diagnostic[] {
  const message = error.hint ? `${error.message}\nhint: ${error.hint}` : error.message
  if (!error.place) return [{ from: statement.from, to: statement.to, severity: 'error', message }]
  const from = statement.from + offsetOf(statement.text, error.place.line - linesBefore, error.place.column)
  const to = statement.from + offsetOf(statement.text, error.place.line - linesBefore, error.place.column + error.place.length)
  return [{ from: Math.min(from, text.length), to: Math.min(Math.max(to, from), text.length), severity: 'error', message }]
}

function fromNotice(notice: Notification, statement: Statement): Diagnostic[] {
  if (!notice.position || notice.severity === 'INFORMATION') return []
  const { line, column } = notice.position
  const inFirst = line === 1 ? PREFIX.length : 0
  const from = statement.from + offsetOf(statement.text, line, Math.max(1, column - inFirst))
  return [{ from: Math.min(from, statement.to), to: statement.to, severity: 'warning', message: `${notice.title}\n${notice.description}` }]
}

/** Statements that EXPLAIN takes: questions and changes, not commands. */
function isExplained(text: string): boolean {
  if (languageOf(text) !== 'cypher') return false
  if (/^(EXPLAIN|PROFILE|AS\s+OF|CYPHER)\b/i.test(text)) return false
  return /^(MATCH|OPTIONAL|RETURN|WITH|UNWIND|CALL|CREATE\s*[(]|MERGE|INSERT|LET|FILTER|FOREACH|DETACH|LOAD|FINISH|[A-Z]+\s*$)/i.test(text)
}

export async function diagnose(
  text: string,
  statementOf: (text: string) => { statement: string; language: Language },
  signal: AbortSignal,
): Promise<Diagnostic[]> {
  const out: Diagnostic[] = []
  for (const one of statementsOf(text).slice(0, STATEMENTS_MAX)) {
    if (statementOf(one.text).language !== 'cypher' || !isExplained(one.text)) continue
    try {
      const reader = { fields: () => undefined, rows: () => undefined }
      const summary = await run({ statement: PREFIX + one.text, readsOnly: false, signal }, reader)
      out.push(...summary.notifications.flatMap((notice) => fromNotice(notice, one)))
    } catch (error) {
      if (signal.aborted) return []
      if (error instanceof ServerError) out.push(...fromExplain(error, text, one))
    }
  }
  return out
}

/** The first line of what was sent has the word EXPLAIN in front. */
function fromExplain(error: ServerError, text: string, statement: Statement): Diagnostic[] {
  if (!error.code.includes('.Statement.') || !error.place) return []
  const { line, column, length } = error.place
  const moved = { line, column: line === 1 ? Math.max(1, column - PREFIX.length) : column, length }
  return fromError(new ServerError(error.code, error.message, error.hint, moved), text, statement, 0)
}
