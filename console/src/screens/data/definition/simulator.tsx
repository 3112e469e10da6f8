import { useState } from 'preact/hooks'

import type { Api, CallReply } from '../../../../../client/src/index.ts'
import { Choice, Field, Form } from '../../../parts/form.tsx'
import { readJson } from '../../../parts/json-text.ts'
import { Json, Text } from '../../../parts/text.tsx'
import { six } from '../../../parts/session.ts'
import type { DefinitionDraft } from './use-definition.ts'

type Answer = CallReply<Api, 'POST /store/collections/:name/can'>
type Action = (typeof ACTIONS)[number][0]

const ACTIONS = [
  ['read', 'read this document'],
  ['create', 'create this document'],
  ['update', 'change this document'],
  ['delete', 'delete this document'],
] as const
const WHO = [
  ['account', 'An account'],
  ['nobody', 'Somebody who is not signed in'],
  ['key', 'A service key of the store'],
] as const

/** Asks whether somebody may do something to a document: yes or no, by which rule. */
export default function Simulator({ draft }: { draft: DefinitionDraft }) {
  const [who, setWho] = useState('account')
  const [action, setAction] = useState<Action>('read')
  const [answer, setAnswer] = useState<Answer>()
  async function ask(value: (name: string) => string): Promise<void> {
    const text = value('document').trim()
    const json = text === '' ? { value: {} } : readJson(text)
    if (!('value' in json)) throw new Error(`The document is no JSON yet: ${json.faults[0]!.message}`)
    const id = value('id').trim()
    setAnswer(undefined)
    setAnswer(
      await six.call('POST /store/collections/:name/can', {
        params: { name: draft.name },
        body: {
          user: who === 'account' ? value('user').trim() : who === 'key' ? 'key' : null,
          action,
          ...(id !== '' && { id }),
          ...((action === 'create' || action === 'update') && {
            document: json.value,
          }),
        },
      }),
    )
  }
  return (
    <div class="simulator">
      <p class="soft">
        Nothing is written.{' '}
        {draft.base && draft.isChanged
          ? 'It judges by the definition in force, not by your changes.'
          : 'It judges by the definition in force.'}
      </p>
      <Form send={ask} submit="Ask" label="Who may?">
        <div class="detail-grid">
          <Choice name="who" label="May" options={WHO} defaultValue={who} onChoice={setWho} />
          {who === 'account' && <Field name="user" label="Its address or _id" autoComplete="off" required />}
          <Choice
            name="action"
            label="Do what"
            options={ACTIONS}
            defaultValue={action}
            onChoice={(next) => setAction(next as Action)}
          />
          {action !== 'create' && (
            <Field
              name="id"
              label="_id of the document"
              hint={action === 'read' ? 'Empty: may the list be asked for?' : undefined}
              required={action !== 'read'}
            />
          )}
        </div>
        {(action === 'create' || action === 'update') && (
          <Field
            name="document"
            label={action === 'create' ? 'The new document, as JSON' : 'The changes, as JSON'}
            lines={4}
            placeholder='{"title": "Momo"}'
          />
        )}
      </Form>
      <div role="status">{answer && <Verdict of={answer} />}</div>
    </div>
  )
}

const Verdict = ({ of }: { of: Answer }) => (
  <div class={`verdict ${of.allowed ? 'yes' : 'no'}`}>
    <strong>{of.allowed ? 'Yes.' : 'No.'}</strong>
    <p>
      <Text>{of.because}</Text>
    </p>
    {of.rule !== undefined && (
      <>
        <p class="soft">{of.allowed ? 'By this rule:' : 'This rule does not hold:'}</p>
        <Json value={of.rule} label="The rule" />
      </>
    )}
    {of.issues && (
      <ul>
        {of.issues.map(({ path, message }) => (
          <li key={path + message}>
            <code>{path.replace('/body/', '')}</code> <Text>{message}</Text>
          </li>
        ))}
      </ul>
    )}
    {of.status !== undefined && (
      <p class="soft">
        The route answers {of.status} <code>{of.code}</code>.
      </p>
    )}
  </div>
)
