import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { Late } from '../../../parts/late.tsx'
import { setQuery } from '../../../parts/router.tsx'
import { Text } from '../../../parts/text.tsx'
import { originsOf } from './field-changes.ts'
import { faultOf, missingOf } from './field-faults.ts'
import { fieldsOf, othersOf, pathsOf } from './field-table.ts'
import { fieldsIn, rowsOf, type FieldFocus, type FieldRowValue } from './field-rows.ts'
import type { DefinitionDraft } from './use-definition.ts'
import { withFields } from './written-fields.ts'

/** The fields of a definition as a table that is edited in place. */
export default function Fields({ draft, names }: { draft: DefinitionDraft; names: readonly string[] }) {
  const definition = draft.definition!
  // Rows tell by `origin` which field they were in this one.
  const base = useRef({ definition, origins: draft.origins })
  const written = useRef(draft.text)
  const [rows, setRows] = useState(() => rowsOf(fieldsOf(definition)))
  const focus = useRef<FieldFocus>(undefined)
  if (written.current !== draft.text) {
    written.current = draft.text
    base.current = { definition, origins: draft.origins }
    setRows(rowsOf(fieldsOf(definition)))
  }
  useFocus(focus)
  useEffect(() => () => draft.note('fields', undefined), [])

  function change(next: readonly FieldRowValue[]): void {
    setRows([...next])
    const fields = fieldsIn(next)
    const fault = faultOf(fields)
    draft.note('fields', fault ?? fields.map(missingOf).find(Boolean))
    if (fault !== undefined) return
    draft.edit(
      () => {
        const changed = withFields(base.current.definition, fields)
        written.current = JSON.stringify(changed, null, 2)
        return changed
      },
      originsOf(base.current.origins, fields),
    )
  }
  const others = othersOf(definition)
  return (
    <>
      {rows.length === 0 && (
        <p class="soft about">
          No fields yet: documents may have any. With fields, each write is checked against them.
        </p>
      )}
      <Late
        load={() => import('./field-list.tsx')}
        props={{ rows, names, focus, change, isLocked: draft.isLocked }}
      />
      <Late
        load={() => import('./unique-together.tsx')}
        props={{ draft, paths: pathsOf(fieldsOf(definition)) }}
      />
      {others.length > 0 && (
        <p class="hint others">
          What the table does not show stays as it is: <Text>{others.slice(0, 20).join(', ')}</Text>.{' '}
          <button type="button" class="link" onClick={() => setQuery({ tab: 'json' })}>
            Open the JSON
          </button>
        </p>
      )}
    </>
  )
}

/** A row that is new or has moved gets the focus again, before the next key is typed. */
function useFocus(focus: { current: FieldFocus | undefined }): void {
  useLayoutEffect(() => {
    if (!focus.current) return
    const { key, on } = focus.current
    focus.current = undefined
    const row = document.getElementById(`field-${key}`)
    const wanted = row?.querySelector<HTMLElement>(`${on}:not(:disabled)`)
    ;(wanted ?? row?.querySelector<HTMLElement>('.field-name'))?.focus()
  })
}
