import { useState } from 'preact/hooks'

import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { go, href } from '../../parts/router.tsx'
import { changeSettings } from '../../parts/settings.ts'
import { ShownOnce } from '../../parts/shown-once.tsx'

/** A secret as receivers take it: https://www.standardwebhooks.com */
const newSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`

/** Adds a webhook, and shows its secret once. */
export default function NewWebhook({ close, again }: { close: () => void; again: () => void }) {
  const [secret] = useState(newSecret)
  const [isDone, setDone] = useState(false)
  if (isDone)
    return (
      <ShownOnce what="the secret" secret={secret} close={close}>
        the receiver verifies by it that an event is from this server.
      </ShownOnce>
    )
  async function send(value: (name: string) => string): Promise<void> {
    const events = value('events')
      .split(/[\s,]+/)
      .filter((one) => one !== '')
    const name = value('name').trim()
    await changeSettings({ [`webhooks.${name}`]: { url: value('url').trim(), secret, events } })
    setDone(true)
    again()
    go(href(['webhooks', name]))
  }
  return (
    <Dialog title="New webhook" close={close}>
      <Form send={send} submit="Add" cancel={close}>
        <Field
          name="name"
          label="Name"
          hint="Lowercase letters, digits and -."
          pattern="[a-z0-9][a-z0-9_.\-]*"
          maxLength={100}
          required
          autoFocus
        />
        <Field name="url" label="Address" type="url" placeholder="https://shop.example/events" required />
        <Field
          name="events"
          label="Events"
          lines={2}
          hint="Types or patterns, such as pay.transaction.* or auth.user.created."
          required
        />
      </Form>
    </Dialog>
  )
}
