/** The first of the page's views: a text, its answer, and what was asked before. */
import { type Diagnostic } from '@codemirror/lint'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Language, Question } from '../api/client'
import { load, store, useStored } from '../common/stored'
import { Results } from '../results/results'
import { useAnswer } from './answer'
import { complete } from './complete'
import { diagnose, fromError } from './diagnose'
import { Editor, type EditorHandle } from './editor'
import { asked, remember } from './history'
import { Past } from './past'
import { hasSecret, languageOf, type Statement, statementAt, statementsOf } from './statements'

type Choice = 'auto' | Language

const NAMES: Record<Language, string> = { cypher: 'Cypher', gremlin: 'Gremlin', datalog: 'Datalog' }

interface Properties {
  /** A text that another view hands over. */
  given: { text: string; runs: boolean; number: number } | undefined
  isShown: boolean
  isDark: boolean
}

export function QueryView({ given, isShown, isDark }: Properties) {
  const editor = useRef<EditorHandle>(null)
  const asking = useAnswer()
  const [text, setText] = useState(() => load<string>('draft', ''))
  const [choice, setChoice] = useStored<Choice>('language', 'auto')
  const [parameters, setParameters] = useState('{}')
  const [showsParameters, setShowsParameters] = useState(false)
  const [showsPast, setShowsPast] = useState(false)
  const [parametersError, setParametersError] = useState<string>()
  const failed = useRef<{ text: string; diagnostics: Diagnostic[] }>(undefined)
  const historyAt = useRef(-1)

  const statementOf = (one: string): { statement: string; language: Language } => {
    const language = choice === 'auto' ? languageOf(one) : choice
    const isBare = language === 'datalog' && languageOf(one) !== 'datalog' && !/^(CREATE|SHOW|DROP|AS\s+OF)\b/i.test(one)
    return { statement: isBare ? `DATALOG {\n${one}\n}` : one, language }
  }

  const runOne = async (one: Statement, whole: string): Promise<boolean> => {
    let given: Pick<Question, 'parametersText'> = {}
    try {
      const read = JSON.parse(parameters === '' ? '{}' : parameters) as unknown
      if (read === null || typeof read !== 'object' || Array.isArray(read)) throw new Error('parameters are an object, such as {"name": "Ada"}')
      given = parameters.trim() === '' ? {} : { parametersText: parameters }
      setParametersError(undefined)
    } catch (error) {
      setShowsParameters(true)
      setParametersError(error instanceof Error ? error.message : String(error))
      return false
    }
    remember(one.text)
    historyAt.current = -1
    const { statement, language } = statementOf(one.text)
    const answer = await asking.ask({ statement, language, ...given })
    const isWrapped = statement !== one.text
    failed.current = answer.error ? { text: whole, diagnostics: fromError(answer.error, whole, one, isWrapped ? 1 : 0) } : undefined
    editor.current?.check()
    return answer.state === 'done'
  }

  const runText = async (whole: string, all: boolean) => {
    const selected = all ? '' : (editor.current?.selection() ?? '')
    if (choice === 'datalog' && selected === '') {
      const [one] = statementsOf(whole.replaceAll(';', ' '))
      if (one) await runOne({ text: whole.slice(one.from, one.to), from: one.from, to: one.to }, whole)
      return
    }
    if (all || selected.trim() !== '') {
      for (const one of statementsOf(selected.trim() === '' ? whole : selected)) {
        if (!(await runOne(one, whole))) return
      }
      return
    }
    const one = statementAt(whole, editor.current?.cursor() ?? 0)
    if (one) await runOne(one, whole)
  }
  const run = (all: boolean) => void runText(editor.current?.text() ?? '', all)

  const change = useCallback((next: string) => {
    setText(next)
    if (!hasSecret(next)) store('draft', next)
  }, [])

  const step = (by: number): boolean => {
    const all = asked()
    const at = historyAt.current - by
    if (at < -1 || at >= all.length) return false
    historyAt.current = at
    editor.current?.setText(at < 0 ? '' : (all[at] ?? ''))
    return true
  }

  const take = (next: string, runs: boolean) => {
    editor.current?.setText(next)
    editor.current?.focus()
    if (runs) void runText(next, true)
  }
  useEffect(() => {
    if (given) take(given.text, given.runs)
  }, [given?.number])
  useEffect(() => {
    if (isShown) editor.current?.focus()
  }, [isShown])

  const isRunning = asking.answer?.state === 'running'
  const language = statementOf(text).language
  return (
    <div className="query-view">
      <section className="ask" aria-label="Ask">
        <div className="ask-main">
          <Editor
            ref={editor}
            initial={text}
            onChange={change}
            onRun={run}
            onHistory={step}
            complete={complete}
            diagnose={async (whole, signal) => {
              const now = failed.current?.text === whole ? failed.current.diagnostics : undefined
              return now ?? diagnose(whole, statementOf, signal)
            }}
          />
        </div>
        {showsParameters && (
          <label className="parameters">
            Parameters, an object of JSON
            <textarea
              value={parameters}
              spellCheck={false}
              rows={3}
              aria-invalid={parametersError !== undefined}
              onChange={(event) => setParameters(event.target.value)}
            />
            {parametersError && <span className="bad">{parametersError}</span>}
          </label>
        )}
        <div className="toolbar" role="toolbar" aria-label="Statement">
          {isRunning ? (
            <button type="button" className="stop" onClick={asking.stop}>
              ■ Stop
            </button>
          ) : (
            <button type="button" className="primary" title="Run the statement at the cursor (Ctrl+Enter)" onClick={() => run(false)}>
              ▶ Run
            </button>
          )}
          <select aria-label="Language" value={choice} onChange={(event) => setChoice(event.target.value as Choice)}>
            <option value="auto">{choice === 'auto' ? NAMES[language] : 'By its first word'}</option>
            <option value="cypher">Cypher</option>
            <option value="gremlin">Gremlin</option>
            <option value="datalog">Datalog</option>
          </select>
          <button type="button" aria-expanded={showsParameters} onClick={() => setShowsParameters(!showsParameters)}>
            Parameters
          </button>
          <button type="button" aria-expanded={showsPast} onClick={() => setShowsPast(!showsPast)}>
            History
          </button>
          <span className="grow" />
          <button type="button" className="quiet wide-only" onClick={() => take(withPrefix('EXPLAIN', text), true)}>
            Explain
          </button>
          <button type="button" className="quiet wide-only" onClick={() => take(withPrefix('PROFILE', text), true)}>
            Profile
          </button>
        </div>
      </section>
      {showsPast && <Past text={text} onTake={take} onClose={() => setShowsPast(false)} />}
      <Results answer={asking.answer} isDark={isDark} onStop={asking.stop} onAsk={asking.ask} />
    </div>
  )
}

function withPrefix(word: string, text: string): string {
  const trimmed = text.trimStart()
  const bare = trimmed.replace(/^(EXPLAIN|PROFILE)\s+/i, '')
  return `${word} ${bare}`
}
