/**
 * A text taken apart: its statements, their places, and the language each is in.
 *
 * Semicolons within quotes, backquotes, comments and braces of Datalog end nothing.
 */
import type { Language } from '../api/client'

export interface Statement {
  text: string
  /** Offset of the first character of `text` in the whole. */
  from: number
  to: number
}

/** The end of what begins at `at` and hides semicolons: quotes, backquotes, comments; `at` itself where nothing does. */
function skipHidden(text: string, at: number): number {
  const two = text.slice(at, at + 2)
  const end = (close: string, from: number): number => {
    const found = text.indexOf(close, from)
    return found < 0 ? text.length : found + close.length
  }
  if (two === '//') return end('\n', at)
  if (two === '/*') return end('*/', at + 2)
  const quote = text[at]
  if (quote === '`') return end('`', at + 1)
  if (quote !== "'" && quote !== '"') return at
  for (let next = at + 1; next < text.length; next++) {
    if (text[next] === '\\') next++
    else if (text[next] === quote) return next + 1
  }
  return text.length
}

/** The statements of a text, without blanks and comments around them. */
export function statementsOf(text: string): Statement[] {
  const out: Statement[] = []
  let begin = 0
  const close = (end: number) => {
    const from = begin + leading(text.slice(begin, end))
    const trimmed = text.slice(from, end).trimEnd()
    if (trimmed !== '') out.push({ text: trimmed, from, to: from + trimmed.length })
  }
  let at = 0
  while (at < text.length) {
    const behind = skipHidden(text, at)
    if (behind > at) at = behind
    else {
      if (text[at] === ';') {
        close(at)
        begin = at + 1
      }
      at++
    }
  }
  close(text.length)
  return out
}

/** Characters of blanks and comments at the head of a text. */
function leading(text: string): number {
  let at = 0
  for (;;) {
    const blank = /^\s+/.exec(text.slice(at))
    if (blank) at += blank[0].length
    const isComment = text.startsWith('//', at) || text.startsWith('/*', at)
    if (!isComment) return at
    at = skipHidden(text, at)
  }
}

/** The statement in which an offset lies, or the last one before it. */
export function statementAt(text: string, offset: number): Statement | undefined {
  const all = statementsOf(text)
  return all.find((one) => offset <= one.to + 1) ?? all[all.length - 1]
}

/** The language of a statement, told by its first word. */
export function languageOf(statement: string): Language {
  if (/^g\s*\./.test(statement)) return 'gremlin'
  if (/^(AS\s+OF\s[^{]*?)?DATALOG\s*\{/i.test(statement)) return 'datalog'
  return 'cypher'
}

/** Does a statement carry a password? Such a text is kept nowhere. */
export function hasSecret(statement: string): boolean {
  return /\bPASSWORD\b/i.test(statement)
}

/** Is it a question whose answer has no end? */
export function isSubscription(statement: string): boolean {
  return /^SUBSCRIBE\b/i.test(statement)
}

/** A name between backquotes. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/** The offset of a line and column (both from 1) in a text. A column counts characters as the server does: by code point. */
export function offsetOf(text: string, line: number, column: number): number {
  let at = 0
  for (let left = line; left > 1; left--) {
    const next = text.indexOf('\n', at)
    if (next < 0) return text.length
    at = next + 1
  }
  for (let left = column; left > 1 && at < text.length; left--) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return at
}
