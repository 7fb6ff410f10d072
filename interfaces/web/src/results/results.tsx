/** The answer below the editor: as a graph, a table, a plan, or raw. */
import { useEffect, useState } from 'react'
import type { Question } from '../api/client'
import type { Value } from '../api/values'
import type { Answer } from '../query/answer'
import { ROWS_MAX } from '../query/answer'
import { saveCsv } from './csv'
import { ErrorBox } from './error-box'
import { Graph } from './graph'
import { hasGraph } from './graph-model'
import { Inspector } from './inspector'
import { Plan } from './plan'
import { Raw, saveJson } from './raw'
import { Table } from './table'
import { canTravel, TimeTravel } from './time-travel'

type View = 'plan' | 'graph' | 'table' | 'raw'

interface Properties {
  answer: Answer | undefined
  isDark: boolean
  onStop(): void
  onAsk(question: Question): Promise<Answer>
}

export function Results({ answer, isDark, onAsk }: Properties) {
  const [wanted, setView] = useState<View>('graph')
  const [inspected, setInspected] = useState<{ value: Value }>()
  const [base, setBase] = useState<Question>()
  useEffect(() => setInspected(undefined), [answer?.startedMs])
  const plan = answer?.summary?.plan
  useEffect(() => {
    if (plan) setView('plan')
  }, [plan])
  // A question of one's own ends the travel; those of the slider go on with it.
  const isTravel = base !== undefined && answer?.question.statement.endsWith(base.statement)
  useEffect(() => {
    if (answer && !isTravel) setBase(undefined)
  }, [answer?.startedMs])
  if (!answer) return <Welcome />
  const views: View[] = [...(plan ? (['plan'] as const) : []), ...(hasGraph(answer.rows, answer.count) ? (['graph'] as const) : []), 'table', 'raw']
  const view = views.includes(wanted) ? wanted : (views.find((one) => one === 'graph') ?? 'table')
  return (
    <section className="results" aria-label="Answer" aria-busy={answer.state === 'running'}>
      <div className="toolbar">
        <div role="tablist" aria-label="Views of the answer" className="tabs">
          {views.map((one) => (
            <button key={one} type="button" role="tab" aria-selected={view === one} onClick={() => setView(one)}>
              {NAMES[one]}
            </button>
          ))}
        </div>
        {(base !== undefined || canTravel(answer.question)) && (
          <button
            type="button"
            aria-expanded={base !== undefined}
            onClick={() => {
              if (base && answer.question.statement !== base.statement) void onAsk(base)
              setBase(base ? undefined : answer.question)
            }}
          >
            Time travel
          </button>
        )}
        <span className="grow" />
        <Status answer={answer} />
        <button type="button" className="quiet" disabled={answer.count === 0} onClick={() => saveCsv(answer)}>
          CSV
        </button>
        <button type="button" className="quiet" disabled={answer.count === 0} onClick={() => saveJson(answer)}>
          JSON
        </button>
      </div>
      {base && <TimeTravel key={base.statement} question={base} onAsk={(question) => void onAsk(question)} />}
      {answer.error && <ErrorBox error={answer.error} statement={answer.question.statement} />}
      <Notices answer={answer} />
      <div className="results-body">
        <div className="results-view" role="tabpanel" aria-label={NAMES[view]}>
          {view !== 'plan' && answer.fields.length === 0 && !answer.error && answer.state !== 'running' && <p className="empty">{changes(answer) || 'The statement is done; it has no rows.'}</p>}
          {view === 'plan' && plan && <Plan plan={plan} isProfile={answer.summary?.isProfile ?? false} />}
          {view === 'graph' && <Graph answer={answer} isDark={isDark} />}
          {answer.fields.length > 0 && view === 'table' && <Table answer={answer} onInspect={(value) => setInspected({ value })} />}
          {answer.fields.length > 0 && view === 'raw' && <Raw answer={answer} />}
        </div>
        {inspected && <Inspector value={inspected.value} onClose={() => setInspected(undefined)} />}
      </div>
    </section>
  )
}

const NAMES: Record<View, string> = { plan: 'Plan', graph: 'Graph', table: 'Table', raw: 'Raw' }

function Welcome() {
  return (
    <section className="results welcome">
      <p>
        Type a statement and press <kbd>Ctrl</kbd> <kbd>Enter</kbd>.
      </p>
      <p className="soft">
        <code>MATCH (n) RETURN n LIMIT 100</code> shows some of the graph. <kbd>?</kbd> outside of the editor shows all keys.
      </p>
    </section>
  )
}

function Notices({ answer }: { answer: Answer }) {
  const notices = answer.summary?.notifications ?? []
  if (notices.length === 0) return null
  return (
    <ul className="notices" aria-label="Notices">
      {notices.map((notice, at) => (
        <li key={at}>
          <strong>{notice.title}</strong> {notice.description}
        </li>
      ))}
    </ul>
  )
}

const WORDS: [string, string][] = [
  ['nodesCreated', 'nodes created'],
  ['nodesDeleted', 'nodes deleted'],
  ['relationshipsCreated', 'relationships created'],
  ['relationshipsDeleted', 'relationships deleted'],
  ['propertiesSet', 'properties set'],
  ['labelsAdded', 'labels added'],
  ['labelsRemoved', 'labels removed'],
  ['indexesAdded', 'indexes made'],
  ['indexesRemoved', 'indexes dropped'],
  ['constraintsAdded', 'constraints made'],
  ['constraintsRemoved', 'constraints dropped'],
]

function changes(answer: Answer): string {
  const counters = answer.summary?.counters ?? {}
  return WORDS.filter(([key]) => Number(counters[key]) > 0)
    .map(([key, words]) => `${Number(counters[key]).toLocaleString('en')} ${words}`)
    .join(', ')
}

function Status({ answer }: { answer: Answer }) {
  const rows = `${answer.count.toLocaleString('en')} ${answer.count === 1 ? 'row' : 'rows'}`
  const time = answer.elapsedMs < 1_000 ? `${answer.elapsedMs.toFixed(0)} ms` : `${(answer.elapsedMs / 1_000).toFixed(1)} s`
  const words = {
    running: `${rows} so far`,
    done: [rows, changes(answer)].filter(Boolean).join(', '),
    failed: 'failed',
    stopped: `stopped after ${rows}`,
    cut: `the first ${rows}; the page keeps ${ROWS_MAX.toLocaleString('en')} at most`,
  }
  return (
    <span className="status" role="status" data-state={answer.state} data-answer={answer.startedMs}>
      {answer.state === 'running' && <span className="spinner" aria-hidden="true" />}
      {words[answer.state]} · {time}
    </span>
  )
}
