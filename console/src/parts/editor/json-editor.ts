/*
 * The editor of JSON: CodeMirror, a chunk of its own that is loaded when an editor is opened. It stands in a shadow root, because
 * there CodeMirror adopts its sheet: the page's policy refuses the <style> that it would write otherwise.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { linter, lintGutter, lintKeymap, type Diagnostic } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'

import { readJson } from '../json-text.ts'

const LINT_WAIT_MS = 400
const CHANGE_WAIT_MS = 200
// Such a line is wrapped piece by piece as it comes in sight, which takes too long.
const WRAPPED_MAX = 20_000

export type EditorOptions = {
  text: string
  /** What is edited, for readers of a screen reader. */
  label: string
  isReadOnly: boolean
  /** Called after a pause in typing, and by `flush`. */
  onText: (text: string) => void
  /** Ctrl-S or Cmd-S. */
  onSave?: () => void
}

export type Editor = {
  /** Replaces the text; what was typed can be undone. */
  setText(text: string): void
  setReadOnly(isReadOnly: boolean): void
  /** Reports the latest text without waiting for the next pause. */
  flush(): void
  focus(): void
  close(): void
}

/** Opens an editor in an element that has no content. */
export function openEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const parent = document.createElement('div')
  root.append(parent)
  const reading = new Compartment()
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    options.onText(view.state.doc.toString())
  }
  const readOnly = (isReadOnly: boolean) => [EditorState.readOnly.of(isReadOnly)]
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        reading.of(readOnly(options.isReadOnly)),
        EditorView.updateListener.of(({ docChanged }) => {
          if (!docChanged) return
          clearTimeout(timer)
          timer = setTimeout(flush, CHANGE_WAIT_MS)
        }),
        EditorView.domEventHandlers({ blur: flush, beforeinput: replaceByHand }),
        EditorView.contentAttributes.of({ 'aria-label': `${options.label}. Escape, then Tab leaves it.` }),
        keymap.of([
          {
            key: 'Mod-s',
            preventDefault: true,
            run() {
              flush()
              options.onSave?.()
              return true
            },
          },
        ]),
        isWrapped(options.text) ? EditorView.lineWrapping : [],
        features,
      ],
    }),
  })
  return {
    setText(text) {
      if (text === view.state.doc.toString()) return
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
      clearTimeout(timer)
      timer = undefined
    },
    setReadOnly: (isReadOnly) => view.dispatch({ effects: reading.reconfigure(readOnly(isReadOnly)) }),
    flush,
    focus: () => view.focus(),
    close() {
      flush()
      view.destroy()
      parent.remove()
    },
  }
}

/**
 * Typing over a selection: the browser would give the new text the colours of the old one by style attributes, which the page's
 * policy refuses with a complaint.
 */
function replaceByHand(event: InputEvent, view: EditorView): boolean {
  if (event.inputType !== 'insertText' || event.data === null || view.composing) return false
  if (view.state.selection.main.empty || view.state.readOnly) return false
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
  return true
}

function isWrapped(text: string): boolean {
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from)
    if ((end === -1 ? text.length : end) - from > WRAPPED_MAX) return false
    if (end === -1) break
    from = end + 1
  }
  return true
}

const faults = (view: EditorView): Diagnostic[] => {
  const { length } = view.state.doc
  return readJson(view.state.doc.toString()).faults.map(({ from, to, message }) => ({
    from: Math.min(from, length),
    to: Math.min(to, length),
    severity: 'error',
    message,
  }))
}

/** Strangers' characters that cannot be seen are shown by their code points. */
function showCharacter(code: number): HTMLElement {
  const element = document.createElement('span')
  element.textContent = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  element.className = 'cm-specialChar'
  return element
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--doubt)' },
  { tag: [tags.separator, tags.squareBracket, tags.brace], color: 'var(--soft)' },
])

// The custom properties of the page are inherited by the shadow root.
const look = EditorView.theme({
  '&': {
    height: '100%',
    color: 'var(--text)',
    backgroundColor: 'var(--field)',
    fontSize: '13px',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--soft)', borderColor: 'var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--tint)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--tint)', outline: '1px solid var(--accent)' },
  '.cm-searchMatch, .cm-selectionMatch': { backgroundColor: 'var(--doubt-ground)' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--doubt)' },
  '.cm-specialChar': {
    padding: '0 3px',
    borderRadius: '3px',
    backgroundColor: 'var(--doubt-ground)',
    color: 'var(--doubt)',
    fontSize: '0.85em',
  },
  '.cm-foldPlaceholder': {
    padding: '0 6px',
    border: '1px solid var(--line)',
    backgroundColor: 'var(--raised)',
    color: 'var(--soft)',
  },
  '.cm-panels, .cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    borderColor: 'var(--line)',
  },
  '.cm-panel.cm-search, .cm-panel.cm-search :is(input, button, label)': { fontSize: '13px' },
  '.cm-panel :is(.cm-button, .cm-textfield)': {
    minHeight: '26px',
    border: '1px solid var(--edge)',
    borderRadius: '6px',
    background: 'var(--field)',
    color: 'var(--text)',
  },
  '.cm-panel button[name=close]': { color: 'var(--text)', minWidth: '24px', minHeight: '24px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
})

const features = [
  lineNumbers(),
  foldGutter(),
  codeFolding(),
  highlightActiveLineGutter(),
  highlightActiveLine(),
  highlightSpecialChars({
    render: showCharacter,
    addSpecialChars: /[\u180E\u200C-\u200F\u202A-\u202E\u2060-\u2065]/g,
  }),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightSelectionMatches(),
  search({ top: true }),
  json(),
  syntaxHighlighting(colours),
  linter(faults, { delay: LINT_WAIT_MS }),
  lintGutter(),
  keymap.of([
    ...defaultKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...lintKeymap,
    indentWithTab,
  ]),
  EditorState.tabSize.of(2),
  look,
]
