/** Colours of the three languages in the editor: one tokenizer, since their words differ and their shapes do not. */
import { StreamLanguage, type StreamParser } from '@codemirror/language'

export const KEYWORDS = [
  'ALL', 'ALTER', 'AND', 'ANY', 'AS', 'ASC', 'BY', 'CALL', 'CASE', 'COLLECT', 'CONSTRAINT', 'CONTAINS', 'COUNT', 'CREATE', 'DATALOG', 'DELETE', 'DENY',
  'DESC', 'DETACH', 'DISTINCT', 'DROP', 'ELSE', 'END', 'ENDS', 'EXISTS', 'EXPLAIN', 'FILTER', 'FINISH', 'FOR', 'FOREACH', 'FROM', 'GRANT', 'HEADERS', 'IF',
  'IN', 'INDEX', 'INSERT', 'IS', 'KILL', 'LET', 'LIMIT', 'LOAD', 'CSV', 'MATCH', 'MERGE', 'NOT', 'NULL', 'OF', 'OFFSET', 'ON', 'OPTIONAL', 'OR', 'ORDER',
  'PROFILE', 'QUERY', 'REMOVE', 'REQUIRE', 'RETURN', 'REVOKE', 'ROWS', 'SET', 'SHORTEST', 'SHOW', 'SKIP', 'SNAPSHOT', 'STANDING', 'STARTS', 'SUBSCRIBE', 'TENANT',
  'THEN', 'TRANSACTIONS', 'UNION', 'UNIQUE', 'UNWIND', 'USE', 'USER', 'USING', 'WHEN', 'WHERE', 'WITH', 'XOR', 'YIELD',
]

const WORDS = new Set(KEYWORDS)
const CONSTANTS = new Set(['TRUE', 'FALSE', 'NULL', 'INF', 'NAN'])

interface State {
  inComment: boolean
  /** What the last significant character was: behind `:` come labels, behind `.` properties. */
  before: string
}

const parser: StreamParser<State> = {
  name: 'graph',
  startState: () => ({ inComment: false, before: '' }),
  token(stream, state) {
    if (state.inComment) {
      state.inComment = !stream.match(/.*?\*\//)
      if (state.inComment) stream.skipToEnd()
      return 'comment'
    }
    if (stream.eatSpace()) return null
    const before = state.before
    state.before = ''
    if (stream.match('//')) {
      stream.skipToEnd()
      return 'comment'
    }
    if (stream.match('/*')) {
      state.inComment = true
      return 'comment'
    }
    if (stream.match(/^'(?:[^'\\]|\\.)*'?/) || stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^\$[\p{L}_][\p{L}\p{N}_]*/u)) return 'variableName.special'
    if (stream.match(/^(0x[\da-f]+|\d+(\.\d+)?(e[+-]?\d+)?)/i)) return 'number'
    if (stream.match(/^`[^`]*`?/)) return before === ':' ? 'typeName' : 'variableName'
    if (stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) {
      const word = stream.current().toUpperCase()
      if (before === ':' || before === '|') return 'typeName'
      if (before === '.') return stream.match(/^\s*\(/, false) ? 'variableName.function' : 'propertyName'
      if (CONSTANTS.has(word)) return 'atom'
      if (stream.match(/^\s*\(/, false) && !WORDS.has(word)) return 'variableName.function'
      if (WORDS.has(word)) return 'keyword'
      return stream.match(/^\s*:(?!:)/, false) ? 'propertyName' : 'variableName'
    }
    const symbol = stream.next() ?? ''
    if (symbol === ':' || symbol === '.' || (symbol === '|' && before !== '')) state.before = symbol
    return /[()[\]{}]/.test(symbol) ? 'bracket' : 'operator'
  },
  languageData: { commentTokens: { line: '//', block: { open: '/*', close: '*/' } }, closeBrackets: { brackets: ['(', '[', '{', "'", '"', '`'] } },
}

export const graphLanguage = StreamLanguage.define(parser)
