import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'

import { Dialog, openDialog } from './dialog.tsx'
import { Field, Form } from './form.tsx'
import { serverUrl, six } from './session.ts'
import { Copy, Json, Text, Time } from './text.tsx'
import { toast } from './toast.tsx'

/** A session in which the reader acts as a user. It is in memory only, as the reader's own token is. */
export type ActingSession = {
  token: string
  sessionId: string
  user: { _id: string; email: string }
  readOnly: boolean
  expiresAt: string
}

const impersonation = signal<ActingSession | undefined>(undefined)
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows the banner until the session ends. */
export function beginImpersonation(session: ActingSession): void {
  clearTimeout(timer)
  impersonation.value = session
  timer = setTimeout(forget, Date.parse(session.expiresAt) - Date.now())
}

function forget(): void {
  clearTimeout(timer)
  impersonation.value = undefined
}

async function end({ user, sessionId }: ActingSession): Promise<void> {
  forget()
  const params = { id: user._id, sid: sessionId }
  await six.call('DELETE /auth/users/:id/sessions/:sid', { params }).then(
    () => toast(`You no longer act as ${user.email}.`),
    (error: unknown) => toast((error as Error).message, { tone: 'bad' }),
  )
}

/** The banner over all screens while the reader acts as a user. */
export function Impersonating() {
  const session = impersonation.value
  if (!session) return null
  return (
    <div class="notice warning impersonating" role="region" aria-label="Acting as a user">
      <span>
        You act as{' '}
        <strong>
          <Text>{session.user.email}</Text>
        </strong>{' '}
        until <Time at={session.expiresAt} />
        {session.readOnly ? ', reading only' : '; what you change there counts as theirs'}. This console
        itself goes on as you.
      </span>
      <span class="buttons">
        <button
          type="button"
          class="small"
          onClick={() => openDialog((close) => <CallAs {...session} close={close} />)}
        >
          Call as this user
        </button>
        <Copy text={session.token} what="the access token of this session" />
        <button type="button" class="small" onClick={() => void end(session)}>
          End
        </button>
      </span>
    </div>
  )
}

/** Shows what a route answers the user. */
function CallAs({ token, user, close }: ActingSession & { close: () => void }) {
  const [answer, setAnswer] = useState<{ status: number; value: unknown }>()
  return (
    <Dialog title="Call as this user" close={close} wide>
      <Form
        submit="Send"
        buttons={
          <button type="button" onClick={close}>
            Close
          </button>
        }
        send={async (value) => {
          const path = value('path').replace(/^\/*/, '/')
          const response = await fetch(serverUrl + path, { headers: { authorization: `Bearer ${token}` } })
          const text = await response.text()
          setAnswer({ status: response.status, value: parsed(text) })
        }}
      >
        <Field
          name="path"
          label={`What GET answers ${user.email}`}
          defaultValue="/auth/me"
          hint="A path with its query, such as /store/notes?limit=5."
          required
          autoFocus
        />
      </Form>
      {answer && (
        <>
          <p role="status">Status {answer.status}</p>
          <Json value={answer.value} label="The answer" />
        </>
      )}
    </Dialog>
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, 10_000)
  }
}
