import { useState } from 'preact/hooks'

import { Dialog, withProof } from '../../../parts/dialog.tsx'
import { Check, Field, Form } from '../../../parts/form.tsx'
import { go, href } from '../../../parts/router.tsx'
import { six, user } from '../../../parts/session.ts'
import { toast } from '../../../parts/toast.tsx'
import { DEFINITION, loadCollections } from '../collection.ts'
import type { DefinitionValue, JsonFields } from './field-types.ts'
import { loadTemplate, makeTemplate, TEMPLATES } from './templates.ts'

/** Makes a collection from nothing, or some from a template. */
export default function NewCollection({ again, close }: { again: () => void; close: () => void }) {
  const [chosen, setChosen] = useState('')
  async function send(value: (name: string) => string): Promise<void> {
    if (chosen === '') {
      close()
      go(href(['data', value('name'), DEFINITION]))
      return
    }
    const template = await loadTemplate(chosen)
    const prefix = value('prefix')
    const names = template.collections.map(({ name }) => prefix + name)
    const taken = (await loadCollections()).find(({ name }) => names.includes(name))
    if (taken) throw new Error(`${taken.name} is there already: begin the names with something of your own.`)
    try {
      await makeTemplate(
        template,
        { me: user.value!._id, define, create },
        { prefix, withDocuments: value('documents') !== '' },
      )
    } finally {
      again()
    }
    close()
    toast(names.length === 1 ? `${names[0]} is there.` : `${names.join(', ')} are there.`)
    go(href(['data', names[0]!]))
  }
  return (
    <Dialog title="New collection" close={close} wide>
      <Form send={send} submit={chosen === '' ? 'Continue with its fields' : 'Create'} cancel={close}>
        <Templates chosen={chosen} choose={setChosen} />
        {chosen === '' ? (
          <Field
            key="name"
            name="name"
            label="Name"
            hint="A letter, then up to 63 letters, digits, _ and -."
            pattern="[a-zA-Z][a-zA-Z0-9_\-]{0,63}"
            required
          />
        ) : (
          <>
            <Field
              key="prefix"
              name="prefix"
              label="Begin the names with"
              hint="Empty, or such as test_ to keep them apart from others."
              pattern="[a-zA-Z][a-zA-Z0-9_\-]{0,30}"
            />
            <Check name="documents" label="With five example documents each" defaultChecked />
          </>
        )}
      </Form>
    </Dialog>
  )
}

const Templates = ({ chosen, choose }: { chosen: string; choose: (name: string) => void }) => (
  <fieldset>
    <legend class="quiet">Begin with</legend>
    <div class="templates">
      {[['', { title: 'Empty', about: 'Fields of your own' }] as const, ...Object.entries(TEMPLATES)].map(
        ([name, { title, about }]) => (
          <label key={name}>
            <input
              type="radio"
              name="template"
              value={name}
              checked={chosen === name}
              onChange={() => choose(name)}
            />
            <strong>{title}</strong>
            <span class="hint">{about}</span>
          </label>
        ),
      )}
    </div>
  </fieldset>
)

const define = (definitions: readonly { name: string; definition: DefinitionValue }[]) =>
  withProof(() =>
    six.call('PUT /store/collections', {
      // One that is there already stays as it is.
      body: { definitions: definitions.map((one) => ({ ...one, version: 0 })) },
    }),
  )

const create = async (name: string, documents: readonly JsonFields[]): Promise<readonly string[]> =>
  (await six.collection<Record<string, unknown>>(name).create([...documents])).map(({ _id }) => _id)
