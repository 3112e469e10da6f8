import { signal } from '@preact/signals'
import type { TargetedSubmitEvent } from 'preact'
import { useState } from 'preact/hooks'

import { announce } from '../../console/src/parts/toast.tsx'
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

/** The people who have an account at the identity providers. */
export function People() {
  const [failure, setFailure] = useState('')

  async function add(form: HTMLFormElement): Promise<void> {
    const values = new FormData(form)
    try {
      const added = await ask<Person>('POST', '/people', {
        name: values.get('name'),
        email: values.get('email'),
        verified: values.has('verified'),
      })
      setFailure('')
      form.reset()
      form.querySelector('input')?.focus()
      await refresh('people')
      announce(`${added.name} was added`)
    } catch (error) {
      setFailure((error as Error).message)
    }
  }

  async function change({ id }: Person, input: Partial<Person>): Promise<void> {
    await ask('PATCH', `/people/${id}`, input).then(
      () => setFailure(''),
      (error: unknown) => setFailure((error as Error).message),
    )
    await refresh('people')
  }

  function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    void add(event.currentTarget)
  }

  return (
    <section
      id="view-people"
      class="column"
      aria-labelledby="people-title"
      hidden={shown.value !== 'people'}
    >
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
      <form id="people-form" class="panel" aria-labelledby="people-add" onSubmit={submit}>
        <h3 id="people-add">Add a person</h3>
        <div class="fields">
          <label>
            Name <input name="name" required maxLength={100} autoComplete="off" />
          </label>
          <label>
            Email address <input name="email" type="email" required autoComplete="off" />
          </label>
          <label class="check">
            <input name="verified" type="checkbox" defaultChecked /> Address verified
          </label>
          <button class="primary">Add</button>
        </div>
        {failure !== '' && (
          <p class="fault" role="alert" id="people-fault">
            {failure}
          </p>
        )}
      </form>
      <p class="lead" id="people-try">
        Try it: sign in by provider A or B at{' '}
        <a href={appUrl} target="_blank" rel="noopener">
          your application
        </a>
        .
      </p>
    </section>
  )
}
