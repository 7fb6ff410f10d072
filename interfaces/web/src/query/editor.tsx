/**
 * The editor of statements.
 *
 * It lives in a shadow root: there its styles are adopted style sheets, which the page's content security policy allows without `unsafe-inline`.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, type CompletionSource } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, forceLinting, linter, lintKeymap } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, Prec } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { forwardRef, useEffect, useImperativeHandle, useRef } from 'react'
import { graphLanguage } from './mode'

/** Bytes of text that the editor looks through for errors while one types. */
const CHECK_CHARACTERS_MAX = 100_000
/** Time without a key after which the text is checked. */
const CHECK_AFTER_MS = 350

export interface EditorHandle {
  text(): string
  setText(text: string): void
  cursor(): number
  selection(): string
  focus(): void
  /** Looks at once whether something is wrong. */
  check(): void
}

interface Properties {
  initial: string
  onChange(text: string): void
  onRun(all: boolean): void
  /** Steps through the history: -1 is older, 1 is younger. False where there is nothing. */
  onHistory(step: number): boolean
  complete: CompletionSource
  diagnose(text: string, signal: AbortSignal): Promise<Diagnostic[]>
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--code-keyword)', fontWeight: '600' },
  { tag: tags.string, color: 'var(--code-string)' },
  { tag: [tags.number, tags.atom], color: 'var(--code-number)' },
  { tag: tags.comment, color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: tags.typeName, color: 'var(--code-type)' },
  { tag: tags.function(tags.variableName), color: 'var(--code-function)' },
  { tag: tags.propertyName, color: 'var(--code-property)' },
  { tag: tags.special(tags.variableName), color: 'var(--code-number)' },
])

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '14px', color: 'var(--text)', backgroundColor: 'var(--surface)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--text-soft)', border: 'none', paddingLeft: '4px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--active-line)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selection) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: '6px', overflow: 'hidden' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionDetail': { color: 'inherit', opacity: '0.75', marginLeft: '1em' },
  '.cm-diagnostic': { whiteSpace: 'pre-wrap', maxWidth: '60ch', padding: '6px 10px' },
  '.cm-diagnostic-error': { borderLeft: '4px solid var(--bad)' },
  '.cm-diagnostic-warning': { borderLeft: '4px solid var(--warn)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '4px' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)', textUnderlineOffset: '4px' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
  '.cm-placeholder': { color: 'var(--text-soft)' },
})

export const Editor = forwardRef<EditorHandle, Properties>(function Editor(properties, handle) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const latest = useRef(properties)
  latest.current = properties

  useEffect(() => {
    const element = host.current
    if (!element) return
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    const editor = new EditorView({ parent: root, root, state: EditorState.create({ doc: latest.current.initial, extensions: extensions(latest) }) })
    view.current = editor
    return () => editor.destroy()
  }, [])

  useImperativeHandle(handle, () => ({
    text: () => view.current?.state.doc.toString() ?? '',
    setText(text) {
      const editor = view.current
      if (!editor) return
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text }, selection: { anchor: text.length }, scrollIntoView: true })
    },
    cursor: () => view.current?.state.selection.main.head ?? 0,
    selection() {
      const state = view.current?.state
      return state ? state.sliceDoc(state.selection.main.from, state.selection.main.to) : ''
    },
    focus: () => view.current?.focus(),
    check: () => view.current && forceLinting(view.current),
  }))

  return <div ref={host} className="editor" />
})

function extensions(latest: { current: Properties }) {
  const wrapping = new Compartment()
  let checking: AbortController | undefined
  const check = linter(
    async (editor) => {
      checking?.abort()
      checking = new AbortController()
      const text = editor.state.doc.toString()
      if (text.length > CHECK_CHARACTERS_MAX) return []
      return latest.current.diagnose(text, checking.signal)
    },
    { delay: CHECK_AFTER_MS },
  )
  const run = (all: boolean) => (editor: EditorView) => {
    closeCompletion(editor)
    latest.current.onRun(all)
    return true
  }
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    graphLanguage,
    syntaxHighlighting(colours),
    autocompletion({ override: [(context) => latest.current.complete(context)], icons: false }),
    check,
    placeholder('MATCH (n) RETURN n LIMIT 100'),
    EditorView.contentAttributes.of({ 'aria-label': 'Statement', spellcheck: 'false' }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange(update.state.doc.toString())
    }),
    wrapping.of(EditorView.lineWrapping),
    look,
    Prec.highest(
      keymap.of([
        { key: 'Mod-Enter', run: run(false), preventDefault: true },
        { key: 'Mod-Shift-Enter', run: run(true), preventDefault: true },
        { key: 'Alt-ArrowUp', run: () => latest.current.onHistory(-1), preventDefault: true },
        { key: 'Alt-ArrowDown', run: () => latest.current.onHistory(1), preventDefault: true },
      ]),
    ),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
  ]
}
