import type { Api, CallReply } from '../../../../client/src/index.ts'
import { confirm, withProof } from '../../parts/dialog.tsx'
import { nameToType } from '../../parts/installation-name.tsx'
import { List } from '../../parts/list.tsx'
import { href, Link } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { createKey } from './create.tsx'

type Key = CallReply<Api, 'GET /auth/keys'>['keys'][number]

/** The service keys, with which the operator's own backend calls this server. */
export default function Keys() {
  return (
    <List<Key>
      title="Keys"
      at={['keys']}
      idOf={({ _id }) => _id}
      nameOf={({ name }) => name}
      load={async ({ cursor, signal }) => {
        const query = { cursor, limit: 100, total: 'none' } as const
        const { keys, nextCursor } = await six.call('GET /auth/keys', { query, signal })
        return { rows: keys, nextCursor }
      }}
      columns={[
        { name: 'name', title: 'Name', order: ({ name }) => name, cell: ({ name }) => <Text>{name}</Text> },
        {
          name: 'scopes',
          title: 'Scopes',
          order: ({ scopes }) => scopes.join(' '),
          isMinor: true,
          cell: ({ scopes }) => <code>{scopes.join(' ')}</code>,
        },
        {
          name: 'state',
          title: 'State',
          order: ({ revokedAt }) => revokedAt ?? '',
          width: '110px',
          cell: ({ revokedAt }) =>
            revokedAt ? <Badge tone="bad">revoked</Badge> : <Badge tone="good">active</Badge>,
        },
        {
          name: 'used',
          title: 'Last used',
          order: ({ lastUsedAt }) => lastUsedAt,
          width: '130px',
          cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : <span class="soft">never</span>),
        },
        {
          name: 'created',
          title: 'Created',
          order: ({ createdAt }) => createdAt,
          width: '130px',
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
      ]}
      empty={<p>No keys yet. Your own backend calls this server with one.</p>}
      buttons={(again) => (
        <button
          type="button"
          class="primary small"
          disabled={!canWrite.value}
          onClick={() => createKey(again)}
        >
          Create a key
        </button>
      )}
      pane={(id, key, again) => <KeyPane id={id} apiKey={key} again={again} />}
    />
  )
}

function KeyPane({ id, apiKey: key, again }: { id: string; apiKey: Key | undefined; again: () => void }) {
  if (!key) return <h2 tabIndex={-1}>This key is not among those that are loaded.</h2>
  const { name, scopes, createdAt, lastUsedAt, revokedAt } = key
  const revoke = () =>
    confirm({
      title: `Revoke ${name}?`,
      verb: 'Revoke',
      type: nameToType() ?? name,
      children: (
        <p>Calls with this key are refused at once. That can't be undone: create another key then.</p>
      ),
      async act() {
        await withProof(() => six.call('DELETE /auth/keys/:id', { params: { id } }))
        toast('The key is revoked.')
        again()
      },
    })
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{name}</Text>
      </h2>
      <Facts
        of={[
          ['Id', <Id>{id}</Id>],
          ['Scopes', <code>{scopes.join(' ')}</code>],
          ['Created', <Time at={createdAt} />],
          ['Last used', lastUsedAt ? <Time at={lastUsedAt} /> : 'never'],
          revokedAt !== undefined && ['Revoked', <Time at={revokedAt} />],
        ]}
      />
      <p>
        <Link to={href(['audit'], { actor: id })}>What was done with this key</Link>
      </p>
      {revokedAt === undefined && (
        <div class="buttons">
          <button type="button" class="dangerous" disabled={!canWrite.value} onClick={revoke}>
            Revoke
          </button>
        </div>
      )}
    </>
  )
}
