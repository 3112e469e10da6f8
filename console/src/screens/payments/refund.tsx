import { useRef } from 'preact/hooks'

import { Dialog, withProof } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { checkInstallationName, InstallationName } from '../../parts/installation-name.tsx'
import { six } from '../../parts/session.ts'
import { toast } from '../../parts/toast.tsx'
import { decimalOf, moneyText, unitsOf } from './amounts.ts'
import type { PaymentDetails } from './details.ts'

/** Asks how much is to be given back, and gives it back once. */
export default function Refund({
  payment,
  done,
  close,
}: {
  payment: PaymentDetails
  done: () => void
  close: () => void
}) {
  const { currency, exponent, displayRefundable } = payment
  // The same refund under the same key is made once, however often it is sent; another amount is another refund.
  const keys = useRef(new Map<string, string>())
  const keyOf = (request: string): string => {
    const key = keys.current.get(request) ?? crypto.randomUUID()
    keys.current.set(request, key)
    return key
  }

  async function send(value: (name: string) => string): Promise<void> {
    const units = unitsOf(value('amount'), exponent, currency)
    if (units === 0n) throw new Error('The amount must be more than 0.')
    if (units > unitsOf(displayRefundable, exponent, currency))
      throw new Error(`Only ${moneyText(displayRefundable, currency)} is left to refund.`)
    checkInstallationName(value)
    const reason = value('reason').trim()
    const request = { transactionId: payment._id, ...(reason !== '' && { reason }) }
    const idempotencyKey = keyOf(`${units} ${reason}`)
    const { status } = await withProof(() =>
      payment.provider === 'cardpay'
        ? six.call('POST /pay/cardpay/refund', {
            body: { ...request, amount: Number(units) },
            idempotencyKey,
          })
        : six.call('POST /pay/walletpay/refund', {
            // 15 digits at most, which a number holds as they are.
            body: { ...request, amount: Number(decimalOf(units, exponent)) },
            idempotencyKey,
          }),
    )
    close()
    const text = moneyText(decimalOf(units, exponent), currency)
    if (status === 'failed') toast(`The refund of ${text} failed.`, { tone: 'bad' })
    else toast(status === 'completed' ? `${text} refunded.` : `The refund of ${text} is pending.`)
    done()
  }

  return (
    <Dialog title="Refund a payment" close={close}>
      <Form
        send={send}
        submit="Refund"
        isDangerous
        label="Refund"
        buttons={
          <button type="button" onClick={close}>
            Keep the payment
          </button>
        }
      >
        <p>
          {moneyText(displayRefundable, currency)} of {moneyText(payment.displayAmount, currency)} is left. A
          refund cannot be undone.
        </p>
        <Field
          name="amount"
          label={`Amount in ${currency}`}
          inputMode="decimal"
          defaultValue={displayRefundable}
          required
          autoFocus
          hint={
            exponent === 0
              ? 'A whole number: this currency has no decimals.'
              : `With up to ${exponent} decimals.`
          }
        />
        <Field
          name="reason"
          label="Reason"
          maxLength={255}
          hint={
            payment.provider === 'walletpay' ? 'Optional. The buyer sees it.' : 'Optional, for your records.'
          }
        />
        <InstallationName />
      </Form>
    </Dialog>
  )
}
