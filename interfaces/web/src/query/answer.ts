/** The answer to one statement, while it comes and when it is whole. */
import { useCallback, useRef, useState } from 'react'
import { type Question, run, ServerError, type Summary } from '../api/client'
import type { Value } from '../api/values'

/** Rows that the page keeps of one answer; the statement is ended there. */
export const ROWS_MAX = 100_000
/** Values that it keeps of one answer: rows times columns. */
const CELLS_MAX = 2_000_000

export interface Answer {
  question: Question
  state: 'running' | 'done' | 'failed' | 'stopped' | 'cut'
  fields: string[]
  /** Grows in place while the answer comes; `count` says how far it may be read. */
  rows: Value[][]
  count: number
  summary?: Summary
  error?: ServerError
  elapsedMs: number
  startedMs: number
}

export interface Asking {
  answer: Answer | undefined
  ask(question: Question): Promise<Answer>
  stop(): void
  clear(): void
}

export function useAnswer(): Asking {
  const [answer, setAnswer] = useState<Answer>()
  const current = useRef<AbortController>(undefined)

  const stop = useCallback(() => current.current?.abort(), [])
  const clear = useCallback(() => setAnswer(undefined), [])
  const ask = useCallback(async (question: Question) => {
    current.current?.abort()
    const control = new AbortController()
    current.current = control
    return collect(question, control, (next) => {
      if (current.current === control) setAnswer(next)
    })
  }, [])
  return { answer, ask, stop, clear }
}

/** Asks, and shows the answer at most once a frame while it grows. */
async function collect(question: Question, control: AbortController, show: (answer: Answer) => void): Promise<Answer> {
  const startedMs = performance.now()
  let answer: Answer = { question, state: 'running', fields: [], rows: [], count: 0, elapsedMs: 0, startedMs }
  let isPlanned = false
  const update = (change: Partial<Answer>) => {
    answer = { ...answer, ...change, count: answer.rows.length, elapsedMs: performance.now() - startedMs }
  }
  const plan = () => {
    if (isPlanned) return
    isPlanned = true
    requestAnimationFrame(() => {
      isPlanned = false
      if (answer.state === 'running') show(answer)
    })
  }
  show(answer)
  let isCut = false
  try {
    const summary = await run(
      { ...question, signal: control.signal },
      {
        fields(fields) {
          update({ fields })
          plan()
        },
        rows(rows) {
          const cellsLeft = Math.floor(CELLS_MAX / Math.max(1, answer.fields.length))
          const room = Math.min(ROWS_MAX, cellsLeft) - answer.rows.length
          for (const row of rows.slice(0, room)) answer.rows.push(row)
          update({})
          plan()
          if (rows.length > room) {
            isCut = true
            control.abort()
          }
        },
      },
    )
    update({ state: 'done', summary })
  } catch (error) {
    if (isCut) update({ state: 'cut' })
    else if (control.signal.aborted) update({ state: 'stopped' })
    else update({ state: 'failed', error: asServerError(error) })
  }
  show(answer)
  return answer
}

export function asServerError(error: unknown): ServerError {
  if (error instanceof ServerError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new ServerError('Page.Unexpected', message, undefined, undefined)
}
