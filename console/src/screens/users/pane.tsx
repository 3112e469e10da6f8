import { Late } from '../../parts/late.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { issuerText } from '../../parts/names.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { Facts, Id, Json, Text, Time } from '../../parts/text.tsx'
import { UserActions } from './actions.tsx'
import { States, type User } from './state.tsx'

const loadRecords = async () => ({ default: (await import('./records.tsx')).UserRecords })
const loadTimeline = async () => ({ default: (await import('./timeline.tsx')).UserTimeline })
const loadNotes = async () => ({ default: (await import('./notes.tsx')).UserNotes })
const loadSessions = async () => ({ default: (await import('./sessions.tsx')).UserSessions })

/** One user: the account, what it signs in with, its sessions, and its records of all wires. */
export function UserPane({ id, again }: { id: string; again: () => void }) {
  const loaded = useLoad(async (signal) => six.call('GET /auth/users/:id', { params: { id }, signal }), [id])
  const changed = () => {
    loaded.again()
    again()
  }
  return (
    <Show of={loaded}>
      {({ user }) => (
        <>
          <h2 tabIndex={-1}>
            <Text>{user.email}</Text>
          </h2>
          <p class="person">
            {user.name !== undefined && <Text>{user.name}</Text>} <States of={user} />
          </p>
          <UserActions user={user} changed={changed} />
          <Tabs
            label="Parts of this user"
            tabs={[
              { name: 'account', title: 'Account', show: () => <Account user={user} /> },
              {
                name: 'timeline',
                title: 'Timeline',
                show: () => <Late load={loadTimeline} props={{ id }} />,
              },
              { name: 'records', title: 'Records', show: () => <Late load={loadRecords} props={{ id }} /> },
              { name: 'notes', title: 'Notes', show: () => <Late load={loadNotes} props={{ id }} /> },
              {
                name: 'sessions',
                title: `Sessions (${user.sessions})`,
                show: () => <Late load={loadSessions} props={{ id, changed: loaded.again }} />,
              },
              {
                name: 'metadata',
                title: 'Metadata',
                show: () => <Json value={user.metadata} label="Metadata" />,
              },
            ]}
          />
        </>
      )}
    </Show>
  )
}

const Account = ({ user }: { user: User }) => (
  <>
    <Facts
      of={[
        ['Id', <Id>{user._id}</Id>],
        ['Role', user.role],
        ['Address', user.emailVerified ? 'verified' : 'not verified'],
        ['Password', user.hasPassword ? 'set' : 'none'],
        ['Second factors', factorsOf(user)],
        user.phone !== undefined && ['Phone', <Text>{user.phone}</Text>],
        ...user.identities.map(
          ({ issuer, subject }) =>
            [
              'Signs in with',
              <span title={issuer}>
                {issuerText(issuer)}, as <Text>{subject}</Text>
              </span>,
            ] as const,
        ),
        ['Last sign-in', <Time at={user.lastSignInAt} />],
        ['Created', <Time at={user.createdAt} />],
      ]}
    />
    <p class="further">
      <Link to={href(['audit'], { target: `user:${user._id}` })}>What was done to this account</Link>
      {user.role !== 'user' && (
        <>
          {' · '}
          <Link to={href(['audit'], { actor: user._id })}>What this account has done</Link>
        </>
      )}
    </p>
  </>
)

function factorsOf({ factors: { passkeys, totp, recoveryCodes } }: User): string {
  const all = [
    passkeys > 0 && `${passkeys} ${passkeys === 1 ? 'passkey' : 'passkeys'}`,
    totp && 'authenticator app',
    recoveryCodes > 0 && `${recoveryCodes} recovery codes`,
  ].filter(Boolean)
  return all.length === 0 ? 'none' : all.join(', ')
}
