/** What the editor offers while one types: words of the language now; names of the graph come from [schema]. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { schemaNow } from '../schema/names'
import { KEYWORDS } from './mode'

const keywords: Completion[] = KEYWORDS.map((label) => ({ label, type: 'keyword' }))

/** Names that a text has given to nodes, relationships and values. */
function variablesOf(text: string): string[] {
  const found = new Set<string>()
  for (const match of text.matchAll(/[([]\s*([\p{L}_][\p{L}\p{N}_]*)\s*(?=[:){\]]|\s*\w*\s*WHERE)|\bAS\s+([\p{L}_][\p{L}\p{N}_]*)/giu)) {
    const name = match[1] ?? match[2]
    if (name) found.add(name)
  }
  return [...found]
}

const isPlain = (name: string) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)
const written = (name: string) => (isPlain(name) ? name : `\`${name.replaceAll('`', '``')}\``)
const options = (names: string[], type: string): Completion[] => names.map((name) => ({ label: name, apply: written(name), type, detail: type }))

export async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/`?[\p{L}\p{N}_]*/u)
  if (!word || (word.from === word.to && !context.explicit)) {
    const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos)
    if (!':.$|'.includes(before) || before === '') return null
  }
  const from = word?.from ?? context.pos
  const line = context.state.sliceDoc(Math.max(0, from - 500), from)
  const schema = await schemaNow()
  const validFor = /^`?[\p{L}\p{N}_]*$/u
  if (/[:|&]!?\s*$/.test(line)) {
    // Within brackets stand types, elsewhere labels; within braces a colon stands between a key and its value.
    const open = Math.max(line.lastIndexOf('['), line.lastIndexOf('('), line.lastIndexOf('{'))
    if (line[open] === '{') return null
    const names = line[open] === '[' ? options(schema.types, 'type') : options(schema.labels, 'label')
    return { from, options: names, validFor }
  }
  if (/[\p{L}\p{N}_`)\]]\.\s*$/u.test(line)) {
    const procedure = /([\p{L}_][\p{L}\p{N}_]*\.)+$/u.exec(line)?.[0] ?? ''
    const isCall = /\bCALL\s+[\w.]*$/i.test(line)
    if (isCall) return { from: from - procedure.length, options: procedures(schema.procedures), validFor: /^[\p{L}\p{N}_.]*$/u }
    return { from, options: options(schema.keys, 'property'), validFor }
  }
  if (/\{\s*$|,\s*$/.test(line) && /\{[^}]*$/.test(line) && line.lastIndexOf('{') > line.lastIndexOf('(')) {
    return { from, options: options(schema.keys, 'property'), validFor }
  }
  if (/\bCALL\s+$/i.test(line)) return { from, options: procedures(schema.procedures), validFor: /^[\p{L}\p{N}_.]*$/u }
  const functions = schema.functions.map((one) => ({ label: one.name, detail: one.signature, info: one.description, type: 'function' }))
  const variables = options(variablesOf(context.state.doc.toString()), 'variable')
  return { from, options: [...variables.map((one) => ({ ...one, boost: 2 })), ...keywords.map((one) => ({ ...one, boost: 1 })), ...functions], validFor }
}

function procedures(known: { name: string; signature: string; description: string }[]): Completion[] {
  return known.map((one) => ({ label: one.name, detail: one.signature.slice(one.name.length), info: one.description, type: 'procedure' }))
}
