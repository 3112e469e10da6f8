import { confirm } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

const SHOWN = 50

/** Where a user is signed in. */
export function UserSessions({ id, changed }: { id: string; changed: () => void }) {
  const loaded = useLoad(
    async (signal) =>
      six.call('GET /auth/users/:id/sessions', { params: { id }, query: { limit: SHOWN }, signal }),
    [id],
  )
  const refresh = () => {
    loaded.again()
    changed()
  }
  const end = async (sid: string) => {
    await six.call('DELETE /auth/users/:id/sessions/:sid', { params: { id, sid } })
    toast('The session is revoked.')
    refresh()
  }
  const endAll = () =>
    confirm({
      title: 'Revoke all sessions of this user?',
      verb: 'Revoke all',
      children: <p>All devices are signed out at once. The password stays as it is.</p>,
      async act() {
        const { message } = await six.call('DELETE /auth/users/:id/sessions', { params: { id } })
        toast(message)
        refresh()
      },
    })
  return (
    <Show of={loaded}>
      {({ sessions, total }) =>
        sessions.length === 0 ? (
          <p class="soft">This user has no sessions.</p>
        ) : (
          <>
            <ul class="rows">
              {sessions.map(({ _id, ip, userAgent, lastUsedAt }) => (
                <li key={_id}>
                  <span>
                    <Text>{userAgent || 'Unknown device'}</Text>
                    <br />
                    <span class="soft">
                      <Text>{ip}</Text> · last used <Time at={lastUsedAt} />
                    </span>
                  </span>
                  <button
                    type="button"
                    class="small"
                    disabled={!canWrite.value}
                    aria-label={`Revoke the session of ${userAgent || 'an unknown device'}`}
                    onClick={() =>
                      void end(_id).catch((error: unknown) =>
                        toast((error as Error).message, { tone: 'bad' }),
                      )
                    }
                  >
                    Revoke
                  </button>
                </li>
              ))}
            </ul>
            {(total ?? 0) > SHOWN && (
              <p class="soft">
                The newest {SHOWN} of {total}.
              </p>
            )}
            <div class="buttons">
              <button type="button" class="dangerous" disabled={!canWrite.value} onClick={endAll}>
                Revoke all
              </button>
            </div>
          </>
        )
      }
    </Show>
  )
}
