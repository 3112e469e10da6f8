import { useEffect, useState } from 'preact/hooks'

import { Field, Form } from '../../parts/form.tsx'
import { openDialog, Dialog } from '../../parts/dialog.tsx'
import { Problem, Show, useLoad } from '../../parts/load.tsx'
import { MailFrame } from '../messages/mail-frame.tsx'
import { canWrite, six, user } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { Facts, Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import type { TemplateSummary } from './template.ts'

const WAIT_MS = 400

/** A template with its values, and how it looks with them, a moment after they are typed. */
export function TemplatePane(props: { name: string; template: TemplateSummary | undefined }) {
  const { name } = props
  const loaded = useLoad(
    async (signal) =>
      props.template ?? six.call('GET /messaging/templates/:name', { params: { name }, signal }),
    [name],
  )
  return (
    <Show of={loaded}>
      {(template) => (
        <>
          <h2 tabIndex={-1}>{template.name}</h2>
          <Facts
            of={[
              template.subject !== undefined && ['Subject', <Text>{template.subject}</Text>],
              [
                'From',
                template.isBuiltIn ? 'built-in; a file of the same name replaces it' : 'the application',
              ],
              [
                'Values',
                template.values.length === 0
                  ? 'none'
                  : template.values.map(({ name, isRequired }) => (
                      <span key={name}>
                        <code>{name}</code>
                        {isRequired ? '' : <span class="soft"> optional</span>}{' '}
                      </span>
                    )),
              ],
            ]}
          />
          {template.error === undefined ? (
            <Preview key={template.name} template={template} />
          ) : (
            <p class="notice bad" role="alert">
              <Text>{template.error}</Text>
            </p>
          )}
        </>
      )}
    </Show>
  )
}

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

function Preview({ template }: { template: TemplateSummary }) {
  const { name } = template
  const sample = JSON.stringify(template.sample, null, 2)
  const [text, setText] = useState(sample)
  const [settledText, setSettledText] = useState(text)
  const isValid = valuesOf(text) !== undefined
  useEffect(() => {
    if (!isValid) return
    const timer = setTimeout(() => setSettledText(text), WAIT_MS)
    return () => clearTimeout(timer)
  }, [text])
  const shown = useLoad(
    (signal) =>
      six.call('POST /messaging/templates/:name/preview', {
        params: { name },
        body: { data: valuesOf(settledText) ?? {} },
        signal,
      }),
    [settledText],
  )
  return (
    <>
      <Field
        name="values"
        label="Values, as JSON"
        lines={Math.min(10, sample.split('\n').length + 1)}
        defaultValue={sample}
        onText={setText}
        hint={!isValid && <span class="fault">This is not a JSON object yet.</span>}
      />
      {shown.error !== undefined && <Problem error={shown.error} />}
      {shown.value && (
        <>
          {shown.value.subject !== undefined && (
            <p>
              <span class="soft">Subject</span>{' '}
              <strong>
                <Text>{shown.value.subject}</Text>
              </strong>
            </p>
          )}
          {shown.value.html === undefined ? (
            <PlainText text={shown.value.text} />
          ) : (
            <Tabs label="The mail" tabs={tabsOf(name, shown.value)} />
          )}
        </>
      )}
      {template.channel === 'email' && (
        <div class="buttons">
          <button
            type="button"
            disabled={!canWrite.value || !isValid}
            onClick={() =>
              openDialog((close) => <SendTemplate name={name} data={valuesOf(text)!} close={close} />)
            }
          >
            Send a test
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
        <p class="notice">These values are too long to be shown as a page: see the HTML.</p>
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

function SendTemplate(props: { name: string; data: Record<string, unknown>; close: () => void }) {
  const { name, data, close } = props
  return (
    <Dialog title={`Send a test of ${name}`} close={close}>
      <Form
        submit="Send"
        send={async (value) => {
          await six.call('POST /messaging/email/template', {
            body: { to: value('to'), template: name, data },
          })
          toast('The provider accepted the mail.')
          close()
        }}
        buttons={
          <button type="button" onClick={close}>
            Cancel
          </button>
        }
      >
        <Field name="to" label="To" type="email" defaultValue={user.value?.email ?? ''} required />
      </Form>
    </Dialog>
  )
}
