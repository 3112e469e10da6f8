import { confirm, Dialog, openDialog, withProof } from '../../parts/dialog.tsx'
import { Check, Choice, Field, Form } from '../../parts/form.tsx'
import { checkInstallationName, InstallationName, nameToType } from '../../parts/installation-name.tsx'
import { messageOf } from '../../parts/load.tsx'
import { canWrite } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import {
  callRoute,
  filledFrom,
  pathNames,
  type DeclaredAction,
  type DeclaredField,
  type RecordFields,
} from './call.ts'

type Subject = { record: RecordFields; name: string }

/** The button of an action; its form, or its question, is a dialog. */
export function ActionButton(props: { action: DeclaredAction; of?: Subject; done: () => void }) {
  const { action, of: subject, done } = props
  const fields = action.fields.filter(({ name }) => !(name in action.from))
  const key = crypto.randomUUID()
  const send = async (values: RecordFields): Promise<void> => {
    await callAction(action, { ...values, ...filledFrom(action.from, subject?.record ?? {}) }, key)
    toast(`${action.title}: done.`)
    done()
  }
  const run = () => {
    if (fields.length > 0) return openForm({ action, subject, fields, send })
    if (action.danger === 'none')
      return void send({}).catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))
    const toType = action.danger === 'proof' ? nameToType() : undefined
    confirm({
      title: `${action.title}?`,
      children: subject && (
        <p>
          <Text>{subject.name}</Text>
        </p>
      ),
      verb: action.title,
      ...(toType !== undefined && { type: toType }),
      act: () => send({}),
    })
  }
  return (
    <button
      type="button"
      class={action.route.startsWith('DELETE') ? 'small dangerous' : 'small'}
      disabled={!canWrite.value}
      onClick={run}
    >
      <Text>{action.title}</Text>
    </button>
  )
}

type FormOf = {
  action: DeclaredAction
  subject: Subject | undefined
  fields: readonly DeclaredField[]
  send: (values: RecordFields) => Promise<void>
}

const openForm = ({ action, subject, fields, send }: FormOf): void =>
  openDialog((close) => (
    <Dialog title={action.title} close={close}>
      <Form
        send={async (value) => {
          if (action.danger === 'proof') checkInstallationName(value)
          await send(valuesOf(fields, value))
          close()
        }}
        submit={action.title}
        isDangerous={action.danger !== 'none'}
        cancel={close}
      >
        {subject && (
          <p>
            For{' '}
            <strong>
              <Text>{subject.name}</Text>
            </strong>
          </p>
        )}
        {fields.map((field) => (
          <Input key={field.name} field={field} />
        ))}
        {action.danger === 'proof' && <InstallationName />}
      </Form>
    </Dialog>
  ))

/** The control of a field by its kind. */
function Input({ field }: { field: DeclaredField }) {
  const { name, title, description, isRequired, kind, options = [], minimum, maximum, maxLength } = field
  const shared = { name, label: title, ...(description !== undefined && { hint: description }) }
  if (kind === 'boolean') return <Check {...shared} />
  if (kind === 'choice') {
    const all = options.map((one) => [one, one] as const)
    return <Choice {...shared} options={isRequired ? all : [['', '–'], ...all]} />
  }
  return (
    <Field
      {...shared}
      required={isRequired}
      {...(kind === 'json' && { lines: 4 })}
      {...(kind === 'number' && { type: 'number' as const, step: 'any' as const })}
      {...(kind === 'email' && { type: 'email' as const })}
      {...(typeof field.default === 'string' || typeof field.default === 'number'
        ? { defaultValue: field.default }
        : {})}
      {...(minimum !== undefined && { min: minimum })}
      {...(maximum !== undefined && { max: maximum })}
      {...(maxLength !== undefined && { maxLength })}
    />
  )
}

/** What was typed, as the route takes it; empty fields are left out. @throws Error for text that is no JSON */
function valuesOf(fields: readonly DeclaredField[], value: (name: string) => string): RecordFields {
  const entries = fields.flatMap(({ name, title, kind }): [string, unknown][] => {
    const text = value(name)
    if (kind === 'boolean') return [[name, text === 'true']]
    if (text === '') return []
    if (kind === 'number') return [[name, Number(text)]]
    return [[name, kind === 'json' ? parseJson(text, title) : text]]
  })
  return Object.fromEntries(entries)
}

function parseJson(text: string, title: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${title} is not JSON.`)
  }
}

function callAction(action: DeclaredAction, values: RecordFields, key: string): Promise<unknown> {
  const { route, fields, isIdempotent } = action
  const inPath = pathNames(route)
  const pick = (names: readonly string[]) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))
  const namesIn = (place: DeclaredField['in']) =>
    fields.filter((one) => one.in === place && !inPath.includes(one.name)).map(({ name }) => name)
  const [query, body] = [namesIn('query'), namesIn('body')]
  return withProof(() =>
    callRoute(route, {
      params: pick(inPath),
      ...(query.length > 0 && { query: pick(query) }),
      ...(body.length > 0 && { body: pick(body) }),
      ...(isIdempotent && { headers: { 'idempotency-key': key } }),
    }),
  )
}
