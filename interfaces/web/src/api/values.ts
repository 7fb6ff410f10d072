/**
 * Values of the graph as the page holds them, read from the typed JSON of the Query API.
 *
 * Invariant: nothing is lost on the way. An integer beyond 2^53 is a bigint, a float keeps its text, and what JSON has no type for (times, points,
 * bytes) is a `Scalar` with the name of its type.
 */

export class Float {
  constructor(readonly text: string) {}
  get value(): number {
    return Number(this.text)
  }
}

export class Scalar {
  constructor(
    readonly type: string,
    readonly text: string,
  ) {}
}

export class Node {
  constructor(
    readonly id: string,
    readonly labels: string[],
    readonly properties: Record<string, Value>,
  ) {}
}

export class Relationship {
  constructor(
    readonly id: string,
    readonly type: string,
    readonly source: string,
    readonly target: string,
    readonly properties: Record<string, Value>,
  ) {}
}

export class Path {
  constructor(
    readonly nodes: Node[],
    readonly relationships: Relationship[],
  ) {}
}

export class MapValue {
  constructor(readonly entries: Record<string, Value>) {}
}

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Scalar
  | Node
  | Relationship
  | Path
  | MapValue
  | Value[]

interface Typed {
  $type: string
  _value: unknown
}

interface TypedNode {
  _element_id: string
  _labels: string[]
  _properties: Record<string, Typed>
}

interface TypedRelationship {
  _element_id: string
  _type: string
  _start_node_element_id: string
  _end_node_element_id: string
  _properties: Record<string, Typed>
}

/** A value out of typed JSON. */
export function read(json: unknown): Value {
  const { $type: type, _value: value } = json as Typed
  switch (type) {
    case 'Null':
      return null
    case 'Boolean':
      return value as boolean
    case 'String':
      return value as string
    case 'Integer': {
      const number = Number(value)
      return Number.isSafeInteger(number) ? number : BigInt(value as string)
    }
    case 'Float':
      return new Float(String(value))
    case 'List':
      return (value as unknown[]).map(read)
    case 'Map':
      return new MapValue(readEntries(value as Record<string, Typed>))
    case 'Node':
      return readNode(value as TypedNode)
    case 'Relationship':
      return readRelationship(value as TypedRelationship)
    case 'Path':
      return readPath(value as Typed[])
    default:
      return new Scalar(type, String(value))
  }
}

function readEntries(entries: Record<string, Typed>): Record<string, Value> {
  // Without a prototype, so that a key like `__proto__` is a key like any other.
  const out: Record<string, Value> = Object.create(null)
  for (const key of Object.keys(entries)) out[key] = read(entries[key])
  return out
}

function readNode(node: TypedNode): Node {
  return new Node(node._element_id, node._labels, readEntries(node._properties))
}

function readRelationship(json: TypedRelationship): Relationship {
  const properties = readEntries(json._properties)
  return new Relationship(json._element_id, json._type, json._start_node_element_id, json._end_node_element_id, properties)
}

function readPath(parts: Typed[]): Path {
  const values = parts.map(read)
  return new Path(
    values.filter((value) => value instanceof Node),
    values.filter((value) => value instanceof Relationship),
  )
}

/** A value of plain JSON, as events of subscriptions have it. */
export function readPlain(json: unknown): Value {
  if (json === null || typeof json === 'boolean' || typeof json === 'string') return json
  if (typeof json === 'number') return Number.isInteger(json) ? json : new Float(String(json))
  if (Array.isArray(json)) return json.map(readPlain)
  const entries: Record<string, Value> = Object.create(null)
  const object = json as Record<string, unknown>
  for (const key of Object.keys(object)) entries[key] = readPlain(object[key])
  return new MapValue(entries)
}

