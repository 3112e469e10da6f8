import { useEffect, useRef, useState } from 'preact/hooks'

import type { Editor } from './editor/json-editor.ts'
import { Problem } from './load.tsx'

/**
 * An editor of JSON with colours, faults, folding and search. Escape, then Tab leaves it. Its script is loaded when the first
 * one is opened.
 *
 * @param props.text replaces what was typed if it is changed from outside
 * @param props.onText called after a pause in typing, and before it is closed
 * @example <JsonEditor label="Filter" text={text} onText={setText} onSave={apply} />
 */
export function JsonEditor(props: {
  label: string
  text: string
  onText: (text: string) => void
  onSave?: () => void
  isReadOnly?: boolean
}) {
  const { text, isReadOnly = false } = props
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor>(undefined)
  const latest = useRef(props)
  latest.current = props
  // What the editor has: its own changes come back as `text`.
  const shown = useRef(text)
  const [error, setError] = useState<unknown>()
  const [isOpen, setOpen] = useState(false)
  const [attempt, setAttempt] = useState(0)

  useEffect(() => {
    let isClosed = false
    async function open(): Promise<void> {
      const { openEditor } = await import('./editor/json-editor.ts')
      if (isClosed) return
      shown.current = latest.current.text
      editor.current = openEditor(host.current!, {
        text: shown.current,
        label: latest.current.label,
        isReadOnly: latest.current.isReadOnly ?? false,
        onText(typed) {
          shown.current = typed
          latest.current.onText(typed)
        },
        onSave: () => latest.current.onSave?.(),
      })
      setOpen(true)
    }
    setError(undefined)
    open().catch(setError)
    return () => {
      isClosed = true
      editor.current?.close()
      editor.current = undefined
    }
  }, [attempt])

  useEffect(() => {
    if (text === shown.current) return
    shown.current = text
    editor.current?.setText(text)
  }, [text])
  useEffect(() => editor.current?.setReadOnly(isReadOnly), [isReadOnly])

  if (error !== undefined)
    return (
      <Problem error={new Error('The editor could not be loaded.')} again={() => setAttempt(attempt + 1)} />
    )
  return (
    <>
      {!isOpen && (
        <p class="loading" role="status">
          Loading the editor…
        </p>
      )}
      <div class="json-editor" ref={host} hidden={!isOpen} />
    </>
  )
}
