import { useState } from 'preact/hooks'

import { confirm, Dialog, openDialog, withProof } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { checkInstallationName, InstallationName, nameToType } from '../../parts/installation-name.tsx'
import { messageOf } from '../../parts/load.tsx'
import { DeletionPreview, exportData } from '../../parts/personal-data.tsx'
import { go, href } from '../../parts/router.tsx'
import { canWrite, six, user as reader } from '../../parts/session.ts'
import { toast } from '../../parts/toast.tsx'
import { impersonate } from './impersonate.tsx'
import type { UserRole, User } from './state.tsx'

/** What can be done to a user. */
export function UserActions({ user, changed }: { user: User; changed: () => void }) {
  const params = { id: user._id }
  const isOwn = user._id === reader.value?._id
  async function show(act: () => Promise<{ message?: string } | object>, note?: string): Promise<void> {
    try {
      const reply = await act()
      toast(note ?? (reply as { message: string }).message)
      changed()
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    }
  }
  const run = (act: () => Promise<object>, note?: string) => () => void show(act, note)
  const update = (body: { disabled?: boolean; role?: UserRole; name?: string | null }) =>
    six.call('PATCH /auth/users/:id', { params, body })
  const actions: readonly (readonly [title: string, act: () => void] | false)[] = [
    ['Edit', () => editUser(user, changed)],
    user.locked && ['Unlock', run(async () => six.call('POST /auth/users/:id/unlock', { params }))],
    !user.emailVerified && ['Mark as verified', () => verify(user, changed)],
    user.hasPassword
      ? ['Send a reset link', run(async () => six.call('POST /auth/users/:id/reset', { params }))]
      : ['Invite again', run(async () => six.call('POST /auth/users/:id/invite', { params }))],
    user.factors.passkeys > 0 || user.factors.totp
      ? ['Remove second factors', () => removeFactors(user, changed)]
      : false,
    ['Export the data', () => exportData(() => six.call('GET /auth/users/:id/export', { params }))],
    user.role === 'user' && !user.disabled && ['Act as this user', () => impersonate(user)],
    !isOwn &&
      (user.disabled
        ? ['Enable', run(async () => update({ disabled: false }), 'The account is enabled.')]
        : ['Disable', () => disable(user, changed)]),
  ]
  return (
    <div class="buttons">
      {actions.map(
        (one) =>
          one && (
            <button key={one[0]} type="button" class="small" disabled={!canWrite.value} onClick={one[1]}>
              {one[0]}
            </button>
          ),
      )}
      {!isOwn && (
        <button
          type="button"
          class="small dangerous"
          disabled={!canWrite.value}
          onClick={() => deleteUser(user, changed)}
        >
          Delete
        </button>
      )}
    </div>
  )
}

const editUser = (user: User, changed: () => void): void =>
  openDialog((close) => <EditUser user={user} changed={changed} close={close} />)

function EditUser({ user, changed, close }: { user: User; changed: () => void; close: () => void }) {
  const [chosen, setChosen] = useState<UserRole>(user.role)
  const [typed, setTyped] = useState(user.email)
  return (
    <Dialog title="Edit the user" close={close}>
      <Form
        submit="Save"
        cancel={close}
        send={async (value) => {
          const role = (value('role') || user.role) as UserRole
          const email = value('email').trim()
          if (role !== user.role || email !== user.email) checkInstallationName(value)
          const body = {
            ...(email !== user.email && { email }),
            name: value('name') || null,
            ...(role !== user.role && { role }),
          }
          await withProof(() => six.call('PATCH /auth/users/:id', { params: { id: user._id }, body }))
          close()
          toast('Saved.')
          changed()
        }}
      >
        <Field
          name="email"
          label="Email address"
          type="email"
          defaultValue={user.email}
          onText={setTyped}
          hint="Another address is not verified, and needs your password or second factor again. The old one is told."
          required
        />
        <Field name="name" label="Name" defaultValue={user.name ?? ''} maxLength={200} autoFocus />
        <Choice
          name="role"
          label="Role"
          defaultValue={user.role}
          onChoice={(role) => setChosen(role as UserRole)}
          hint="Another role needs your password or second factor again."
          options={[
            ['user', 'User'],
            ['viewer', 'Viewer: reads what an administrator reads'],
            ['admin', 'Administrator: may do everything'],
          ]}
        />
        {(chosen !== user.role || typed.trim() !== user.email) && <InstallationName />}
      </Form>
    </Dialog>
  )
}

const verify = (user: User, changed: () => void): void =>
  confirm({
    title: `Mark ${user.email} as verified?`,
    verb: 'Mark as verified',
    children: <p>Make sure that the address belongs to this user: no mail is sent to prove it.</p>,
    async act() {
      const { message } = await six.call('POST /auth/users/:id/verify', { params: { id: user._id } })
      toast(message)
      changed()
    },
  })

const removeFactors = (user: User, changed: () => void): void =>
  confirm({
    title: `Remove the second factors of ${user.email}?`,
    verb: 'Remove',
    type: nameToType() ?? user.email,
    children: (
      <p>
        For a user who has lost them: check first who asks. All sessions end, the owner gets an email, and the
        next sign-in needs one factor only.
      </p>
    ),
    async act() {
      const params = { id: user._id }
      const { message } = await withProof(() => six.call('DELETE /auth/users/:id/factors', { params }))
      toast(message)
      changed()
    },
  })

const disable = (user: User, changed: () => void): void =>
  confirm({
    title: `Disable ${user.email}?`,
    verb: 'Disable',
    children: <p>All sessions end at once, and the user can't sign in until the account is enabled again.</p>,
    async act() {
      const params = { id: user._id }
      await six.call('PATCH /auth/users/:id', { params, body: { disabled: true } })
      toast(`${user.email} is disabled.`, {
        undo: async () => {
          await six.call('PATCH /auth/users/:id', { params, body: { disabled: false } })
          changed()
        },
      })
      changed()
    },
  })

const deleteUser = (user: User, changed: () => void): void =>
  confirm({
    title: `Delete ${user.email}?`,
    verb: 'Delete',
    type: nameToType() ?? user.email,
    children: (
      <DeletionPreview
        load={(signal) => six.call('GET /auth/users/:id/deletion', { params: { id: user._id }, signal })}
      />
    ),
    async act() {
      const params = { id: user._id }
      const { message } = await withProof(() => six.call('DELETE /auth/users/:id', { params }))
      toast(message)
      go(href(['users']))
      changed()
    },
  })
