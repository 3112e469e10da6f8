import { appUrl, ask } from './api.js'
import { byId, make, update } from './dom.js'

/** @param {{ announce(text: string): void }} page */
export function createPeople(page) {
  const list = byId('people-list')
  const form = byId('people-form')
  const fault = byId('people-fault')

  byId('people-try').append(
    'Try it: sign in by provider A or B at ',
    make('a', { href: appUrl, target: '_blank', rel: 'noopener' }, 'your application'),
    '.',
  )

  function complain(error) {
    fault.textContent = error?.message ?? ''
    fault.hidden = !error
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void add()
  })

  async function add() {
    const { name, email, verified } = form.elements
    try {
      const added = await ask('POST', '/people', {
        name: name.value,
        email: email.value,
        verified: verified.checked,
      })
      complain()
      form.reset()
      name.focus()
      await refresh()
      page.announce(`${added.name} was added`)
    } catch (error) {
      complain(error)
    }
  }

  async function change(person, input) {
    await ask('PATCH', `/people/${person.id}`, input).then(() => complain(), complain)
    await refresh()
  }

  const initials = (name) =>
    name
      .split(/\s+/)
      .slice(0, 2)
      .map((word) => /./u.exec(word)?.[0] ?? '')
      .join('')
      .toUpperCase()

  const card = (person) =>
    make(
      'li',
      { class: 'card' },
      make('span', { class: 'initials', 'aria-hidden': 'true' }, initials(person.name)),
      make(
        'span',
        { class: 'who' },
        make('strong', {}, person.name),
        make('span', {}, person.email),
        make('span', { class: 'small' }, `subject ${person.id}`),
      ),
      make(
        'label',
        { class: 'check' },
        make('input', {
          type: 'checkbox',
          checked: person.verified,
          'aria-label': `The address of ${person.name} is verified`,
          change: ({ currentTarget }) => void change(person, { verified: currentTarget.checked }),
        }),
        'verified',
      ),
    )

  async function refresh() {
    const { people } = await ask('GET', '/people')
    update(list, people, ({ id }) => id, card)
  }

  return { refresh, open() {} }
}