/** Calls `visit` for each node, relationship and path within a value, the value itself included. */
export function visitEntities(value: Value, visit: (entity: Node | Relationship | Path) => void): void {
  if (value instanceof Node || value instanceof Relationship) visit(value)
  else if (value instanceof Path) {
    visit(value)
    value.nodes.forEach(visit)
    value.relationships.forEach(visit)
  } else if (Array.isArray(value)) value.forEach((item) => visitEntities(item, visit))
  else if (value instanceof MapValue) Object.values(value.entries).forEach((item) => visitEntities(item, visit))
}

/** How a value is written in a cell: short, one line, texts without quotes. Not much more than `max` characters are made. */
export function show(value: Value, max = Infinity): string {
  return (typeof value === 'string' ? value : showNested(value, max)).slice(0, max)
}

/** Joins what is made of items until there are enough characters. */
function joined<T>(items: Iterable<T>, between: string, max: number, make: (item: T, left: number) => string): string {
  let text = ''
  for (const item of items) {
    if (text.length > max) return text
    text += (text === '' ? '' : between) + make(item, max - text.length)
  }
  return text
}

function showNested(value: Value, max: number): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value.length > max ? value.slice(0, max) : value)
  if (typeof value !== 'object') return String(value)
  if (value instanceof Float || value instanceof Scalar) return value.text
  if (Array.isArray(value)) return `[${joined(value, ', ', max, showNested)}]`
  if (value instanceof MapValue) return showEntries(value.entries, max)
  if (value instanceof Node) return `(${value.labels.map((label) => `:${label}`).join('')}${spaced(value.properties, max)})`
  if (value instanceof Relationship) return `[:${value.type}${spaced(value.properties, max)}]`
  return showPath(value, max)
}

function spaced(properties: Record<string, Value>, max: number): string {
  return Object.keys(properties).length === 0 ? '' : ` ${showEntries(properties, max)}`
}

function showEntries(entries: Record<string, Value>, max: number): string {
  const entry = (key: string, left: number) => `${key}: ${showNested(entries[key] as Value, left)}`
  return `{${joined(Object.keys(entries), ', ', max, entry)}}`
}

function showPath(path: Path, max: number): string {
  let text = path.nodes[0] ? showNested(path.nodes[0], max) : ''
  for (const [at, relationship] of path.relationships.entries()) {
    const node = path.nodes[at + 1]
    if (!node || text.length > max) break
    const isForward = relationship.target === node.id
    text += `${isForward ? '' : '<'}-${showNested(relationship, max)}-${isForward ? '>' : ''}${showNested(node, max)}`
  }
  return text
}

/** A value as plain JSON text. Integers of any size keep their digits. */
export function toJson(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object') return String(value)
  if (value instanceof Float) return Number.isFinite(value.value) ? value.text : JSON.stringify(value.text)
  if (value instanceof Scalar) return JSON.stringify(value.text)
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (value instanceof MapValue) return entriesToJson(value.entries)
  if (value instanceof Node)
    return `{"elementId":${JSON.stringify(value.id)},"labels":${JSON.stringify(value.labels)},"properties":${entriesToJson(value.properties)}}`
  if (value instanceof Relationship) {
    const ends = `"startNodeElementId":${JSON.stringify(value.source)},"endNodeElementId":${JSON.stringify(value.target)}`
    const head = `"elementId":${JSON.stringify(value.id)},${ends},"type":${JSON.stringify(value.type)}`
    return `{${head},"properties":${entriesToJson(value.properties)}}`
  }
  const parts: Value[] = []
  value.nodes.forEach((node, at) => {
    parts.push(node)
    const next = value.relationships[at]
    if (next) parts.push(next)
  })
  return toJson(parts)
}

function entriesToJson(entries: Record<string, Value>): string {
  return `{${Object.keys(entries)
    .map((key) => `${JSON.stringify(key)}:${toJson(entries[key] as Value)}`)
    .join(',')}}`
}

/** The number that a value is, for sorting and drawing; undefined where it is none. */
export function numberOf(value: Value | undefined): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Float) return value.value
  return undefined
}
