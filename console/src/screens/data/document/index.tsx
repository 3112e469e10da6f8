import { useRef } from 'preact/hooks'

import { etags } from '../../../../../client/src/collection.ts'
import { JsonDiff } from '../../../parts/json-diff.tsx'
import { JsonEditor } from '../../../parts/json-editor.tsx'
import { useKeyDown } from '../../../parts/keyboard.ts'
import { Late } from '../../../parts/late.tsx'
import { Show, useLoad } from '../../../parts/load.tsx'
import { Owner as Account } from '../../../parts/owner.tsx'
import { href, Link } from '../../../parts/router.tsx'
import { six } from '../../../parts/session.ts'
import { Tabs } from '../../../parts/tabs.tsx'
import { Badge, bytes, Facts, Id, Time } from '../../../parts/text.tsx'
import {
  draftText,
  draftTree,
  draftValue,
  ownFields,
  type DocumentDraft,
  type DocumentFields,
} from './draft.ts'
import type { TreeNode } from './tree.ts'
import { NEW, type FileFields } from '../collection.ts'
import type { TableField } from '../definition/field-types.ts'
import { knownFields } from './known-fields.ts'
import { useDocument, type OpenDocument, type CurrentDocument } from './use-document.ts'

const loadFaults = async () => ({ default: (await import('./faults.tsx')).Faults })
const loadSaveProblem = async () => ({ default: (await import('./faults.tsx')).SaveProblem })

/** One document: form, JSON, what was changed, and how a program does the same. */
export function DocumentPane(props: Omit<OpenDocument, 'document' | 'known'>) {
  const { collection, id } = props
  const loaded = useLoad(
    async (signal) => {
      const [document, { definition }] = await Promise.all([
        id === NEW ? undefined : six.collection<DocumentFields>(collection).get(id, { signal }),
        six.call('GET /store/collections/:name', { params: { name: collection }, signal }),
      ])
      return { document, known: knownFields(definition) }
    },
    [collection, id],
  )
  return (
    <Show of={loaded}>{(found) => <DocumentEditor key={`${collection}/${id}`} {...props} {...found} />}</Show>
  )
}

function DocumentEditor(props: OpenDocument) {
  const { collection, id, files, known, onChange } = props
  const open = useDocument(props)
  const { base, draft, theirs, error, value, baseFields, isChanged, isReadOnly, isSaving = false } = open
  // Wherever the focus is.
  useKeyDown((event) => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return
    event.preventDefault()
    void open.save()
  })
  const orFaults = (show: (fields: DocumentFields) => preact.ComponentChildren) => () =>
    'fields' in value ? (
      show(value.fields)
    ) : (
      <Late load={loadFaults} props={{ of: value.faults, text: draftText(draft) }} />
    )
  return (
    <>
      <Heading
        collection={collection}
        id={id}
        base={base}
        isChanged={isChanged}
        size={draftText(draft).length}
      />
      {theirs && 'fields' in value && (
        <Late
          load={() => import('../../../parts/conflict.tsx')}
          props={{
            what: 'document',
            base: baseFields,
            mine: value.fields,
            theirs: ownFields(theirs),
            onJoin: open.join,
            onTheirs: open.takeTheirs,
          }}
        />
      )}
      {error !== undefined && <Late load={loadSaveProblem} props={{ error }} />}
      <Tabs
        label="Document"
        tabs={[
          {
            name: 'form',
            title: 'Form',
            show: () => <FormTab {...{ draft, isReadOnly, error, files, known }} onDraft={open.edit} />,
          },
          {
            name: 'json',
            title: 'JSON',
            show: () => (
              <JsonEditor
                label={`JSON of ${id === NEW ? 'the new document' : id}`}
                text={draftText(draft)}
                isReadOnly={isReadOnly}
                onText={(text) => open.edit({ text })}
                onSave={() => void open.save()}
              />
            ),
          },
          {
            name: 'diff',
            title: 'Changes',
            show: orFaults((fields) => (
              <JsonDiff before={baseFields} after={fields} same="Nothing is changed." />
            )),
          },
          {
            name: 'code',
            title: 'As code',
            show: orFaults((fields) => (
              <Late
                load={() => import('./code.tsx')}
                props={{ collection, id: base?._id, etag: base && etags.get(base), fields }}
              />
            )),
          },
        ]}
      />
      <div class="buttons document-buttons">
        <button
          type="button"
          class="primary"
          disabled={isReadOnly || !('fields' in value) || (!isChanged && base !== undefined)}
          onClick={() => void open.save()}
        >
          {isSaving ? 'Saving…' : base ? 'Save' : 'Create'}
        </button>
        {isChanged && (
          <button type="button" onClick={open.discard} disabled={isSaving}>
            Discard changes
          </button>
        )}
        {!('fields' in value) && <span class="fault">This is not JSON yet.</span>}
        {base && <Late load={() => import('./actions.tsx')} props={{ collection, base, onChange }} />}
      </div>
    </>
  )
}

function Heading(props: {
  collection: string
  id: string
  base: CurrentDocument | undefined
  isChanged: boolean
  size: number
}) {
  const { collection, id, base, isChanged, size } = props
  return (
    <>
      <h2 tabIndex={-1}>
        {id === NEW ? `New document in ${collection}` : 'Document'}{' '}
        {isChanged && <Badge tone="warning">not saved</Badge>}
      </h2>
      {base && (
        <Facts
          of={[
            ['Id', <Id>{base._id}</Id>],
            ['Owner', <Owner collection={collection} id={base._id} />],
            [
              'Changed',
              <>
                <Time at={base.updatedAt} /> <span class="soft">created</span> <Time at={base.createdAt} />
              </>,
            ],
            ['Size', bytes(size)],
          ]}
        />
      )}
    </>
  )
}

/** Lists tell operators the owner; an account is a link to it. */
function Owner({ collection, id }: { collection: string; id: string }) {
  const { value } = useLoad(
    async (signal) => {
      const query = { filter: JSON.stringify({ _id: id }), preview: 1, limit: 1 }
      const { data } = await six.call('GET /store/:collection', { params: { collection }, query, signal })
      return (data[0] as { $preview?: { owner?: string } } | undefined)?.$preview?.owner
    },
    [collection, id],
  )
  return value ? (
    <Link to={href(['users', value])}>
      <Account of={value} />
    </Link>
  ) : (
    <span class="soft">–</span>
  )
}

function FormTab(props: {
  draft: DocumentDraft
  isReadOnly: boolean
  error: unknown
  files: FileFields
  known: readonly TableField[]
  onDraft: (draft: DocumentDraft) => void
}) {
  const { draft, onDraft, ...rest } = props
  // The same tree as long as the text is the same: fields keep the focus.
  const cached = useRef<{ draft: DocumentDraft; tree: ReturnType<typeof draftTree> }>(undefined)
  if (cached.current?.draft !== draft) cached.current = { draft, tree: draftTree(draft) }
  const { tree } = cached.current
  if (tree?.type !== 'object') {
    const value = draftValue(draft)
    return (
      <Late load={loadFaults} props={{ of: 'faults' in value ? value.faults : [], text: draftText(draft) }} />
    )
  }
  const onChange = (next: TreeNode) => onDraft({ tree: next })
  return <Late load={() => import('./form.tsx')} props={{ tree, onChange, ...rest }} />
}
