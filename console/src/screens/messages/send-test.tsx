import { useState } from 'preact/hooks'

import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { six, user } from '../../parts/session.ts'
import { toast } from '../../parts/toast.tsx'
import { CHANNELS } from './message.ts'

type Channel = (typeof CHANNELS)[number][0]

/** Sends a message to see whether a channel works. */
export function SendTest({ close, sent }: { close: () => void; sent: () => void }) {
  const [channel, setChannel] = useState<Channel>('email')
  const isMail = channel === 'email'
  return (
    <Dialog title="Send a test" close={close}>
      <Form
        submit="Send"
        send={async (value) => {
          await sendBy(channel, value)
          toast('The provider accepted the message.')
          sent()
          close()
        }}
        cancel={close}
      >
        <Choice
          name="channel"
          label="Channel"
          options={CHANNELS}
          defaultValue="email"
          onChoice={(value) => setChannel(value as Channel)}
        />
        <Field
          key={channel}
          name="to"
          label={isMail ? 'To' : 'To, in E.164'}
          type={isMail ? 'email' : 'tel'}
          {...(isMail ? { defaultValue: user.value?.email ?? '' } : { placeholder: '+4915112345678' })}
          required
        />
        {isMail && <Field name="subject" label="Subject" defaultValue="A test of the console" required />}
        <Field name="body" label="Text" lines={3} defaultValue="This message is a test." required />
      </Form>
    </Dialog>
  )
}

function sendBy(channel: Channel, value: (name: string) => string): Promise<unknown> {
  const [to, text] = [value('to'), value('body')]
  if (channel !== 'email') return six.call(`POST /messaging/${channel}`, { body: { to, body: text } })
  const body = `<p>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`
  return six.call('POST /messaging/email', { body: { to, subject: value('subject'), body, text } })
}
