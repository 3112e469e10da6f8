import { html, type Html } from '../html.ts'
import { grouped, providerPage } from '../provider-page.ts'
import { displayAmount } from './currencies.ts'
import type { LineItem, StripeSession } from './stripe-types.ts'
import { DEFAULT_CARD, TEST_CARDS } from './test-cards.ts'

/** What every page of the checkout needs. */
export type PageFrame = {
  /** The application that is paid. */
  application: string
  /** The path of the sandbox. */
  root: string
}

/** The fields of the form, as they were typed. */
export type CardFields = { email: string; number: string; expiry: string; cvc: string; name: string }

/** Why a payment failed, and the field that is wrong if one is. */
export type PayError = { message: string; field?: keyof CardFields | undefined }

export const DEFAULT_FIELDS: CardFields = {
  email: 'ada@example.com',
  number: DEFAULT_CARD,
  expiry: '12 / 34',
  cvc: '123',
  name: 'Ada Lovelace',
}

const inGroups = (number: string): string => number.replaceAll(/\d{4}(?=\d)/g, '$& ')

const money = (amount: number, currency: string): string =>
  `${grouped(displayAmount(amount, currency))} ${currency.toUpperCase()}`

const frame = ({ root }: PageFrame, title: string, content: Html): string =>
  providerPage(
    {
      assets: `${root}/page`,
      styleSheet: `${root}/cardpay/page/checkout.css`,
      provider: 'Card checkout',
      protocol: "Stripe's API",
      footer:
        'A stand-in of the Sixwire sandbox: no card is charged, and nothing leaves this machine. Do not enter a real card.',
    },
    title,
    content,
  )

const itemRow = ({ description, quantity, amount_total: amount, currency }: LineItem): Html =>
  html`<li>
    <span class="item">
      ${description ?? ''}${(quantity ?? 1) > 1 && html` <span class="quantity">× ${quantity!}</span>`}
    </span>
    <span class="amount">${money(amount, currency)}</span>
  </li>`

const summary = (page: PageFrame, session: StripeSession, items: readonly LineItem[]): Html =>
  html`<section class="summary" aria-labelledby="title">
    <h1 id="title">Pay ${page.application}</h1>
    <p class="sum">${money(session.amount_total!, session.currency!)}</p>
    <ul class="items" aria-label="Order">
      ${items.map(itemRow)}
    </ul>
    <p class="total">
      <span>Total</span> <strong>${money(session.amount_total!, session.currency!)}</strong>
    </p>
  </section>`

/** A field with what is wrong with it. */
const field = (
  { fields, error }: { fields: CardFields; error?: PayError | undefined },
  name: keyof CardFields,
  label: string,
  attributes: Html,
): Html => {
  const isWrong = error?.field === name
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      value="${fields[name]}"
      ${attributes}
      ${isWrong && html`aria-invalid="true" aria-describedby="${name}-error" autofocus`}
    />
    ${isWrong && html`<p class="error" role="alert" id="${name}-error">${error.message}</p>`}
  </div>`
}

const cardLink = (number: string, words: string, isChosen: boolean): Html =>
  html`<li>
    <a href="?card=${number}" ${isChosen && html`aria-current="true"`}>
      <code>${inGroups(number)}</code> <span>${words}</span>
    </a>
  </li>`

/** The page to pay at. Its forms are sent to its own address, and it needs no script. */
export function payPage(
  page: PageFrame,
  view: {
    session: StripeSession
    items: readonly LineItem[]
    /** Whether a bank debit is offered. */
    debit: boolean
    fields: CardFields
    /** Why the last attempt failed. */
    error?: PayError | undefined
  },
): string {
  const { session, items, debit, error } = view
  const fields = { ...view.fields, number: inGroups(view.fields.number) }
  const form = { fields, error }
  return frame(
    page,
    `Pay ${page.application}`,
    html`<div class="panes">
      ${summary(page, session, items)}
      <form method="post" class="form card">
        ${
          error !== undefined &&
          error.field === undefined &&
          html`<p class="error" role="alert">${error.message}</p>`
        }
        ${field(
          form,
          'email',
          'Email',
          html`type="email" autocomplete="email" required maxlength="200"
          ${session.customer_email !== null && html`readonly`}`,
        )}
        ${field(
          form,
          'number',
          'Card number',
          html`inputmode="numeric" autocomplete="cc-number" required maxlength="30"`,
        )}
        <div class="pair">
          ${field(form, 'expiry', 'Expiry (MM / YY)', html`autocomplete="cc-exp" required maxlength="9"`)}
          ${field(
            form,
            'cvc',
            'Security code (CVC)',
            html`inputmode="numeric" autocomplete="cc-csc" required maxlength="4"`,
          )}
        </div>
        ${field(form, 'name', 'Name on card', html`autocomplete="cc-name" maxlength="100"`)}
        <div class="buttons">
          <button name="action" value="pay" class="primary">
            Pay ${money(session.amount_total!, session.currency!)}
          </button>
          ${
            debit &&
            html`<button name="action" value="debit" formnovalidate>Pay by bank debit, paid later</button>`
          }
          ${
            session.cancel_url !== null &&
            html`<button name="action" value="cancel" formnovalidate>Cancel and go back</button>`
          }
        </div>
      </form>
      <section class="more" aria-labelledby="cards">
        <h2 id="cards">Test cards</h2>
        <ul class="cards">
          ${[...TEST_CARDS].map(([number, { words }]) =>
            cardLink(number, words, number === view.fields.number),
          )}
        </ul>
      </section>
    </div>`,
  )
}

/** The page of the bank that issued a card, for cards that need authentication. */
export const authenticationPage = (page: PageFrame, session: StripeSession): string =>
  frame(
    page,
    'Authenticate the payment',
    html`
      <h1>Authenticate the payment</h1>
      <p class="lead">
        Your bank asks whether you want to pay
        <strong>${money(session.amount_total!, session.currency!)}</strong> to ${page.application}.
      </p>
      <form method="post" class="buttons">
        <button name="action" value="complete" class="primary">Complete authentication</button>
        <button name="action" value="fail">Fail authentication</button>
      </form>
    `,
  )

/** A page for a session that cannot be paid, with the way back to the application. */
export const endedPage = (
  page: PageFrame,
  { title, text, link }: { title: string; text: string; link?: string | null | undefined },
): string =>
  frame(
    page,
    title,
    html`<h1>${title}</h1>
      <p class="lead">${text}</p>
      ${typeof link === 'string' && html`<p><a href="${link}">Return to ${page.application}</a></p>`}`,
  )
