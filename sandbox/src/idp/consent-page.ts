import { once } from '../../../server/src/base/once.ts'
import { html, type Html } from '../html.ts'
import { providerPage } from '../provider-page.ts'
import type { Person } from './people.ts'

/** The appearance of a provider's pages. */
export type ConsentStyle = {
  /** The class of its pages, for the style sheet. */
  readonly dress: string
  readonly name: string
  readonly protocol: string
  /** What each scope lets the application know, in words. */
  readonly scopes: Readonly<Record<string, string>>
}

export type ConsentPage = {
  look: ConsentStyle
  /** The application that asks. */
  application: string
  /** Where the answer is sent. */
  redirectUri: string
  scope: string
  people: readonly Person[]
  /** The person whom the application suggests, by id or address. */
  hint: string | undefined
  /** Why the new person was refused, and what was typed. */
  fault?: { message: string; name: string; email: string; verified: boolean }
  /** The address of the style sheets. */
  assets: string
}

// At the first page: it reads data of languages for 9 ms.
const listFormat = once(() => new Intl.ListFormat('en'))

const initials = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => /./u.exec(word)?.[0] ?? '')
    .join('')
    .toUpperCase()

const frame = (look: ConsentStyle, assets: string, title: string, content: Html): string =>
  providerPage(
    {
      assets,
      styleSheet: `${assets}/consent.css`,
      theme: look.dress,
      provider: look.name,
      protocol: look.protocol,
      footer: 'A stand-in of the Sixwire sandbox: it needs no real account, and nothing leaves this machine.',
    },
    title,
    content,
  )

const personButton = ({ id, name, email, verified }: Person, asked: boolean): Html =>
  html` <li>
    <button name="person" value="${id}" class="person" ${asked && html`autofocus`}>
      <span class="initials" aria-hidden="true">${initials(name)}</span>
      <span class="who"><strong>${name}</strong><span>${email}</span></span>
      <span class="badge ${verified ? 'good' : 'warning'}">${verified ? 'verified' : 'not verified'}</span>
    </button>
  </li>`

/** The page to choose a person and to consent. Its forms are sent to its own address. */
export function consentPage({
  look,
  application,
  redirectUri,
  scope,
  people,
  hint,
  fault,
  assets,
}: ConsentPage): string {
  const scopes = scope
    .split(' ')
    .filter((one) => Object.hasOwn(look.scopes, one))
    .map((one) => look.scopes[one]!)
  return frame(
    look,
    assets,
    `Sign in to ${application}`,
    html`
      <h1>Sign in to ${application}</h1>
      <p class="wants">
        ${application} wants to know
        ${scopes.length > 0 ? listFormat().format(scopes) : 'your public profile'}.
      </p>
      <form method="post">
        <h2 id="people">Choose who you are</h2>
        <ul class="people" aria-labelledby="people">
          ${people.map((one) => personButton(one, !fault && (one.email === hint || one.id === hint)))}
        </ul>
      </form>
      <details ${fault && html`open`}>
        <summary>Add a person</summary>
        <form method="post" class="invent">
          ${fault && html`<p class="fault" role="alert" id="fault">${fault.message}</p>`}
          <label>Name <input name="name" autocomplete="off" maxlength="100" value="${fault?.name}" /></label>
          <label>
            Email address
            <input
              name="email"
              type="email"
              required
              autocomplete="off"
              value="${fault?.email}"
              ${fault && html`aria-invalid="true" aria-describedby="fault" autofocus`}
            />
          </label>
          <label class="check">
            <input
              name="verified"
              type="checkbox"
              value="true"
              ${(fault?.verified ?? true) && html`checked`}
            />
            The provider has verified this address
          </label>
          <button name="invent" value="true" class="primary">Sign in as this person</button>
        </form>
      </details>
      <form method="post" class="deny">
        <button name="deny" value="true">Deny</button>
        <p>You will be sent back to <code>${new URL(redirectUri).host}</code>.</p>
      </form>
    `,
  )
}

/** The page for a request that can't be answered to the application, because its client or redirect address is wrong. */
export const refusalPage = (look: ConsentStyle, assets: string, message: string): string =>
  frame(
    look,
    assets,
    'This request cannot be answered',
    html`<h1>This request cannot be answered</h1>
      <p class="fault" role="alert">${message}</p>`,
  )

/** The page whose form takes an answer to the application: these pages have no scripts, so a person sends it. */
export function returnPage(look: ConsentStyle, assets: string, application: string, address: string): string {
  const { origin, pathname, searchParams } = new URL(address)
  return frame(
    look,
    assets,
    `Return to ${application}`,
    html`<h1>Return to ${application}</h1>
      <form method="post" action="${origin + pathname}">
        ${[...searchParams].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        <button class="primary" autofocus>Continue</button>
      </form>`,
  )
}
