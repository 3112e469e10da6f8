import { Facts, Text } from '../../parts/text.tsx'
import { moneyText } from './amounts.ts'
import type { PaymentDetails } from './details.ts'

type Buyer = NonNullable<PaymentDetails['buyer']>

/** What was bought, and by whom. */
export const Purchase = ({ of: { items, buyer, currency } }: { of: PaymentDetails }) => (
  <>
    {buyer && (
      <>
        <h3>Buyer</h3>
        <Facts
          of={[
            buyer.name !== undefined && ['Name', <Text>{buyer.name}</Text>],
            buyer.email !== undefined && ['Paid as', <Text>{buyer.email}</Text>],
            buyer.phone !== undefined && ['Phone', <Text>{buyer.phone}</Text>],
            buyer.address && ['Address', <Address of={buyer.address} />],
            buyer.shipping && [
              'Ships to',
              <Address name={buyer.shipping.name} of={buyer.shipping.address} />,
            ],
          ]}
        />
      </>
    )}
    {items && (
      <>
        <h3>Items</h3>
        <table class="amounts">
          <thead>
            <tr>
              <th scope="col">Item</th>
              <th scope="col" class="number">
                Quantity
              </th>
              <th scope="col" class="number">
                Price of one
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map(({ name, quantity, displayAmount }, at) => (
              <tr key={at}>
                <td>
                  <Text>{name}</Text>
                </td>
                <td class="number">{quantity}</td>
                <td class="number">{moneyText(displayAmount, currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </>
    )}
  </>
)

/** An address in its lines, as far as the provider knows them. */
function Address({ name, of = {} }: { name?: string | undefined; of?: Buyer['address'] }) {
  const { line1, line2, postalCode, city, state, country } = of
  const place = [postalCode, city, state].filter(Boolean).join(' ')
  const lines = [name, line1, line2, place, country].filter(Boolean)
  return (
    <>
      {lines.map((line, at) => (
        <div key={at}>
          <Text>{line!}</Text>
        </div>
      ))}
    </>
  )
}
