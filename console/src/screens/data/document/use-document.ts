import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { etags } from '../../../../../client/src/collection.ts'
import { isError } from '../../../../../client/src/index.ts'
import { go, href, place } from '../../../parts/router.tsx'
import { canWrite, six } from '../../../parts/session.ts'
import { toast } from '../../../parts/toast.tsx'
import type { FileFields } from '../collection.ts'
import type { TableField } from '../definition/field-types.ts'
import { defaultsOf } from './known-fields.ts'
import { draftOf, drafts, draftValue, ownFields, type DocumentDraft, type DocumentFields } from './draft.ts'

export type CurrentDocument = DocumentFields & { _id: string; createdAt: string; updatedAt: string }

type State = {
  /** What the changes are made to; undefined for a new document. */
  base: CurrentDocument | undefined
  draft: DocumentDraft
  /** The version that another user has saved since. */
  theirs?: CurrentDocument | undefined
  error?: unknown
  isSaving?: boolean
}

export type OpenDocument = {
  collection: string
  /** Of a document, or `new`. */
  id: string
  /** Those of its fields that hold files. */
  files: FileFields
  /** The fields that the definition of the collection names. */
  known: readonly TableField[]
  /** As it was loaded; undefined for a new one. */
  document: CurrentDocument | undefined
  /** Called after it was created or changed. */
  onChange: () => void
}

/** The address of another document of the collection that is open. */
export const addressOf = (id: string): string => href(['data', place.value.path[0]!, id], place.value.query)

/** A document that is being changed, and what can be done with the changes. */
export function useDocument({ collection, id, document, known, onChange }: OpenDocument) {
  const key = `${collection}/${id}`
  const [state, setState] = useState<State>(() => {
    const left = drafts.get(key)
    if (left) return { draft: left.draft, base: left.base as CurrentDocument | undefined }
    return { draft: draftOf(document ? ownFields(document) : defaultsOf(known)), base: document }
  })
  const latest = useRef(state)
  latest.current = state
  const { base, draft, isSaving = false } = state
  const baseFields = useMemo(() => (base ? ownFields(base) : defaultsOf(known)), [base])
  // They read the whole document.
  const value = useMemo(() => draftValue(draft), [draft])
  const isChanged = useMemo(
    () => !('fields' in value) || JSON.stringify(value.fields) !== JSON.stringify(baseFields),
    [value, baseFields],
  )
  useEffect(() => {
    if (!isChanged) drafts.delete(key)
  }, [isChanged])

  /** At once, also while the pane is closed: see `drafts`. */
  function set(next: State): void {
    latest.current = next
    drafts.set(key, { draft: next.draft, base: next.base })
    setState(next)
  }
  const change = (changes: Partial<State>) => set({ ...latest.current, ...changes })
  const discardTo = (next: State, text: string) => {
    const mine = latest.current
    set(next)
    toast(text, { undo: async () => set({ ...mine, isSaving: false }) })
  }

  return {
    ...state,
    baseFields,
    value,
    isChanged,
    isReadOnly: !canWrite.value || isSaving,
    edit: (next: DocumentDraft) => change({ draft: next }),
    /** Goes on with fields, on top of what another user saved. */
    join: (fields: DocumentFields) => set({ base: latest.current.theirs, draft: draftOf(fields) }),
    takeTheirs: () => {
      const { theirs } = latest.current
      discardTo({ base: theirs, draft: draftOf(ownFields(theirs!)) }, 'Your changes are discarded.')
    },
    discard: () => discardTo({ base, draft: draftOf(baseFields) }, 'Changes discarded.'),
    save: async () => {
      const now = draftValue(latest.current.draft)
      if (!canWrite.value || latest.current.isSaving || !('fields' in now)) return
      change({ isSaving: true, error: undefined })
      const finish = (saved: CurrentDocument) => {
        set({ base: saved, draft: draftOf(ownFields(saved)) })
        drafts.delete(key)
        toast(base ? 'Saved.' : 'Created.')
        if (!base) go(addressOf(saved._id), { replace: true })
        onChange()
      }
      try {
        finish(await store(collection, latest.current.base, now.fields))
      } catch (error) {
        const { theirs, ...refusal } = await afterRefusal(collection, id, error)
        // They may be these very changes, if the answer to an earlier save was lost.
        if (theirs && JSON.stringify(ownFields(theirs)) === JSON.stringify(now.fields)) finish(theirs)
        else change({ isSaving: false, theirs, ...refusal })
      }
    },
  }
}

/** The document becomes what is given, or it is created. */
async function store(
  collection: string,
  base: CurrentDocument | undefined,
  fields: DocumentFields,
): Promise<CurrentDocument> {
  const documents = six.collection<DocumentFields>(collection)
  if (!base) return documents.create(fields, { idempotencyKey: crypto.randomUUID() })
  await six.call('PUT /store/:collection/:id', {
    params: { collection, id: base._id },
    query: { replace: true },
    headers: { 'if-match': etags.get(base)! },
    body: fields,
  })
  // With its ETag, which the answer of `call` does not have.
  return documents.get(base._id)
}

/** After a conflict what another user has saved, else the error. */
async function afterRefusal(
  collection: string,
  id: string,
  error: unknown,
): Promise<Pick<State, 'theirs' | 'error'>> {
  if (!isError(error, 'PRECONDITION_FAILED')) return { error }
  try {
    return { theirs: await six.collection<DocumentFields>(collection).get(id) }
  } catch (gone) {
    return { error: gone }
  }
}
