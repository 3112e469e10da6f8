import { html, type Html } from '../html.ts'
import { grouped, providerPage } from '../provider-page.ts'
import type { Funding } from './order.ts'

export type ApprovalPage = {
  /** The path of the sandbox's files and of this page's. */
  assets: { common: string; own: string }
  merchant: string
  /** The email address of the buyer. */
  buyer: string
  amount: string
  currency: string
  description: string | undefined
  items: readonly { name: string; quantity: string; amount: string }[]
  /** Where the buyer goes on, without path and query; undefined if the merchant named no address. */
  returnsTo: string | undefined
  /** Whether the last way to pay was declined. */
  wasDeclined: boolean
}

/** The ways to pay; each decides what the capture answers. */
export const FUNDING_LABELS: Readonly<Record<Funding, { label: string; hint: string }>> = {
  balance: { label: 'Balance', hint: 'The payment is completed at once.' },
  declined: { label: 'Card that is declined', hint: 'The capture is refused; you can choose again.' },
  pending: {
    label: 'Bank transfer that stays pending',
    hint: 'The capture and its refunds wait until they are settled at /sandbox.',
  },
}

const frame = ({ common, own }: ApprovalPage['assets'], title: string, content: Html): string =>
  providerPage(
    {
      assets: common,
      styleSheet: `${own}/approval.css`,
      provider: 'Sandbox Wallet',
      protocol: "PayPal's API",
      footer: 'A stand-in of the Sixwire sandbox: it needs no real account, and no money is moved.',
    },
    title,
    content,
  )

const fundingChoice = (name: Funding, isChosen: boolean): Html => {
  const { label, hint } = FUNDING_LABELS[name]
  return html`<label class="funding">
    <input type="radio" name="funding" value="${name}" required ${isChosen && html`checked`} />
    <span><strong>${label}</strong><span class="hint">${hint}</span></span>
  </label>`
}

/** The page where the buyer approves an order. Its form is sent to its own address. */
export function approvalPage(page: ApprovalPage): string {
  const { assets, merchant, buyer, currency, description, items, returnsTo, wasDeclined } = page
  const money = (amount: string): string => `${grouped(amount)} ${currency}`
  return frame(
    assets,
    `Pay ${merchant}`,
    html`<div class="panes">
      <section class="summary" aria-labelledby="title">
        <h1 id="title">Pay ${merchant}</h1>
        <p class="sum">${money(page.amount)}</p>
        <dl class="order">
          ${
            description !== undefined &&
            html`<div>
              <dt>For</dt>
              <dd>${description}</dd>
            </div>`
          }
          ${items.map(
            (one) =>
              html`<div>
                <dt>${one.name}${one.quantity !== '1' && html` × ${one.quantity}`}</dt>
                <dd>${money(one.amount)}</dd>
              </div>`,
          )}
          <div class="total">
            <dt>Total</dt>
            <dd>${money(page.amount)}</dd>
          </div>
        </dl>
      </section>
      <form method="post" class="form">
        <p class="buyer"><span>Signed in as</span> ${buyer}</p>
        <fieldset ${wasDeclined && html`aria-describedby="error"`}>
          <legend>Pay with</legend>
          ${
            wasDeclined &&
            html`<p class="error" role="alert" id="error">
              The last way to pay was declined. Choose another one.
            </p>`
          }
          ${(['balance', 'declined', 'pending'] as const).map((one) => fundingChoice(one, one === 'balance'))}
        </fieldset>
        <div class="buttons">
          <button name="action" value="approve" class="primary">Approve and Pay</button>
          <button name="action" value="cancel" formnovalidate>Cancel and return</button>
        </div>
        ${returnsTo !== undefined && html`<p class="returns">You return to <code>${returnsTo}</code>.</p>`}
      </form>
    </div>`,
  )
}

/** A page that says something and offers nothing. */
export const noticePage = (assets: ApprovalPage['assets'], title: string, text: string): string =>
  frame(
    assets,
    title,
    html`<h1>${title}</h1>
      <p class="notice" role="status">${text}</p>`,
  )
