import { Dialog, openDialog, withProof } from '../../parts/dialog.tsx'
import { Check, Field, Form } from '../../parts/form.tsx'
import { beginImpersonation } from '../../parts/impersonation.tsx'
import { checkInstallationName, InstallationName } from '../../parts/installation-name.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import type { User } from './state.tsx'

/** Asks for a reason, and begins a session in which the reader acts as the user. */
export const impersonate = (user: User): void =>
  openDialog((close) => <Impersonate user={user} close={close} />)

function Impersonate({ user, close }: { user: User; close: () => void }) {
  async function send(value: (name: string) => string): Promise<void> {
    checkInstallationName(value)
    const body = { reason: value('reason'), readOnly: value('writes') !== 'true' }
    const session = await withProof(() =>
      six.call('POST /auth/users/:id/impersonate', { params: { id: user._id }, body }),
    )
    beginImpersonation(session)
    close()
  }
  return (
    <Dialog title="Act as this user" close={close}>
      <Form send={send} submit="Begin" isDangerous cancel={close}>
        <p>
          For 15 minutes you see what{' '}
          <strong>
            <Text>{user.email}</Text>
          </strong>{' '}
          sees. It is in the audit log, with your reason.
        </p>
        <Field name="reason" label="Reason" maxLength={500} required autoFocus />
        <Check name="writes" label="Allow changes, which count as the user’s" />
        <InstallationName />
      </Form>
    </Dialog>
  )
}
