/** Statements that were asked, youngest first, and those that were saved under a name. */
import { load, store } from '../common/stored'
import { hasSecret } from './statements'

const ASKED_MAX = 200
const SAVED_MAX = 500
/** A text longer than this is not remembered. */
const TEXT_CHARACTERS_MAX = 20_000

export interface Saved {
  name: string
  text: string
}

const isText = (value: unknown): value is string => typeof value === 'string'

export function asked(): string[] {
  const found = load<unknown>('history', [])
  return Array.isArray(found) ? found.filter(isText) : []
}

export function remember(text: string): void {
  if (hasSecret(text) || text.length > TEXT_CHARACTERS_MAX) return
  store('history', [text, ...asked().filter((one) => one !== text)].slice(0, ASKED_MAX))
}

export function forgetAll(): void {
  store('history', [])
}

export function saved(): Saved[] {
  const found = load<unknown>('saved', [])
  if (!Array.isArray(found)) return []
  return found.filter((one: Partial<Saved> | null) => isText(one?.name) && isText(one?.text)) as Saved[]
}

/** Saves a statement; one of the same name goes. False where it may not be kept. */
export function save(name: string, text: string): boolean {
  if (hasSecret(text) || text.length > TEXT_CHARACTERS_MAX) return false
  const others = saved().filter((one) => one.name !== name)
  if (others.length >= SAVED_MAX) return false
  store('saved', [...others, { name, text }].sort((one, other) => one.name.localeCompare(other.name)))
  return true
}

export function unsave(name: string): void {
  store('saved', saved().filter((one) => one.name !== name))
}
