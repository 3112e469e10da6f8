import { useState } from 'preact/hooks'

import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { messageOf } from '../../parts/load.tsx'
import { go, href } from '../../parts/router.tsx'
import { changeSettings, checksOf, type SettingCheck } from '../../parts/settings.ts'
import { Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { PROVIDERS, type ConsoleSettings } from './groups.ts'
import { Refused } from './refused.tsx'

type NotSaved = { name: string; values: Record<string, unknown>; checks: readonly SettingCheck[] }

/** Adds an OpenID Connect issuer under a name. */
export default function NewProvider({
  settings,
  close,
  again,
}: {
  settings: ConsoleSettings
  close: () => void
  again: () => void
}) {
  const [name, setName] = useState('NAME')
  const [refused, setRefused] = useState<NotSaved>()
  const publicUrl = settings.options.find(({ option }) => option === 'publicUrl')?.value
  async function add(name: string, values: Record<string, unknown>, force = false): Promise<void> {
    setRefused(undefined)
    try {
      await changeSettings(values, { version: settings.version, force })
      close()
      again()
      go(href(['settings', `${PROVIDERS}${name}`]))
    } catch (error) {
      const checks = checksOf(error)
      if (checks.length === 0) throw error
      setRefused({ name, values, checks })
    }
  }
  return (
    <Dialog title="Add an identity provider" close={close}>
      <p class="soft">
        Any OpenID Connect issuer: Okta, Keycloak, Auth0, your company. Register this address there:{' '}
        <code>
          <Text>{`${String(publicUrl)}/auth/providers/${name}/callback`}</Text>
        </code>
      </p>
      {refused && (
        <Refused
          checks={refused.checks}
          act={() =>
            void add(refused.name, refused.values, true).catch((error: unknown) =>
              toast(messageOf(error), { tone: 'bad' }),
            )
          }
        />
      )}
      <Form
        submit="Check and add"
        send={async (value) => {
          const chosen = value('name').trim()
          if (settings.options.some(({ group }) => group === `${PROVIDERS}${chosen}`))
            throw new Error(`There is a provider ${chosen} already.`)
          const parts = ['issuer', 'clientId', 'clientSecret', 'label']
          await add(
            chosen,
            Object.fromEntries(
              parts.map((part) => [`${PROVIDERS}${chosen}.${part}`, value(part).trim() || null]),
            ),
          )
        }}
        cancel={close}
      >
        <Field
          name="name"
          label="Name"
          hint="Lowercase letters, digits and -."
          pattern="[a-z][a-z0-9\-]*"
          maxLength={32}
          onText={(text) => setName(text.trim() || 'NAME')}
          required
          autoFocus
        />
        <Field name="issuer" label="Issuer" type="url" placeholder="https://login.company.example" required />
        <Field name="clientId" label="Client ID" required />
        <Field
          name="clientSecret"
          label="Client secret"
          type="password"
          autoComplete="new-password"
          required
        />
        <Field name="label" label="Label" hint="Its name for people. Default: its host." />
      </Form>
    </Dialog>
  )
}
