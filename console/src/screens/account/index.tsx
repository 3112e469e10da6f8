import { confirm } from '../../parts/dialog.tsx'
import { List } from '../../parts/list.tsx'
import { exportData } from '../../parts/personal-data.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Badge, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { Factors } from './factors.tsx'

type Session = Awaited<ReturnType<typeof loadSessions>>['rows'][number]

async function loadSessions({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const { sessions, nextCursor } = await six.call('GET /auth/sessions', {
    query: { cursor, limit: 100 },
    signal,
  })
  return { rows: sessions, nextCursor }
}

/** Where the reader is signed in, and with which second factors. */
export default function Account() {
  return (
    <List<Session>
      title="Your account"
      at={['account']}
      idOf={({ _id }) => _id}
      nameOf={({ userAgent }) => userAgent}
      load={loadSessions}
      columns={[
        {
          name: 'device',
          title: 'Session',
          order: ({ userAgent }) => userAgent,
          cell: ({ userAgent, current }) => (
            <>
              {current && <Badge tone="good">this one</Badge>} <Text>{userAgent || 'Unknown'}</Text>
            </>
          ),
        },
        {
          name: 'ip',
          title: 'Address',
          order: ({ ip }) => ip,
          cell: ({ ip }) => <Text>{ip}</Text>,
          width: '150px',
          isMinor: true,
        },
        {
          name: 'used',
          title: 'Last used',
          order: ({ lastUsedAt }) => lastUsedAt,
          cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
          width: '130px',
        },
      ]}
      empty={<p>No sessions.</p>}
      buttons={() => (
        <>
          <Link to={href(['account', 'factors'])}>Second factors</Link>
          <button
            type="button"
            class="small"
            onClick={() => exportData(() => six.call('GET /auth/me/export', {}))}
          >
            Export your data
          </button>
        </>
      )}
      pane={(id, session, again) =>
        id === 'factors' ? <Factors /> : <SessionPane id={id} session={session} again={again} />
      }
    />
  )
}

function SessionPane(props: { id: string; session: Session | undefined; again: () => void }) {
  const { id, session, again } = props
  if (!session) return <h2>This session has ended, or is not loaded.</h2>
  const revoke = () =>
    confirm({
      title: 'Revoke this session?',
      verb: 'Revoke',
      children: <p>The device is signed out at once.</p>,
      async act() {
        await six.call('DELETE /auth/sessions/:id', { params: { id } })
        toast('Session revoked.')
        again()
      },
    })
  return (
    <>
      <h2 tabIndex={-1}>Session</h2>
      <Facts
        of={[
          ['Device', <Text>{session.userAgent}</Text>],
          ['Address', <Text>{session.ip}</Text>],
          ['Signed in', <Time at={session.createdAt} />],
          ['Last used', <Time at={session.lastUsedAt} />],
          ['Ends', <Time at={session.expiresAt} />],
          ['Id', <Id>{id}</Id>],
        ]}
      />
      {!session.current && (
        <div class="buttons">
          <button type="button" class="dangerous" onClick={revoke}>
            Revoke
          </button>
        </div>
      )}
    </>
  )
}
