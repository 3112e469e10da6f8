import { useEffect, useState } from 'preact/hooks'

import { Form } from '../parts/form.tsx'
import { installation } from '../parts/installation.ts'
import { Problem, useLoad } from '../parts/load.tsx'
import { end, phase, serverUrl, six, user } from '../parts/session.ts'

const AGAIN_MS = 2_000

/** The page of an account whose address is not verified. It continues as soon as the address is verified, wherever that is done. */
export function VerifyAddress() {
  const [sent, setSent] = useState('')
  const account = useLoad((signal) => six.call('GET /auth/me', { signal }), [])
  useEffect(() => {
    const ask = () => document.hidden || account.again()
    const timer = setInterval(ask, AGAIN_MS)
    document.addEventListener('visibilitychange', ask)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [])
  useEffect(() => {
    if (account.value?.user.emailVerified) phase.value = 'in'
  }, [account.value])
  return (
    <main class="sign-in">
      <header>
        <h1 tabIndex={-1}>Verify your email address</h1>
        <p class="soft">{installation.value?.name}</p>
      </header>
      <p>
        An email with a link was sent to <strong>{user.value?.email}</strong>. Open the link, and this page
        continues by itself.
      </p>
      {installation.value?.sandbox && (
        <p>
          In development the email is in the{' '}
          <a href={`${serverUrl}/sandbox#inbox`} target="_blank" rel="noopener">
            inbox of the sandbox
          </a>
          .
        </p>
      )}
      {account.error !== undefined && <Problem error={account.error} />}
      <Form
        label="Verification"
        submit="Send the email again"
        send={async () => setSent((await six.call('POST /auth/resend-verification')).message)}
        buttons={
          <button type="button" class="link" onClick={() => void end()}>
            Sign out
          </button>
        }
      >
        <p class="soft" role="status">
          {sent}
        </p>
      </Form>
    </main>
  )
}
