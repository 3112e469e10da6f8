import { openLate, Late } from '../../../parts/late.tsx'
import { useKeyDown } from '../../../parts/keyboard.ts'
import { Show, useLoad } from '../../../parts/load.tsx'
import { href, Link, setQuery } from '../../../parts/router.tsx'
import { six } from '../../../parts/session.ts'
import { Tabs } from '../../../parts/tabs.tsx'
import { Badge, Text } from '../../../parts/text.tsx'
import { toast } from '../../../parts/toast.tsx'
import { loadCollections } from '../collection.ts'
import {
  useDefinition,
  type DefinitionDraft,
  type DefinitionNow,
  type ListedVersion,
} from './use-definition.ts'

const load = async (name: string, signal: AbortSignal) => {
  const params = { name }
  const [stored, { data: versions }, collections] = await Promise.all([
    six.call('GET /store/collections/:name', { params, signal }),
    six.call('GET /store/collections/:name/versions', { params, signal }),
    loadCollections(signal),
  ])
  return { stored, versions, names: collections.map((one) => one.name) }
}

/** The definition of a collection: its fields, rules and relations, who may do what, as JSON, and its versions. */
export default function DefinitionPage({ collection: name }: { collection: string }) {
  const loaded = useLoad((signal) => load(name, signal), [name])
  return (
    <div class="screen page definition">
      <div class="heading">
        <h1 tabIndex={-1}>
          <Text>{name}</Text>
        </h1>
        <nav aria-label="This collection">
          <Link to={href(['data', name])}>Documents</Link>
          <Link to={href(['data'])}>All collections</Link>
        </nav>
      </div>
      <Show of={loaded}>
        {({ stored, ...rest }) => (
          <Editor
            key={`${name} ${stored.version ?? 0}`}
            name={name}
            stored={stored}
            {...rest}
            again={loaded.again}
          />
        )}
      </Show>
    </div>
  )
}

type EditorProps = {
  name: string
  stored: DefinitionNow
  versions: readonly ListedVersion[]
  /** Of all collections. */
  names: readonly string[]
  again: () => void
}

function Editor({ name, stored, versions, names, again }: EditorProps) {
  const draft = useDefinition(name, stored)
  const { isChanged, isLocked, fault } = draft
  const isReady = isChanged && !isLocked && fault === undefined && !draft.outdatedBase
  function review(): void {
    if (!isReady) return
    const saved = (isInForce: boolean) => {
      toast(isInForce ? `The definition of ${name} is in force.` : `${name} is being changed.`)
      again()
    }
    openLate(() => import('./review.tsx'), { draft, saved, outdated: again })
  }
  useKeyDown((event) => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return
    event.preventDefault()
    if (!document.querySelector('dialog[open]')) review()
  })
  const orFault = (show: () => preact.ComponentChildren) => () =>
    draft.definition ? show() : <JsonFault text={fault ?? ''} />
  return (
    <>
      <Origin of={stored} />
      {draft.outdatedBase && draft.definition && (
        <Late
          load={() => import('../../../parts/conflict.tsx')}
          props={{
            what: 'definition',
            base: draft.outdatedBase,
            mine: draft.definition,
            theirs: draft.base ?? {},
            onJoin: draft.join,
            onTheirs: draft.discard,
          }}
        />
      )}
      {stored.change && <Late load={() => import('./under-way.tsx')} props={{ of: stored, again }} />}
      <Tabs
        label="Definition"
        tabs={[
          {
            name: 'fields',
            title: 'Fields',
            show: orFault(() => (
              <Late key={draft.generation} load={() => import('./fields.tsx')} props={{ draft, names }} />
            )),
          },
          {
            name: 'rules',
            title: 'Rules',
            show: orFault(() => (
              <Late key={draft.generation} load={() => import('./rules.tsx')} props={{ draft }} />
            )),
          },
          {
            name: 'try',
            title: 'Who may?',
            show: () => <Late load={() => import('./simulator.tsx')} props={{ draft }} />,
          },
          {
            name: 'relations',
            title: 'Relations',
            show: () => <Late load={() => import('./relations.tsx')} props={{ collection: name }} />,
          },
          {
            name: 'json',
            title: 'JSON',
            show: () => <Late load={() => import('./json.tsx')} props={{ draft, save: review }} />,
          },
          {
            name: 'versions',
            title: 'Versions',
            show: () => (
              <Late
                load={() => import('./versions.tsx')}
                props={{ of: versions, now: stored.definition, isLocked, edit: draft.editText }}
              />
            ),
          },
        ]}
      />
      <SaveBar {...{ draft, isReady, review }} isNew={stored.source === 'none'} />
    </>
  )
}

function SaveBar(props: { draft: DefinitionDraft; isReady: boolean; isNew: boolean; review: () => void }) {
  const { draft, isReady, isNew, review } = props
  if (draft.isLocked || (!draft.isChanged && draft.fault === undefined)) return null
  return (
    <div class="save-bar">
      <button type="button" class="primary" disabled={!isReady} onClick={review}>
        {isNew ? 'Create collection…' : 'Save…'}
      </button>
      <button type="button" onClick={() => draft.discard()}>
        Discard changes
      </button>
      <span class={draft.fault === undefined ? 'soft' : 'fault'}>
        {draft.fault ?? (isNew ? 'Nothing is in force yet.' : <Badge tone="warning">not saved</Badge>)}
      </span>
    </div>
  )
}

const JsonFault = ({ text }: { text: string }) => (
  <div class="notice warning">
    <p>This cannot be shown while the JSON is not right: {text}</p>
    <button type="button" class="small" onClick={() => setQuery({ tab: 'json' })}>
      Go to the JSON
    </button>
  </div>
)

const Origin = ({ of: { source, file, fault, newest, change } }: { of: DefinitionNow }) => (
  <>
    {source === 'configuration' && (
      <p class="notice">
        <span>
          It is locked here: it stands in <code>{file}</code>. Change it there, and start the server again.
        </span>
      </p>
    )}
    {fault !== undefined && (
      <p class="notice bad" role="alert">
        <span>
          <strong>Only administrators use it:</strong> <Text>{fault}</Text>
        </span>
      </p>
    )}
    {newest?.state === 'pending' && !change && (
      <p class="notice warning" role="status">
        Version {newest.version} is being checked. It comes into force when all documents are looked at.
      </p>
    )}
  </>
)
