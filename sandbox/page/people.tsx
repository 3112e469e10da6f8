import { signal } from '@preact/signals'

import { Check, Field, Form } from '../../console/src/parts/form.tsx'
import { messageOf } from '../../console/src/parts/load.tsx'
import { announce, toast } from '../../console/src/parts/toast.tsx'
import { refresh } from './live.ts'
import { appUrl, ask } from './server.ts'
import { shown } from './where.ts'

type Person = { id: string; name: string; email: string; verified: boolean }

const people = signal<readonly Person[]>([])

export async function refreshPeople(): Promise<void> {
  people.value = (await ask<{ people: Person[] }>('GET', '/people')).people
}

const initials = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => /./u.exec(word)?.[0] ?? '')
    .join('')
    .toUpperCase()

async function add(value: (name: string) => string): Promise<void> {
  const added = await ask<Person>('POST', '/people', {
    name: value('name'),
    email: value('email'),
    verified: value('verified') !== '',
  })
  await refresh('people')
  announce(`${added.name} was added`)
}

async function change({ id }: Person, input: Partial<Person>): Promise<void> {
  await ask('PATCH', `/people/${id}`, input).catch((error: unknown) =>
    toast(messageOf(error), { tone: 'bad' }),
  )
  await refresh('people')
}

function clear(form: HTMLFormElement): void {
  form.reset()
  form.querySelector('input')?.focus()
}

/** The people who have an account at the identity providers. */
export const People = () => (
  <section id="view-people" class="column" aria-labelledby="people-title" hidden={shown.value !== 'people'}>
    <h2 id="people-title">People</h2>
    <p class="lead">
      They have an account at both identity providers. Choose one on the consent page, or add a person.
    </p>
    <ul id="people-list" class="cards" aria-labelledby="people-title">
      {people.value.map((person) => (
        <li key={person.id} class="card">
          <span class="initials" aria-hidden="true">
            {initials(person.name)}
          </span>
          <span class="who">
            <strong>{person.name}</strong>
            <span>{person.email}</span>
            <span class="small">subject {person.id}</span>
          </span>
          <label class="check">
            <input
              type="checkbox"
              checked={person.verified}
              aria-label={`The address of ${person.name} is verified`}
              onChange={(event) => void change(person, { verified: event.currentTarget.checked })}
            />
            verified
          </label>
        </li>
      ))}
    </ul>
    <div id="people-form" class="panel">
      <h3>Add a person</h3>
      <Form label="Add a person" submit="Add" send={add} done={clear}>
        <Field name="name" label="Name" required maxLength={100} />
        <Field name="email" label="Email address" type="email" required />
        <Check name="verified" label="Address verified" defaultChecked />
      </Form>
    </div>
    <p class="lead" id="people-try">
      Try it: sign in by provider A or B at{' '}
      <a href={appUrl} target="_blank" rel="noopener">
        your application
      </a>
      .
    </p>
  </section>
)
