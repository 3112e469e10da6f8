import { useState } from 'preact/hooks'

import { Dialog, openDialog, withProof } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { checkInstallationName, InstallationName } from '../../parts/installation-name.tsx'
import { installation } from '../../parts/installation.ts'
import { wirePurpose } from '../../parts/names.tsx'
import { six } from '../../parts/session.ts'
import { ShownOnce } from '../../parts/shown-once.tsx'

/** Opens the dialog that makes a key and shows it, once. */
export const createKey = (again: () => void): void =>
  openDialog((close) => <CreateKey close={close} again={again} />)

function CreateKey({ close, again }: { close: () => void; again: () => void }) {
  const [key, setKey] = useState<string>()
  if (key !== undefined)
    return (
      <ShownOnce what="the key" secret={key} close={close}>
        keep it where your backend reads it. It is sent as <code>Authorization: Bearer</code>.
      </ShownOnce>
    )
  async function send(value: (name: string) => string, all: FormData): Promise<void> {
    const more = value('more')
      .split(/[\s,]+/)
      .filter((scope) => scope !== '')
    const scopes = [...new Set([...all.getAll('scope').map(String), ...more])]
    if (scopes.length === 0) throw new Error('Choose at least one scope.')
    checkInstallationName(value)
    const body = { name: value('name'), scopes }
    const created = await withProof(() => six.call('POST /auth/keys', { body }))
    setKey(created.key)
    again()
  }
  return (
    <Dialog title="Create a key" close={close}>
      <Form send={send} submit="Create" cancel={close}>
        <Field name="name" label="Name" hint="What uses it." maxLength={100} required autoFocus />
        <fieldset>
          <legend>What it may call</legend>
          <ul class="scopes">
            {(installation.value?.wires ?? []).map((wire) => (
              <li key={wire}>
                <Scope name={wire} label={`${wire} (${wirePurpose(wire)}): everything`} />{' '}
                <Scope name={`${wire}:read`} label="read" />
              </li>
            ))}
          </ul>
        </fieldset>
        <Field name="more" label="Other scopes" hint="Such as pay:refund, or * for everything." />
        <InstallationName />
      </Form>
    </Dialog>
  )
}

const Scope = ({ name, label }: { name: string; label: string }) => (
  <label class="check">
    <input type="checkbox" name="scope" value={name} aria-label={name} /> {label}
  </label>
)
