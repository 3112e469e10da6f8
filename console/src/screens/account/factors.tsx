import { confirm, Dialog, openDialog, withProof } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { messageOf, Show, useLoad } from '../../parts/load.tsx'
import { six } from '../../parts/session.ts'
import { Copy, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

const { passkeys, totp } = six.auth

async function loadFactors(signal: AbortSignal) {
  const [factors, list] = await Promise.all([six.call('GET /auth/factors', { signal }), passkeys.list()])
  return { ...factors, list }
}

/** The second factors of the reader's own account. */
export function Factors() {
  const loaded = useLoad(loadFactors, [])
  const attempt = (act: () => Promise<unknown>) =>
    void withProof(act).then(loaded.again, (error: unknown) => toast(messageOf(error), { tone: 'bad' }))
  return (
    <>
      <h2 tabIndex={-1}>Second factors</h2>
      <Show of={loaded}>
        {({ list, totp: hasApp, recoveryCodes, required }) => (
          <>
            {required && <p class="notice">This server requires a passkey or an authenticator app.</p>}
            <Facts
              of={[
                ...list.map(
                  (one) =>
                    [
                      'Passkey',
                      <span class="buttons">
                        <Text>{one.name}</Text>
                        <span class="soft">
                          since <Time at={one.createdAt} />
                        </span>
                        <button
                          type="button"
                          class="small"
                          onClick={() => askToRemove(one.name, () => passkeys.remove(one._id), loaded.again)}
                        >
                          Remove
                        </button>
                      </span>,
                    ] as const,
                ),
                [
                  'Authenticator app',
                  hasApp ? (
                    <button
                      type="button"
                      class="small"
                      onClick={() => askToRemove('the authenticator app', () => totp.remove(), loaded.again)}
                    >
                      Remove
                    </button>
                  ) : (
                    'none'
                  ),
                ],
                ['Recovery codes left', String(recoveryCodes)],
              ]}
            />
            <div class="buttons">
              {passkeys.isSupported() && (
                <button type="button" onClick={() => attempt(async () => showCodes(await passkeys.create()))}>
                  Add a passkey
                </button>
              )}
              {!hasApp && (
                <button
                  type="button"
                  onClick={() => attempt(async () => addApp(await totp.offer(), loaded.again))}
                >
                  Add an authenticator app
                </button>
              )}
            </div>
          </>
        )}
      </Show>
    </>
  )
}

const askToRemove = (name: string, remove: () => Promise<void>, again: () => void): void =>
  confirm({
    title: `Remove ${name}?`,
    verb: 'Remove',
    async act() {
      await withProof(remove)
      again()
    },
  })

/** Shows the recovery codes that come with the first second factor; the server has hashes of them only. */
function showCodes({ recoveryCodes }: { recoveryCodes?: string[] }): void {
  if (!recoveryCodes) return
  openDialog((close) => (
    <Dialog title="Your recovery codes" close={close}>
      <p>
        Each is valid for one sign-in without the other factor. They are shown once: keep them in a safe
        place.
      </p>
      <pre class="json" tabIndex={0}>
        {recoveryCodes.join('\n')}
      </pre>
      <div class="buttons end">
        <Copy text={recoveryCodes.join('\n')} what="the recovery codes" />
        <button type="button" class="primary" onClick={close}>
          I have stored them
        </button>
      </div>
    </Dialog>
  ))
}

function addApp({ secret, qr }: { secret: string; qr: { svg: string } }, again: () => void): void {
  openDialog((close) => (
    <Dialog title="Add an authenticator app" close={close}>
      <Form
        submit="Add"
        send={async (value) => {
          const added = await totp.verify(value('code'))
          close()
          again()
          showCodes(added)
        }}
        cancel={close}
      >
        <img
          class="qr"
          src={`data:image/svg+xml,${encodeURIComponent(qr.svg)}`}
          alt="QR code for the app"
          width="180"
          height="180"
        />
        <p>
          Or type it: <Id what="the secret">{secret}</Id>
        </p>
        <Field
          name="code"
          label="Code that the app shows"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          autoFocus
        />
      </Form>
    </Dialog>
  ))
}
