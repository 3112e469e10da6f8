import { useState } from 'preact/hooks'

import { Dialog, openDialog, withProof } from '../../parts/dialog.tsx'
import { Check, Choice, Field, Form } from '../../parts/form.tsx'
import { checkInstallationName, InstallationName } from '../../parts/installation-name.tsx'
import { go, href } from '../../parts/router.tsx'
import { six, user } from '../../parts/session.ts'
import { toast } from '../../parts/toast.tsx'
import type { UserRole } from './state.tsx'

/** Opens the dialog that invites a user, or creates one with a password. */
export const createUser = (again: () => void): void =>
  openDialog((close) => <CreateUser close={close} again={again} />)

function CreateUser({ close, again }: { close: () => void; again: () => void }) {
  const [hasPassword, setHasPassword] = useState(false)
  const [chosen, setChosen] = useState<UserRole>('user')
  async function send(value: (name: string) => string): Promise<void> {
    const role = (value('role') || 'user') as UserRole
    if (role !== 'user') checkInstallationName(value)
    const body = {
      email: value('email'),
      ...(value('name') && { name: value('name') }),
      ...(role !== 'user' && { role }),
      ...(hasPassword && { password: value('password'), verified: value('verified') === 'true' }),
    }
    const created = await withProof(() => six.call('POST /auth/users', { body }))
    close()
    toast(hasPassword ? 'The account is created.' : `An invitation is being sent to ${body.email}.`)
    again()
    go(href(['users', created.user._id]))
  }
  return (
    <Dialog title="Add a user" close={close}>
      <Form send={send} submit={hasPassword ? 'Create' : 'Invite'} cancel={close}>
        <Field name="email" label="Email address" type="email" required autoFocus />
        <Field name="name" label="Name" maxLength={200} />
        {user.value?.role === 'admin' && (
          <Choice
            name="role"
            label="Role"
            defaultValue="user"
            onChoice={(role) => setChosen(role as UserRole)}
            options={[
              ['user', 'User'],
              ['viewer', 'Viewer: reads what an administrator reads'],
              ['admin', 'Administrator'],
            ]}
          />
        )}
        <Check
          name="with-password"
          label="Set a password now, instead of sending an invitation"
          onCheck={setHasPassword}
        />
        {hasPassword && (
          <>
            <Field name="password" label="Password" type="password" autoComplete="new-password" required />
            <Check name="verified" label="The address is verified" defaultChecked />
          </>
        )}
        {chosen !== 'user' && <InstallationName />}
      </Form>
    </Dialog>
  )
}
