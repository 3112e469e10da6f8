import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { isError, type Api, type CallReply } from '../../../../../client/src/index.ts'
import { withProof } from '../../../parts/dialog.tsx'
import { readJson } from '../../../parts/json-text.ts'
import { messageOf } from '../../../parts/load.tsx'
import { canWrite, six } from '../../../parts/session.ts'
import { changesOf, type OfferedChange, type Origins } from './field-changes.ts'
import type { DefinitionValue } from './field-types.ts'

/** A definition as it is in force. */
export type DefinitionNow = CallReply<Api, 'GET /store/collections/:name'>
export type ListedVersion = CallReply<Api, 'GET /store/collections/:name/versions'>['data'][number]
export type DefinitionCheck = NonNullable<DefinitionNow['report']>
type Body = Parameters<typeof six.call<'PUT /store/collections/:name'>>[1]['body']

/** What a collection begins with: everybody who has an account has documents of their own. */
const FIRST: DefinitionValue = { read: 'owner', create: 'user', update: 'owner', delete: 'owner' }

const textOf = (definition: unknown): string => JSON.stringify(definition, null, 2)

/** The definition that a draft began with. */
type Base = { readonly version: number; readonly definition: DefinitionValue | undefined }

/** Definitions that were changed and not saved, by the name of the collection: nothing typed is lost while the tab is open. */
const drafts = new Map<string, { text: string; origins: Origins; from: Base }>()
const NO_ORIGINS: Origins = new Map()

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault()
})

/** A definition that is being changed: a text, right or wrong, of which tables and rules show the value. */
export type DefinitionDraft = ReturnType<typeof useDefinition>

export function useDefinition(name: string, stored: DefinitionNow) {
  const base = (stored.definition as DefinitionValue | null) ?? undefined
  const [text, setText] = useState(() => drafts.get(name)?.text ?? textOf(base ?? FIRST))
  const latest = useRef(text)
  // Which fields of the one in force were given other names.
  const origins = useRef(drafts.get(name)?.origins ?? NO_ORIGINS)
  const now: Base = { version: stored.version ?? 0, definition: base }
  const from = useRef(drafts.get(name)?.from ?? now)
  // A rule or a value that is typed and is not JSON yet, by its place on the page.
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({})
  const [generation, setGeneration] = useState(0)
  const read = useMemo(() => readDefinition(text), [text])
  const isChanged =
    !base || ('definition' in read && JSON.stringify(read.definition) !== JSON.stringify(base))

  function editText(next: string): void {
    latest.current = next
    drafts.set(name, { text: next, origins: origins.current, from: from.current })
    setText(next)
  }
  useEffect(() => {
    if (!isChanged && 'definition' in read) drafts.delete(name)
  }, [isChanged, read])

  /** Begins again with what is on the page. */
  function restart(next: string): void {
    from.current = now
    origins.current = NO_ORIGINS
    editText(next)
    setFaults({})
    setGeneration(generation + 1)
  }

  return {
    name,
    base,
    text,
    isChanged,
    /** Another one after the changes were discarded: what is on the page begins again. */
    generation,
    isLocked: stored.source === 'configuration' || !canWrite.value,
    ...read,
    fault: read.fault ?? Object.values(faults)[0],
    editText,
    /** Changes the definition as it is now, which may be newer than the one that was rendered. */
    edit(change: (definition: DefinitionValue) => DefinitionValue, named: Origins = origins.current): void {
      const now = readDefinition(latest.current).definition
      if (!now) return
      origins.current = named
      editText(textOf(change(now)))
    },
    /** Which fields have other names than in the one in force. */
    get origins(): Origins {
      return origins.current
    },
    note(place: string, fault: string | undefined): void {
      setFaults(({ [place]: _, ...others }) => (fault === undefined ? others : { ...others, [place]: fault }))
    },
    discard: (): void => {
      restart(textOf(base ?? FIRST))
      drafts.delete(name)
    },
    /** What it began with, if another definition was put into force since. */
    outdatedBase: from.current.version === now.version ? undefined : (from.current.definition ?? FIRST),
    /** Goes on with what was made of both. */
    join: (definition: DefinitionValue) => restart(textOf(definition)),
    /** Changes of the documents that it may want. */
    changes: (): OfferedChange[] => changesOf(base ?? {}, read.definition ?? {}, origins.current),
    /** What the documents say to it once they are changed. @throws ClientError */
    check: async (documents: readonly OfferedChange[]) =>
      (await put(name, latest.current, documents, { dryRun: true }, stored.version)).report,
    /** Puts it into force, with changes of documents. @returns whether it is in force already @throws ClientError */
    async save(documents: readonly OfferedChange[]): Promise<boolean> {
      const state = await put(name, latest.current, documents, {}, stored.version).then(
        ({ newest }) => newest?.state,
        (error: unknown) => {
          // A document has stopped it: that is shown where the change is.
          if (isError(error, 'DEFINITION_REFUSED') && 'done' in (error.details as object)) return 'pending'
          throw error
        },
      )
      drafts.delete(name)
      return state !== 'pending'
    },
  }
}

function readDefinition(text: string): { definition?: DefinitionValue; fault?: string } {
  const read = readJson(text)
  if (!('value' in read)) return { fault: read.faults[0]!.message }
  if (typeof read.value !== 'object' || read.value === null || Array.isArray(read.value))
    return { fault: 'A definition is an object: { … }.' }
  return { definition: read.value as DefinitionValue }
}

const put = (
  name: string,
  text: string,
  documents: readonly OfferedChange[],
  query: { dryRun?: boolean },
  version: number | undefined,
) =>
  withProof(() =>
    six.call('PUT /store/collections/:name', {
      params: { name },
      query,
      body: { ...(JSON.parse(text) as Body), ...(documents.length > 0 && { documents: [...documents] }) },
      // Another one may have been put into force meanwhile.
      headers: { 'if-match': `"${version ?? 0}"` },
    }),
  )

/** What a person reads of a refusal, line by line. */
export function refusalLines(error: unknown): string[] {
  const { issues = [] } = ((error as { details?: object }).details ?? {}) as {
    issues?: readonly { path: string; message: string }[]
  }
  const lines = issues.map(
    ({ path, message }) => `${path.replace(/^\/body\/?/, '').replaceAll('/', ' › ')}: ${message}`,
  )
  return lines.length > 0 ? lines : [messageOf(error)]
}
