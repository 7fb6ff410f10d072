/** How nodes of a label look: colour, size, and the property that is their caption. Remembered by label in this browser. */
import { type Node, show } from '../api/values'
import { load, store } from '../common/stored'

export interface LabelStyle {
  colour: string
  size: number
  /** The property that is the caption; empty for none, undefined for one that is found. */
  caption?: string
}

export const SIZES = [4, 6, 9, 13, 18]
/** Colours that are told apart in light and in dark, by people who see red and green alike too. */
const COLOURS = ['#2f8f6f', '#c46a1c', '#4a7bd0', '#b04a8b', '#8a8f1f', '#7a5cc7', '#c0473f', '#2a93a8', '#8c6d46', '#5f7f8f']
/** Properties that often name a node, the first that there is; one that was chosen for the label goes before. */
const NAMING = ['name', 'title', 'id', 'label', 'caption', 'key', 'code']
const CAPTION_CHARACTERS_MAX = 40
const LABELS_MAX = 1_000

type Styles = Record<string, LabelStyle>

let kept: Styles | undefined

function styles(): Styles {
  if (!kept) {
    const found = load<Styles | null>('styles', {})
    kept = Object.assign(Object.create(null) as Styles, found && typeof found === 'object' && !Array.isArray(found) ? found : {})
  }
  return kept
}

/** Colours of labels that nobody chose. */
const given = new Map<string, string>()

/** A colour by the label's name, so that it is mostly the same tomorrow; the next free one where another label has it. */
function colourOf(label: string): string {
  const known = given.get(label)
  if (known) return known
  let hash = 7
  for (const character of label) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0
  const taken = new Set(given.values())
  const turned = COLOURS.map((_, at) => COLOURS[(hash + at) % COLOURS.length] ?? '#2f8f6f')
  const colour = turned.find((one) => !taken.has(one)) ?? turned[0] ?? '#2f8f6f'
  if (given.size < LABELS_MAX) given.set(label, colour)
  return colour
}

/** The style of a label. */
export function styleOf(label: string): LabelStyle {
  const chosen = styles()[label]
  if (chosen && /^#[\da-f]{6}$/i.test(chosen.colour) && SIZES.includes(chosen.size)) return chosen
  return { colour: colourOf(label), size: 6 }
}

export function setStyle(label: string, style: LabelStyle): void {
  const all = styles()
  if (!(label in all) && Object.keys(all).length >= LABELS_MAX) return
  all[label] = style
  store('styles', all)
}

/** The text beside a node. */
export function captionOf(node: Node, style: LabelStyle): string {
  const keys = Object.keys(node.properties)
  const key = style.caption ?? NAMING.find((name) => keys.includes(name)) ?? keys.find((name) => typeof node.properties[name] === 'string')
  if (key === undefined || key === '') return style.caption === '' ? '' : node.labels.join(':')
  const value = node.properties[key]
  return value === undefined ? '' : show(value).replace(/\s+/g, ' ').slice(0, CAPTION_CHARACTERS_MAX)
}
