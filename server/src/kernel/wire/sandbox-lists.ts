/** A payment request of the application, as the page of the sandbox shows it. */
export type ShownPaymentRequest = {
  _id: string
  chain: string
  token: string
  /** Decimal, in major units. */
  displayAmount: string
  receiverAddress: string
  status: string
  expiresAt: string
  /** What has arrived, in the smallest unit of the token. */
  receivedAmount: string
  confirmations: number
  /** Oldest first. */
  transactionHashes: readonly string[]
}

/** What the sandbox shows of the application; a list is absent if no wire makes it. */
export type SandboxLists = {
  /** The payment requests that wait for a payment. */
  readonly paymentRequests?: () => Promise<readonly ShownPaymentRequest[]>
}
