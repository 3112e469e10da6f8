import { html, type Html } from '../html.ts'
import { providerPage } from '../provider-page.ts'
import { displayAmount } from './currencies.ts'
import type { LineItem, Session } from './stripe-types.ts'
import { DEFAULT_CARD, TEST_CARDS } from './test-cards.ts'

/** What every page of the checkout needs. */
export type PageFrame = {
  /** The application that is paid. */
  application: string
  /** The path of the sandbox. */
  root: string
}

/** The fields of the form, as they were typed. */
export type CardFields = { number: string; expiry: string; cvc: string; name: string }

export const DEFAULT_FIELDS: CardFields = {
  number: DEFAULT_CARD,
  expiry: '12 / 34',
  cvc: '123',
  name: 'Ada Lovelace',
}

const inGroups = (number: string): string => number.replaceAll(/\d{4}(?=\d)/g, '$& ')

const money = (amount: number, currency: string): string =>
  `${displayAmount(amount, currency)} ${currency.toUpperCase()}`

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

const summary = (session: Session, items: readonly LineItem[]): Html =>
  html`<ul class="items" aria-label="Order">
      ${items.map(itemRow)}
    </ul>
    <p class="total">
      <span>Total</span> <strong>${money(session.amount_total!, session.currency!)}</strong>
    </p>`

const cardLink = (number: string, words: string, isChosen: boolean): Html =>
  html`<li>
    <a href="?card=${number}" ${isChosen && html`aria-current="true"`}>
      <code>${inGroups(number)}</code> <span>${words}</span>
    </a>
  </li>`

/** The page to pay at. Its forms are sent to its own address, and it needs no script. */
export function payPage(
  page: PageFrame,
  {
    session,
    items,
    debit,
    fields,
    error,
  }: {
    session: Session
    items: readonly LineItem[]
    /** Whether a bank debit is offered. */
    debit: boolean
    fields: CardFields
    /** Why the last attempt failed. */
    error?: string | undefined
  },
): string {
  const title = `Pay ${page.application}`
  const isWrong = error !== undefined && html`aria-describedby="error"`
  return frame(
    page,
    title,
    html`
      <h1>${title}</h1>
      ${summary(session, items)}
      <form method="post" class="card">
        ${error !== undefined && html`<p class="error" role="alert" id="error">${error}</p>`}
        <label>
          Card number
          <input
            name="number"
            inputmode="numeric"
            autocomplete="cc-number"
            required
            maxlength="30"
            value="${inGroups(fields.number)}"
            ${isWrong}
          />
        </label>
        <div class="pair">
          <label>
            Expiry (MM / YY)
            <input
              name="expiry"
              autocomplete="cc-exp"
              required
              maxlength="9"
              value="${fields.expiry}"
              ${isWrong}
            />
          </label>
          <label>
            Security code (CVC)
            <input
              name="cvc"
              inputmode="numeric"
              autocomplete="cc-csc"
              required
              maxlength="4"
              value="${fields.cvc}"
              ${isWrong}
            />
          </label>
        </div>
        <label>
          Name on card
          <input name="name" autocomplete="cc-name" maxlength="100" value="${fields.name}" />
        </label>
        <button name="action" value="pay" class="primary">
          Pay ${money(session.amount_total!, session.currency!)}
        </button>
      </form>
      <div class="others">
        ${
          debit &&
          html`<form method="post">
            <button name="action" value="debit">Pay by bank debit, paid later</button>
          </form>`
        }
        ${
          session.cancel_url !== null &&
          html`<form method="post"><button name="action" value="cancel">Cancel and go back</button></form>`
        }
      </div>
      <section aria-labelledby="cards">
        <h2 id="cards">Test cards</h2>
        <ul class="cards">
          ${[...TEST_CARDS].map(([number, { words }]) => cardLink(number, words, number === fields.number))}
        </ul>
      </section>
    `,
  )
}

/** The page of the bank that issued a card, for cards that need authentication. */
export const authenticationPage = (page: PageFrame, session: Session): string =>
  frame(
    page,
    'Authenticate the payment',
    html`
      <h1>Authenticate the payment</h1>
      <p class="lead">
        Your bank asks whether you want to pay
        <strong>${money(session.amount_total!, session.currency!)}</strong> to ${page.application}.
      </p>
      <form method="post" class="others">
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
