import { confirm } from '../../parts/dialog.tsx'
import type { ListFilter } from '../../parts/filters.tsx'
import { Late } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { queryValue, sortInPlace } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import type { ListColumn } from '../../parts/table.tsx'
import { Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { createUser } from './create.tsx'
import { States, type UserRole, type UserSummary } from './state.tsx'

type State = 'active' | 'disabled' | 'unverified' | 'locked'

async function loadUsers({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const { users, nextCursor } = await six.call('GET /auth/users', {
    query: {
      q: queryValue('q'),
      role: queryValue('role') as UserRole | undefined,
      state: queryValue('state') as State | undefined,
      since: queryValue('since'),
      until: queryValue('until'),
      activeSince: queryValue('activeSince'),
      sort: sortInPlace('email', 'name', 'lastSignInAt', 'createdAt'),
      cursor,
      limit: 100,
      total: 'none',
    },
    signal,
  })
  return { rows: users, nextCursor }
}

/** Those with a problem come first. */
const stateOf = ({ disabled, locked, emailVerified, role }: UserSummary): string =>
  [disabled && '0', locked && '1', !emailVerified && '2', role].filter(Boolean).join(' ')

const columns: readonly ListColumn<UserSummary>[] = [
  {
    name: 'email',
    title: 'User',
    sort: 'email',
    cell: ({ email }) => <Text>{email}</Text>,
  },
  { name: 'name', title: 'Name', sort: 'name', cell: ({ name }) => <Text>{name ?? ''}</Text>, isMinor: true },
  { name: 'state', title: 'State', order: stateOf, width: '190px', cell: (user) => <States of={user} /> },
  {
    name: 'signed-in',
    title: 'Last sign-in',
    sort: 'lastSignInAt',
    width: '130px',
    isMinor: true,
    cell: ({ lastSignInAt }) => <Time at={lastSignInAt} />,
  },
  {
    name: 'created',
    title: 'Created',
    sort: 'createdAt',
    width: '130px',
    isMinor: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
]

const ACTIVE_SINCE: ListFilter = {
  kind: 'text',
  name: 'activeSince',
  label: 'Active since',
  type: 'datetime-local',
}

const loadPane = async () => ({ default: (await import('./pane.tsx')).UserPane })

/** All accounts, and one of them with everything that it has. */
export default function Users() {
  return (
    <List<UserSummary>
      title="Users"
      at={['users']}
      idOf={({ _id }) => _id}
      nameOf={({ email }) => email}
      load={loadUsers}
      columns={columns}
      filters={[
        { kind: 'search', name: 'q', label: 'Search address or name' },
        {
          kind: 'choice',
          name: 'role',
          label: 'Role',
          options: [
            ['admin', 'Administrators'],
            ['viewer', 'Viewers'],
            ['user', 'Users'],
          ],
        },
        {
          kind: 'choice',
          name: 'state',
          label: 'State',
          options: [
            ['active', 'Active'],
            ['unverified', 'Not verified'],
            ['locked', 'Locked'],
            ['disabled', 'Disabled'],
          ],
        },
        { kind: 'text', name: 'since', label: 'Created from', type: 'datetime-local' },
        { kind: 'text', name: 'until', label: 'Created before', type: 'datetime-local' },
        // A link of the overview sets it.
        ...(queryValue('activeSince') === undefined ? [] : [ACTIVE_SINCE]),
      ]}
      empty={<p>No accounts yet. Add a user, or let people register.</p>}
      buttons={(again) => (
        <button
          type="button"
          class="primary small"
          disabled={!canWrite.value}
          onClick={() => createUser(again)}
        >
          Add a user
        </button>
      )}
      actions={(marked, done) => (
        <>
          <button
            type="button"
            class="small"
            disabled={!canWrite.value}
            onClick={() => setDisabled(marked, false, done)}
          >
            Enable
          </button>
          <button
            type="button"
            class="small dangerous"
            disabled={!canWrite.value}
            onClick={() => setDisabled(marked, true, done)}
          >
            Disable
          </button>
        </>
      )}
      pane={(id, _row, again) => <Late load={loadPane} props={{ id, again }} />}
    />
  )
}

/** Disables or enables accounts one after the other; those that the server refuses are named, and the others are done. */
function setDisabled(marked: readonly UserSummary[], disabled: boolean, done: () => void): void {
  const users = marked.filter((user) => user.disabled !== disabled)
  const verb = disabled ? 'Disable' : 'Enable'
  if (users.length === 0) {
    toast(`All marked accounts are ${disabled ? 'disabled' : 'enabled'} already.`)
    return
  }
  const refused: string[] = []
  confirm({
    title: `${verb} ${users.length === 1 ? users[0]!.email : `${users.length} accounts`}?`,
    verb,
    ...(users.length > 1 && { type: String(users.length) }),
    children: disabled ? (
      <p>Their sessions end at once, and they can't sign in until they are enabled again.</p>
    ) : (
      <p>They can sign in again.</p>
    ),
    async act() {
      for (const { _id, email } of users)
        await six
          .call('PATCH /auth/users/:id', { params: { id: _id }, body: { disabled } })
          .catch((error: unknown) => refused.push(`${email}: ${(error as Error).message}`))
      const count = users.length - refused.length
      toast(`${count} of ${users.length} ${disabled ? 'disabled' : 'enabled'}.`)
      for (const line of refused) toast(line, { tone: 'bad' })
      done()
    },
  })
}
