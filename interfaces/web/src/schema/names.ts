/** Names that are in the graph, as the editor offers them; asked again when they are older than a while. */
import { rowsOf } from '../api/client'
import { show, type Value } from '../api/values'

export interface Callable {
  name: string
  signature: string
  description: string
}

export interface Names {
  labels: string[]
  types: string[]
  keys: string[]
  functions: Callable[]
  procedures: Callable[]
}

/** Names of one kind that are offered. */
const NAMES_MAX = 5_000
/** Age at which names are asked for again. */
const FRESH_MS = 15_000

const nothing: Names = { labels: [], types: [], keys: [], functions: [], procedures: [] }
let kept: { names: Names; atMs: number } | undefined
let asking: Promise<Names> | undefined

/** The names as far as they are known; whoever asks first waits for them. */
export async function schemaNow(): Promise<Names> {
  if (kept && performance.now() - kept.atMs < FRESH_MS) return kept.names
  asking ??= ask().finally(() => {
    asking = undefined
  })
  return kept ? kept.names : asking
}

/** The graph has changed, or another user asks. */
export function forgetNames(): void {
  kept = undefined
}

async function ask(): Promise<Names> {
  const texts = async (statement: string): Promise<string[]> => {
    const rows = await rowsOf(`${statement} LIMIT ${NAMES_MAX}`)
    return rows.map((row) => show(Object.values(row)[0] ?? null)).sort()
  }
  const callables = async (statement: string): Promise<Callable[]> => {
    const text = (value: Value | undefined) => show(value ?? '')
    const rows = await rowsOf(statement)
    return rows.map((row) => ({ name: text(row.name), signature: text(row.signature), description: text(row.description) }))
  }
  try {
    const [labels, types, keys, functions, procedures] = await Promise.all([
      texts('CALL db.labels() YIELD label RETURN label'),
      texts('CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType'),
      texts('CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey'),
      kept ? kept.names.functions : callables('SHOW FUNCTIONS YIELD name, signature, description'),
      kept ? kept.names.procedures : callables('SHOW PROCEDURES YIELD name, signature, description'),
    ])
    kept = { names: { labels, types, keys, functions, procedures }, atMs: performance.now() }
    return kept.names
  } catch {
    // Without names the words of the language are offered.
    return kept?.names ?? nothing
  }
}
