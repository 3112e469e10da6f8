import { readMoney } from './amounts.ts'
import { malformed, unprocessable } from './errors.ts'
import type { OrderItem, OrderRequest } from './order.ts'

type Body = Readonly<Record<string, unknown>>

const TEXT_MAX = 127
const URL_MAX = 2_000
const UNIT = '/purchase_units/0'
const ADDED = ['item_total', 'shipping', 'handling', 'tax_total', 'insurance']
const SUBTRACTED = ['shipping_discount', 'discount']

const isObject = (input: unknown): input is Body =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

/** @throws PayPalError if it is there and no object */
export function readObject(input: unknown, field: string): Body {
  if (input === undefined) return {}
  if (!isObject(input)) throw malformed('INVALID_PARAMETER_SYNTAX', 'This must be an object.', field)
  return input
}

/** @throws PayPalError if it is there and no text of at most `max` characters */
export function readText(input: unknown, field: string, max = TEXT_MAX): string | undefined {
  if (input === undefined || input === null) return undefined
  if (typeof input !== 'string') throw malformed('INVALID_PARAMETER_SYNTAX', 'This must be a string.', field)
  if (input.length === 0 || input.length > max)
    throw malformed('INVALID_STRING_LENGTH', `This must have 1 to ${max} characters.`, field)
  if (input.includes('\0') || !input.isWellFormed())
    throw malformed('INVALID_PARAMETER_SYNTAX', 'This has characters that are not allowed.', field)
  return input
}

function readUrl(input: unknown, field: string): string | undefined {
  const text = readText(input, field, URL_MAX)
  if (text === undefined) return undefined
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw malformed('INVALID_PARAMETER_SYNTAX', 'This must be an absolute http or https URL.', field)
  return text
}

function readItem(input: unknown, field: string, currency: string): OrderItem {
  const item = readObject(input ?? null, field)
  const name = readText(item['name'], `${field}/name`)
  if (name === undefined) throw malformed('MISSING_REQUIRED_PARAMETER', 'name is required.', `${field}/name`)
  const quantity = readText(item['quantity'], `${field}/quantity`, 10)
  if (quantity === undefined)
    throw malformed('MISSING_REQUIRED_PARAMETER', 'quantity is required.', `${field}/quantity`)
  if (!/^[1-9][0-9]{0,9}$/.test(quantity))
    throw malformed('INVALID_PARAMETER_SYNTAX', 'quantity must be a whole number.', `${field}/quantity`)
  const amountOf = (key: string): string => {
    const money = readMoney(item[key], `${field}/${key}`, { mayBeZero: true })
    if (money.currency !== currency) throw otherCurrency(`${field}/${key}/currency_code`)
    return String(money.amount)
  }
  const description = readText(item['description'], `${field}/description`)
  const sku = readText(item['sku'], `${field}/sku`)
  const category = readText(item['category'], `${field}/category`, 20)
  if (category !== undefined && !['DIGITAL_GOODS', 'PHYSICAL_GOODS', 'DONATION'].includes(category))
    throw malformed('INVALID_PARAMETER_VALUE', 'There is no such category.', `${field}/category`)
  return {
    name,
    unitAmount: amountOf('unit_amount'),
    ...(item['tax'] !== undefined && { tax: amountOf('tax') }),
    quantity,
    ...(description !== undefined && { description }),
    ...(sku !== undefined && { sku }),
    ...(category !== undefined && { category }),
  }
}

const otherCurrency = (field: string) =>
  unprocessable('MULTI_CURRENCY_ORDER', 'All amounts of an order must be in one currency.', { field })

function readBreakdown(amount: Body, currency: string): Record<string, bigint> | undefined {
  if (amount['breakdown'] === undefined) return undefined
  const breakdown = readObject(amount['breakdown'], `${UNIT}/amount/breakdown`)
  const parts: Record<string, bigint> = {}
  for (const name of [...ADDED, ...SUBTRACTED]) {
    if (breakdown[name] === undefined) continue
    const field = `${UNIT}/amount/breakdown/${name}`
    const money = readMoney(breakdown[name], field, { mayBeZero: true })
    if (money.currency !== currency) throw otherCurrency(`${field}/currency_code`)
    parts[name] = money.amount
  }
  return parts
}

/** The amount is the sum of its parts, and those of the items are the sums of the items. */
function checkSums(amount: bigint, parts: Record<string, bigint>, items: readonly OrderItem[]): void {
  const total = (names: readonly string[]): bigint =>
    names.reduce((sum, name) => sum + (parts[name] ?? 0n), 0n)
  if (total(ADDED) - total(SUBTRACTED) !== amount)
    throw unprocessable('AMOUNT_MISMATCH', 'The amount is not the sum of its breakdown.', {
      field: `${UNIT}/amount/value`,
    })
  if (items.length === 0) return
  const itemTotal = items.reduce((sum, one) => sum + BigInt(one.unitAmount) * BigInt(one.quantity), 0n)
  if (parts['item_total'] !== undefined && itemTotal !== parts['item_total'])
    throw unprocessable('ITEM_TOTAL_MISMATCH', 'item_total is not the sum of the items.', {
      field: `${UNIT}/amount/breakdown/item_total/value`,
    })
  const taxTotal = items.reduce((sum, one) => sum + BigInt(one.tax ?? 0) * BigInt(one.quantity), 0n)
  if (items.some(({ tax }) => tax !== undefined) && taxTotal !== (parts['tax_total'] ?? 0n))
    throw unprocessable('TAX_TOTAL_MISMATCH', 'tax_total is not the sum of the taxes of the items.', {
      field: `${UNIT}/amount/breakdown/tax_total/value`,
    })
}

