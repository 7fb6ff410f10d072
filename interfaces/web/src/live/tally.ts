/**
 * The answer of a standing query as it is now: rows with how often each is there, kept by adding differences.
 *
 * Invariant: no row stands with a count of zero. The law of standing queries says that the sum of all differences is the answer.
 */
import type { Value } from '../api/values'
import { toJson } from '../api/values'
import type { Change } from './events'

/** Different rows that the page keeps. */
export const ROWS_MAX = 20_000
/** Changes that are listed. */
const LOG_MAX = 300
/** Seconds of the chart. */
export const SECONDS = 120

export interface Kept {
  row: Value[]
  count: number
  changedMs: number
}

export interface Logged {
  key: number
  commit: number
  timeMs: number
  difference: number
  row: Value[]
}

export class Tally {
  readonly rows = new Map<string, Kept>()
  /** Youngest first. */
  log: Logged[] = []
  /** Rows that came and went by second; the key is the second. */
  readonly perSecond = new Map<number, { came: number; went: number }>()
  isFull = false
  private isBegun = false
  private number = 0

  /** Takes up the differences of a commit. The first are the answer at the beginning, and no change. */
  add(commit: number, timeMs: number, nowMs: number, changes: Change[]): void {
    for (const { difference, row } of changes) this.addRow(difference, row, nowMs)
    if (!this.isBegun) {
      this.isBegun = true
      return
    }
    if (changes.length === 0) return
    const fresh = changes.slice(-LOG_MAX).map(({ difference, row }) => ({ key: this.number++, commit, timeMs, difference, row }))
    this.log = [...fresh.reverse(), ...this.log].slice(0, LOG_MAX)
    const second = Math.floor(nowMs / 1_000)
    const sums = this.perSecond.get(second) ?? { came: 0, went: 0 }
    for (const { difference } of changes) {
      if (difference > 0) sums.came += difference
      else sums.went -= difference
    }
    this.perSecond.set(second, sums)
    for (const key of this.perSecond.keys()) if (key < second - SECONDS) this.perSecond.delete(key)
  }

  private addRow(difference: number, row: Value[], nowMs: number): void {
    const key = toJson(row)
    const known = this.rows.get(key)
    const count = (known?.count ?? 0) + difference
    if (count === 0) this.rows.delete(key)
    else if (known || this.rows.size < ROWS_MAX) this.rows.set(key, { row, count, changedMs: nowMs })
    else this.isFull = true
  }
}
