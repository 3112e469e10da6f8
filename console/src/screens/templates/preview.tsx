import { useEffect, useState } from 'preact/hooks'

import { Field } from '../../parts/form.tsx'
import { messageOf, Problem, useLoad } from '../../parts/load.tsx'
import { MailFrame } from '../messages/mail-frame.tsx'
import { canWrite, six, user } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { PARTS, type ShownTemplate, type Written } from './template.ts'

const WAIT_MS = 400

/** The values of a text; undefined if it is no JSON object. */
function valuesOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** A value as it was a moment ago, so that not each letter is sent. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT_MS)
    return () => clearTimeout(timer)
  }, [JSON.stringify(value)])
  return settled
}

/** How a text looks with example values, a moment after it or they are typed. */
export function Preview({
  template: { name, channel, sample },
  language,
  draft,
}: {
  template: ShownTemplate
  language: string
  draft: Written | undefined
}) {
  const [text, setText] = useState(JSON.stringify(sample, null, 2))
  const data = valuesOf(text)
  const settled = useSettled({ data, draft })
  const shown = useLoad(
    (signal) =>
      six.call('POST /messaging/templates/:name/preview', {
        params: { name },
        body: {
          language,
          ...(settled.data && { data: settled.data }),
          ...(settled.draft && {
            draft: Object.fromEntries(
              PARTS.filter((part) => settled.draft![part] !== '').map((part) => [part, settled.draft![part]]),
            ),
          }),
        },
        signal,
      }),
    [JSON.stringify(settled)],
  )
  const { subject, html = '', text: plain = '' } = shown.value ?? {}
  async function send(): Promise<void> {
    const to = user.value!.email
    // What is shown, whether it is saved or not.
    await six.call('POST /messaging/email', { body: { to, subject: subject!, body: html, text: plain } })
    toast(`The provider accepted the mail to ${to}.`)
  }
  return (
    <>
      <Field
        name="values"
        label="Example values, as JSON"
        lines={Math.min(10, text.split('\n').length + 1)}
        defaultValue={text}
        onText={setText}
        hint={!data && <span class="fault">This is not a JSON object yet.</span>}
      />
      {shown.error !== undefined && <Problem error={shown.error} />}
      {shown.value && shown.error === undefined && (
        <>
          {subject !== undefined && (
            <p>
              <span class="soft">Subject</span>{' '}
              <strong>
                <Text>{subject}</Text>
              </strong>
            </p>
          )}
          {channel === 'sms' ? (
            <PlainText text={plain} />
          ) : (
            <Tabs label="The mail" tabs={tabsOf(name, shown.value)} />
          )}
        </>
      )}
      {channel === 'email' && (
        <div class="buttons">
          <button
            type="button"
            disabled={!canWrite.value || subject === undefined || shown.error !== undefined}
            onClick={() => void send().catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))}
          >
            Send a test to me
          </button>
        </div>
      )}
    </>
  )
}

const tabsOf = (name: string, { page, html, text }: { page?: string; html?: string; text: string }) => [
  {
    name: 'look',
    title: 'Mail',
    show: () =>
      page === undefined ? (
        <p class="notice">This text is too long to be shown as a page: see the HTML.</p>
      ) : (
        <MailFrame page={page} title={`Preview of ${name}`} />
      ),
  },
  { name: 'text', title: 'Text', show: () => <PlainText text={text} /> },
  { name: 'html', title: 'HTML', show: () => <PlainText text={html ?? ''} /> },
]

const PlainText = ({ text }: { text: string }) => (
  <pre class="message-text" tabIndex={0} aria-label="Text">
    <Text>{text}</Text>
  </pre>
)