function readUnit(body: Body): Body {
  const units = body['purchase_units']
  const field = '/purchase_units'
  if (units === undefined) throw malformed('MISSING_REQUIRED_PARAMETER', 'purchase_units is required.', field)
  if (!Array.isArray(units)) throw malformed('INVALID_PARAMETER_SYNTAX', 'This must be an array.', field)
  if (units.length === 0) throw malformed('INVALID_ARRAY_MIN_ITEMS', 'There must be a purchase unit.', field)
  if (units.length > 10)
    throw malformed('INVALID_ARRAY_MAX_ITEMS', 'There may be 10 purchase units at most.', field)
  if (units.length > 1)
    throw malformed('NOT_SUPPORTED', 'The sandbox supports one purchase unit for each order.', field)
  return readObject(units[0] ?? null, UNIT)
}

function checkIntent(intent: unknown): void {
  if (intent === undefined) throw malformed('MISSING_REQUIRED_PARAMETER', 'intent is required.', '/intent')
  if (intent !== 'CAPTURE' && intent !== 'AUTHORIZE')
    throw malformed('INVALID_PARAMETER_VALUE', 'intent must be CAPTURE or AUTHORIZE.', '/intent')
  if (intent === 'AUTHORIZE')
    throw unprocessable('UNSUPPORTED_INTENT', 'The sandbox supports the intent CAPTURE only.', {
      field: '/intent',
    })
}

/** Where the buyer goes on, from either of the two places that PayPal reads it from. */
function readContext(
  body: Body,
): Pick<OrderRequest, 'returnUrl' | 'cancelUrl' | 'brandName' | 'isWalletOrder' | 'hasShipping'> {
  const source = readObject(body['payment_source'], '/payment_source')
  const [other] = Object.keys(source).filter((name) => name !== 'paypal')
  if (other !== undefined)
    throw malformed(
      'NOT_SUPPORTED',
      'The sandbox supports the payment source paypal only.',
      '/payment_source',
    )
  const isWalletOrder = source['paypal'] !== undefined
  const wallet = readObject(source['paypal'], '/payment_source/paypal')
  const field = isWalletOrder ? '/payment_source/paypal/experience_context' : '/application_context'
  const context = readObject(
    isWalletOrder ? wallet['experience_context'] : body['application_context'],
    field,
  )
  const returnUrl = readUrl(context['return_url'], `${field}/return_url`)
  const cancelUrl = readUrl(context['cancel_url'], `${field}/cancel_url`)
  const brandName = readText(context['brand_name'], `${field}/brand_name`)
  for (const [name, values] of Object.entries({
    user_action: ['CONTINUE', 'PAY_NOW'],
    shipping_preference: ['GET_FROM_FILE', 'NO_SHIPPING', 'SET_PROVIDED_ADDRESS'],
  }))
    if (context[name] !== undefined && !values.includes(context[name] as string))
      throw malformed(
        'INVALID_PARAMETER_VALUE',
        `${name} must be one of ${values.join(', ')}.`,
        `${field}/${name}`,
      )
  return {
    isWalletOrder,
    hasShipping: context['shipping_preference'] === 'GET_FROM_FILE',
    ...(returnUrl !== undefined && { returnUrl }),
    ...(cancelUrl !== undefined && { cancelUrl }),
    ...(brandName !== undefined && { brandName }),
  }
}

/**
 * Reads the body of a request that creates an order.
 *
 * @throws PayPalError with PayPal's own codes
 */
export function readOrderRequest(input: unknown): OrderRequest {
  if (!isObject(input)) throw malformed('MALFORMED_REQUEST_JSON', 'The body must be a JSON object.')
  checkIntent(input['intent'])
  const unit = readUnit(input)
  const text = (name: string, max?: number) => readText(unit[name], `${UNIT}/${name}`, max)
  const [customId, invoiceId, description] = [text('custom_id'), text('invoice_id'), text('description')]
  const softDescriptor = text('soft_descriptor', 22)
  const referenceId = text('reference_id', 256) ?? 'default'
  const context = readContext(input)
  const { currency, amount } = readMoney(unit['amount'], `${UNIT}/amount`)
  const parts = readBreakdown(unit['amount'] as Body, currency)
  const itemsInput = unit['items'] ?? []
  if (!Array.isArray(itemsInput))
    throw malformed('INVALID_PARAMETER_SYNTAX', 'This must be an array.', `${UNIT}/items`)
  const items = itemsInput.map((one, at) => readItem(one, `${UNIT}/items/${at}`, currency))
  if (items.length > 0 && parts?.['item_total'] === undefined)
    throw unprocessable('ITEM_TOTAL_REQUIRED', 'With items, the breakdown needs item_total.', {
      field: `${UNIT}/amount/breakdown/item_total`,
    })
  if (parts) checkSums(amount, parts, items)
  return {
    referenceId,
    currency,
    amount: String(amount),
    ...context,
    ...(parts && {
      breakdown: Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, String(part)])),
    }),
    ...(items.length > 0 && { items }),
    ...(customId !== undefined && { customId }),
    ...(invoiceId !== undefined && { invoiceId }),
    ...(description !== undefined && { description }),
    ...(softDescriptor !== undefined && { softDescriptor }),
  }
}
