import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { timeOf } from '../../../base/time-text.ts'
import { ownRows } from '../../../base/row-filter.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import { ownerOf, OwnerQuery } from '../../../kernel/policy/owner-query.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import { causeOf, notConfigured, payErrors } from '../errors.ts'
import { NEW_PAYMENTS } from './limits.ts'
import { LIVES, merchantFields, readMerchant } from './merchant-fields.ts'
import { Timestamp } from './schemas.ts'
import { REQUEST_STATUSES } from '../requests/request-state.ts'
import type { PaymentRequests } from '../requests/requests.ts'

const Units = (description: string, example: string) =>
  Type.String({ pattern: '^\\d+$', description, examples: [example] })

const RequestFields = {
  _id: Type.String(),
  receiverAddress: Type.String({ description: 'Where to pay. No other request has this address.' }),
  amount: Units('In the smallest unit of the token.', '12500000'),
  displayAmount: Type.String({ description: 'The decimal as it was asked for.', examples: ['12.5'] }),
  token: Type.String({ examples: ['USDC'] }),
  chain: Type.String({ examples: ['ethereum'] }),
  status: Type.Enum(REQUEST_STATUSES, {
    description:
      'pending; detected while what arrived is not deep enough; confirmed, or overpaid if it is more than asked for; underpaid; expired; cancelled; late if it arrived after the expiry.',
  }),
  expiresAt: Timestamp,
  createdAt: Timestamp,
  transactionId: Type.String({ description: 'Its transaction in GET /pay/transactions/:id.' }),
  paymentUri: Type.String({
    description: 'For wallet programs, such as by a QR code (EIP-681).',
    examples: ['ethereum:0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed@1?value=1000000000000000'],
  }),
}
const PaymentRequest = Type.Object(RequestFields, { title: 'PaymentRequest' })

const DetailFields = {
  receivedAmount: Units('All that arrived, in the smallest unit.', '12500000'),
  confirmations: Type.Integer({
    description: 'Of the block in which the amount was complete, else of the last one in which some arrived.',
  }),
  transactionHashes: Type.Array(Type.String(), {
    description: 'What a contract sent in the native coin may lack here.',
  }),
  unexpected: Type.Array(
    Type.Object(
      {
        chain: Type.String(),
        token: Type.String({ description: 'The symbol if the token is configured, else its contract.' }),
        amount: Units('In the smallest unit of that token.', '5000000'),
      },
      { title: 'UnexpectedPayment' },
    ),
    { description: 'What arrived in another token or on another chain. It changes no status.' },
  ),
}
const PaymentRequestDetails = Type.Object(
  { ...RequestFields, ...DetailFields },
  { title: 'PaymentRequestDetails' },
)

const PaymentRequestItem = Type.Object(
  {
    ...RequestFields,
    ...DetailFields,
    userId: Type.String({ description: 'To whom it belongs.' }),
    exponent: Type.Integer({ description: 'Decimal places of the token.' }),
  },
  { title: 'PaymentRequestItem' },
)

const RequestFilters = {
  status: Type.Optional(
    Type.Enum(REQUEST_STATUSES, {
      description:
        'It follows from the chain, so requests are looked at until a page is full, 1,000 at most: a page may have fewer, or none, and a nextCursor.',
    }),
  ),
  chain: Type.Optional(Type.String({ maxLength: 40 })),
  token: Type.Optional(Type.String({ maxLength: 32, description: 'The symbol.' })),
  address: Type.Optional(Type.String({ maxLength: 42, description: 'The receiver address, in any case.' })),
  ...OwnerQuery,
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Created at this time or later.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this time.' })),
}

/** The endpoints of payment requests. @param options.requests undefined: nothing configures the addresses */
export function requestEndpoints({
  requests,
  policy,
}: {
  requests: PaymentRequests | undefined
  policy: Policy
}) {
  function configured(): PaymentRequests {
    if (!requests) throw notConfigured('onchain')
    return requests
  }
  return {
    create: endpoint(
      {
        limit: NEW_PAYMENTS,
        summary: 'Create a payment request',
        description: 'The buyer pays the amount to the receiverAddress, which is of this request alone.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object(
            {
              amount: Type.String({
                minLength: 1,
                maxLength: 160,
                description: 'A decimal in major units, with at most as many places as the token has.',
                examples: ['12.5'],
              }),
              token: Type.String({
                minLength: 1,
                maxLength: 32,
                description:
                  'The symbol of the native coin, or of a token that the chain is configured with.',
                examples: ['ETH'],
              }),
              chain: Type.String({ minLength: 1, maxLength: 40, examples: ['ethereum'] }),
              ...merchantFields(LIVES.onchain.words),
            },
            { title: 'CreatePaymentRequest' },
          ),
        ),
        reply: { 200: PaymentRequest },
        errors: [
          errors.provider_not_configured,
          payErrors.provider_error,
          errors.forbidden,
          errors.unavailable,
        ],
      },
      ({ body: { amount, token, chain, ...given }, caller, recordId, requestId }) =>
        configured().create(
          { id: recordId, amount, token, chain },
          {
            merchant: readMerchant(given, { id: recordId, caller, life: LIVES.onchain }),
            cause: causeOf(requestId),
          },
        ),
    ),
    list: endpoint(
      {
        summary: 'List payment requests',
        description:
          'Newest first, with what arrived at their addresses. The total leaves out the filter status.',
        access: 'user',
        readsOnly: true,
        query: Type.Object({ ...PageQuery, ...RequestFilters }),
        reply: {
          200: Type.Object(
            { requests: Type.Array(PaymentRequestItem), ...PageReply },
            { title: 'PaymentRequestPage' },
          ),
        },
        errors: [errors.provider_not_configured],
      },
      async ({ query, caller }) => {
        const page = pageOf(query)
        const { status, chain, token, address, from, to } = query
        const owner = await ownerOf(policy, caller, query)
        const answered = await configured().list(
          {
            rowFilter: owner === undefined ? policy.rowFilter(caller) : ownRows(owner),
            ...(status !== undefined && { status }),
            ...(chain !== undefined && { chain }),
            ...(token !== undefined && { token }),
            ...(address !== undefined && { address }),
            ...(from !== undefined && { from: timeOf(from, '/query/from') }),
            ...(to !== undefined && { to: timeOf(to, '/query/to') }),
          },
          page,
        )
        return { ...answered, limit: page.limit, offset: page.offset }
      },
    ),
    get: endpoint(
      {
        summary: 'Get a payment request',
        description: 'With what arrived at its address.',
        access: 'user',
        params: Type.Object({ id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
        reply: { 200: PaymentRequestDetails },
        errors: [errors.not_found, errors.provider_not_configured],
      },
      ({ params: { id }, caller }) => configured().get(id, policy.rowFilter(caller)),
    ),
  }
}
