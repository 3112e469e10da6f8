import { JsonEditor } from '../../../parts/json-editor.tsx'
import type { DefinitionDraft } from './use-definition.ts'

/** The definition as JSON, for what the tables do not show. */
export default function DefinitionJson({ draft, save }: { draft: DefinitionDraft; save: () => void }) {
  return (
    <>
      <p class="soft about">
        Rules, schema, unique fields, relations, files and search, as docs/collections.md explains them.
      </p>
      <JsonEditor
        label="Definition"
        text={draft.text}
        onText={draft.editText}
        onSave={save}
        isReadOnly={draft.isLocked}
      />
    </>
  )
}
