// The routes of the server, for createClient<Api>(url) of sixwire/client.
// Written by `sixwire types`: run it again when the routes change.

type Health = {
  status: 'healthy' | 'unhealthy'
  /** Seconds since the start. */
  uptime: number
  database: 'connected' | 'disconnected'
  /** Milliseconds that the database took to answer; null if it did not. */
  latencyMs: number | null
  wires: Record<string, 'ready' | 'error'>
}

type Ready = {
  ready: true
}

type ServerInfo = {
  name: string
  /** The application's own version. */
  version: string
  /** Sixwire's version. */
  platform: string
  runtime: string
  wires: string[]
  /** Seconds since the start. */
  uptime: number
}

type WebhookList = {
  webhooks: Webhook[]
}

type Webhook = {
  name: string
  /** Without its parameters, which may be secret. */
  url: string
  /** The types and patterns of the configuration. */
  events: string[]
  /** off: it failed for three days, or answered 410. Its events wait. */
  state: 'on' | 'off'
  /** Events that are not delivered yet. */
  waiting: number
  /** ISO 8601, UTC. */
  failingSince?: string
  /** ISO 8601, UTC. */
  offSince?: string
  offReason?: string
}

type WebhookDeliveryPage = {
  deliveries: WebhookDelivery[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type WebhookDelivery = {
  _id: string
  /** The webhook-id, the same at each webhook and attempt. */
  eventId: string
  webhook: string
  type: string
  /** The id of the record; its events are delivered in order. */
  record: string
  /** failed: given up after three days. */
  state: 'waiting' | 'delivered' | 'failed'
  attempts: number
  /** The HTTP status of the last answer. */
  lastStatus?: number
  lastError?: string
  /** ISO 8601, UTC. */
  nextAttemptAt?: string
  /** ISO 8601, UTC. */
  deliveredAt?: string
  /** ISO 8601, UTC. */
  createdAt: string
}

type SentEmail = {
  /** The provider’s id of the message. */
  messageId: string
  status: 'sent'
  channel: 'email'
  /** The recipient; several are joined with ", ". */
  to: string
}

type SentTemplate = {
  /** The provider’s id of the message. */
  messageId: string
  status: 'sent'
  channel: 'email'
  /** The recipient; several are joined with ", ". */
  to: string
  template: string
}

type SentSms = {
  /** The provider’s id of the message. */
  messageId: string
  status: 'sent'
  channel: 'sms'
  /** The recipient; several are joined with ", ". */
  to: string
}

type SentWhatsapp = {
  /** The provider’s id of the message. */
  messageId: string
  status: 'sent'
  channel: 'whatsapp'
  /** The recipient; several are joined with ", ". */
  to: string
}

type LogEntryPage = {
  logs: LogEntry[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type LogEntry = {
  _id: string
  channel: 'email' | 'sms' | 'whatsapp'
  to: string
  /** Only of emails that a caller sent, not of those of the service. */
  subject?: string
  template?: string
  status: 'queued' | 'sending' | 'sent' | 'failed' | 'delivered' | 'bounced'
  /** The provider’s id of the message; absent until a provider accepted it. */
  messageId?: string
  provider?: string
  error?: string
  /** ISO 8601, UTC. */
  createdAt: string
}

type MessagingHealth = {
  status: 'healthy' | 'unhealthy'
  providers: {
    email: ChannelHealth
    sms: ChannelHealth
    whatsapp: ChannelHealth
  }
}

type ChannelHealth = {
  provider: string
  status: 'connected' | 'not_configured' | 'error'
}

type Received = {
  received: true
}

type Wallet = {
  _id: string
  /** With the checksum of EIP-55. */
  address: string
  name?: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
}

type WalletPage = {
  wallets: Wallet[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type AddressBalance = {
  address: string
  /** Decimal, in the coin or token. */
  balance: string
  symbol: string
  chain: string
}

type SentTransaction = {
  hash: string
  chain: string
  from: string
  /** Null if it creates a contract. */
  to: string | null
  /** Decimal, in the native coin. */
  value: string
  nonce: number
  status: 'pending'
}

type OnchainTransaction = {
  hash: string
  chain: string
  from: string
  /** Null if it creates a contract. */
  to: string | null
  /** Decimal, in the native coin. */
  value: string
  nonce: number
  /** Pending until it has enough confirmations. */
  status: 'pending' | 'confirmed' | 'failed' | 'replaced'
  /** Absent while it is in no block. */
  blockNumber?: number
  /** The head block is the first. Absent in lists, while no node answers, and once nodes have dropped an old receipt. */
  confirmations?: number
  gasUsed?: string
  /** Decimal, in the native coin. */
  fee?: string
  /** The token that it minted. */
  tokenId?: string
  /** The hash of the version with a higher fee, of the same nonce. */
  replacedBy?: string
  /** Why it failed, or is being cancelled. */
  reason?: string
  /** The wallet of this server that sent it. */
  walletId?: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt?: string
}

type OnchainTransactionPage = {
  transactions: OnchainTransaction[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type ContractResult = {
  /** An integer in decimal, an address, true or false, a string, bytes in hex; a list or a struct as JSON, in which integers are strings. */
  result: string
  method: string
}

type NftMint = {
  hash: string
  chain: string
  from: string
  /** Null if it creates a contract. */
  to: string | null
  /** Decimal, in the native coin. */
  value: string
  nonce: number
  status: 'pending'
  /** If it was mined within 5 seconds; else GET /onchain/transactions/:hash has it. */
  tokenId?: string
}

type Nft = {
  /** With the checksum of EIP-55. */
  contractAddress: string
  tokenId: string
  standard: 'erc721' | 'erc1155'
  /** Null of an ERC-1155 token, which may have many owners. */
  owner: string | null
  /** As the contract answers it, with {id} filled in of ERC-1155. Null if there is none, or one of more than 64 KiB. */
  tokenURI: string | null
  /** Null if it cannot be fetched, or is no JSON object. It is written by strangers. */
  metadata: Record<string, unknown> | null
  chain: string
}

type OwnedNftPage = {
  nfts: OwnedNft[]
  total: number
  limit: number
  offset: number
}

type OwnedNft = {
  /** With the checksum of EIP-55. */
  contractAddress: string
  tokenId: string
  standard: 'erc721' | 'erc1155'
  /** With the checksum of EIP-55. */
  owner: string
  /** Of an ERC-1155 token, decimal. */
  balance?: string
}

type OnchainHealth = {
  status: 'healthy' | 'unhealthy'
  /** Every chain of the configuration, by name. */
  chains: Record<string, ChainHealth>
}

type ChainHealth = {
  status: 'connected' | 'not_configured' | 'unhealthy'
  /** The latest block; 0 if no node answers. */
  blockNumber: number
}

type Registration = {
  user: User
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type User = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
  /** ISO 8601, UTC. */
  createdAt: string
}

type Login = {
  user: LoginUser
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type LoginUser = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
}

type Account = {
  user: Me
}

type Me = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
  /** ISO 8601, UTC. */
  createdAt: string
  emailVerified: boolean
  metadata: Record<string, unknown>
  role: 'user' | 'admin'
}

type Confirmation = {
  message: string
}

type Tokens = {
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type SessionPage = {
  sessions: Session[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type Session = {
  _id: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** The sign-in or the last refresh. */
  lastUsedAt: string
  /** ISO 8601, UTC. */
  expiresAt: string
  ip: string
  userAgent: string
  /** Whether it is the session of this call. */
  current: boolean
}

type MagicLinkLogin = {
  user: MagicLinkUser
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type MagicLinkUser = {
  _id: string
  email: string
}

type AuthHealth = {
  status: 'healthy' | 'unhealthy'
  /** The available ways to sign in. */
  providers: string[]
}

type PublicKeySet = {
  keys: PublicKey[]
}

type PublicKey = {
  kty: string
  crv: string
  x: string
  kid: string
  use: string
  alg: string
}

type Checkout = {
  sessionId: string
  url: string
  transactionId: string
}

type Refund = {
  refundId: string
  transactionId: string
  provider: 'cardpay' | 'walletpay'
  /** pending also while the outcome at the provider is unknown. */
  status: 'pending' | 'completed' | 'failed'
  /** In the unit of the transaction’s amount. */
  amount: number
  currency: string
  /** As it was sent with the refund. */
  reason?: string
}

type WalletOrder = {
  orderId: string
  approvalUrl: string
  status: 'CREATED'
  transactionId: string
}

type Capture = {
  orderId: string
  /** PENDING while the money is on its way; ask again, or read the transaction. */
  status: 'COMPLETED' | 'PENDING'
  transactionId: string
}

type PaymentRequest = {
  _id: string
  /** Where to pay. No other request has this address. */
  receiverAddress: string
  /** In the smallest unit of the token. */
  amount: string
  /** The decimal as it was asked for. */
  displayAmount: string
  token: string
  chain: string
  /** pending; detected while what arrived is not deep enough; confirmed, or overpaid if it is more than asked for; underpaid; expired; cancelled; late if it arrived after the expiry. */
  status: 'pending' | 'detected' | 'confirmed' | 'overpaid' | 'underpaid' | 'expired' | 'cancelled' | 'late'
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
  /** Its transaction in GET /pay/transactions/:id. */
  transactionId: string
  /** For wallet programs, such as by a QR code (EIP-681). */
  paymentUri: string
}

type PaymentRequestDetails = {
  _id: string
  /** Where to pay. No other request has this address. */
  receiverAddress: string
  /** In the smallest unit of the token. */
  amount: string
  /** The decimal as it was asked for. */
  displayAmount: string
  token: string
  chain: string
  /** pending; detected while what arrived is not deep enough; confirmed, or overpaid if it is more than asked for; underpaid; expired; cancelled; late if it arrived after the expiry. */
  status: 'pending' | 'detected' | 'confirmed' | 'overpaid' | 'underpaid' | 'expired' | 'cancelled' | 'late'
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
  /** Its transaction in GET /pay/transactions/:id. */
  transactionId: string
  /** For wallet programs, such as by a QR code (EIP-681). */
  paymentUri: string
  /** All that arrived, in the smallest unit. */
  receivedAmount: string
  /** Of the block in which the amount was complete, else of the last one in which some arrived. */
  confirmations: number
  /** What a contract sent in the native coin may lack here. */
  transactionHashes: string[]
  /** What arrived in another token or on another chain. It changes no status. */
  unexpected: UnexpectedPayment[]
}

type UnexpectedPayment = {
  chain: string
  /** The symbol if the token is configured, else its contract. */
  token: string
  /** In the smallest unit of that token. */
  amount: string
}

type TransactionPage = {
  transactions: Transaction[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type Transaction = {
  _id: string
  provider: 'cardpay' | 'walletpay' | 'onchain'
  /** pending, then completed, failed, expired or cancelled; completed becomes partially_refunded, refunded, disputed or lost. Money decides: what was lost, expired, cancelled or failed goes on if the provider has the money after all. */
  status: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost'
  /** The id of the checkout session, order or payment request. */
  reference?: string
  /** As the provider’s own routes take it: of cardpay in minor units, else a decimal number. */
  amount: number
  /** The exact decimal in major units. */
  displayAmount: string
  /** In upper case. */
  currency: string
  /** In the unit of amount. */
  refundedAmount: number
  /** What open disputes concern, in the unit of amount. It cannot be refunded. */
  disputedAmount: number
  /** What disputes and reversals took, in the unit of amount. It cannot be refunded. */
  lostAmount: number
  /** The user to whom it belongs, or the service key that created it. */
  userId: string
  /** The merchant’s own reference. */
  merchantReference?: string
  /** The buyer’s. */
  email?: string
  metadata?: Record<string, string>
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt?: string
  /** What the provider took of the payment, once it tells. */
  fee?: string
  /** What it left, before refunds. */
  net?: string
  /** Of fee and net: that of the payout. */
  feeCurrency?: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string
}

type TransactionDetails = {
  _id: string
  provider: 'cardpay' | 'walletpay' | 'onchain'
  /** pending, then completed, failed, expired or cancelled; completed becomes partially_refunded, refunded, disputed or lost. Money decides: what was lost, expired, cancelled or failed goes on if the provider has the money after all. */
  status: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost'
  /** The id of the checkout session, order or payment request. */
  reference?: string
  /** As the provider’s own routes take it: of cardpay in minor units, else a decimal number. */
  amount: number
  /** The exact decimal in major units. */
  displayAmount: string
  /** In upper case. */
  currency: string
  /** In the unit of amount. */
  refundedAmount: number
  /** What open disputes concern, in the unit of amount. It cannot be refunded. */
  disputedAmount: number
  /** What disputes and reversals took, in the unit of amount. It cannot be refunded. */
  lostAmount: number
  /** The user to whom it belongs, or the service key that created it. */
  userId: string
  /** The merchant’s own reference. */
  merchantReference?: string
  /** The buyer’s. */
  email?: string
  metadata?: Record<string, string>
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt?: string
  /** What the provider took of the payment, once it tells. */
  fee?: string
  /** What it left, before refunds. */
  net?: string
  /** Of fee and net: that of the payout. */
  feeCurrency?: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string
  refunds: TransactionRefund[]
  dispute?: TransactionDispute
  /** Each change of status, oldest first. */
  history: TransactionChange[]
}

type TransactionRefund = {
  refundId: string
  /** In the unit of the transaction’s amount. */
  amount: number
  status: 'pending' | 'completed' | 'failed'
  /** As it was sent with the refund. */
  reason?: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
}

type TransactionDispute = {
  status: 'inquiry' | 'open' | 'won' | 'lost'
  amount: number
  reason?: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
}

type TransactionChange = {
  status: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost'
  /** ISO 8601, UTC, with milliseconds. */
  at: string
  /** The request, event or reconciliation that caused it. */
  cause: string
}

type PayHealth = {
  status: 'healthy' | 'unhealthy'
  providers: {
    cardpay: 'connected' | 'not_configured' | 'error'
    walletpay: 'connected' | 'not_configured' | 'error'
    onchain: 'connected' | 'not_configured' | 'error'
  }
}

type StoredFile = {
  _id: string
  /** The name under which it is stored. */
  filename: string
  /** The name as uploaded, without folders. */
  originalName: string
  /** The media type that the bytes show; application/octet-stream if they show none. */
  contentType: string
  /** In bytes. */
  size: number
  /** The SHA-256 of the bytes, in hex. */
  sha256: string
  /** Where the bytes are. */
  url: string
  /** Any fields, as a JSON object of at most 64 KiB. */
  metadata: FileMetadata
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
}

/** Any fields, as a JSON object of at most 64 KiB. */
type FileMetadata = Record<string, unknown>

type StoredFilePage = {
  files: StoredFile[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type FileLink = {
  /** Opens the file without a token of a caller. */
  url: string
  expiresAt: string
}

type CollectionPage = {
  data: CollectionOverview[]
  /** Absent on the last page. */
  nextCursor?: string
}

type CollectionOverview = {
  name: string
  /** Whether the configuration names it; if not, the policy decides. */
  declared: boolean
  /** As configured; what is not configured is that of the policy. */
  rules: {
    /** An audience, a filter, or a list of them, of which any may hold. */
    read: unknown
    /** Likewise. */
    create: unknown
    /** Likewise, or one for the document before the change and one for it after. */
    update: unknown
    /** Likewise. */
    delete: unknown
  }
  /** Fields that only administrators and service keys see. */
  hidden: string[]
  /** Fields with the rule of who sees them. */
  showTo: Record<string, unknown>
  /** Fields that only hooks, administrators and service keys write. */
  readOnly: string[]
  /** Whether documents are checked by a JSON Schema. */
  schema: boolean
  /** Fields of which no two documents have the same values. */
  unique: {
    fields: string[]
    ignoreCase: boolean
  }[]
  /** Fields that searches look into. */
  search: string[]
  /** Fields that hold the _id of another document. */
  relations: Record<string, {
    to: string
    onDelete: 'restrict' | 'unset' | 'cascade'
  }>
  /** Whether changes are logged, and can be followed. */
  changes: boolean
  hooks: ('beforeCreate' | 'beforeUpdate' | 'beforeDelete' | 'afterCreate' | 'afterUpdate' | 'afterDelete')[]
  /** How many documents it has. */
  documents: number
  /** The bytes of its documents as JSON, without indexes; with sizes=true. */
  bytes?: number
  indexes: DocumentIndex[]
}

type DocumentIndex = {
  fields: string
  unique: boolean
  /** Whether documents that lack one of the fields are not in it. Then it answers only filters that ask for values of all fields. */
  sparse?: boolean
  /** Whether it ignores the case of texts. Then it answers no lists. */
  ignoreCase?: boolean
  /** Whether it has the words that searches look for. */
  search?: boolean
  source: 'declared' | 'automatic'
  state: 'building' | 'ready' | 'failed'
  /** Why it has failed. */
  reason?: string
  /** How many documents the build has inserted so far. */
  documents?: number
  /** When a list last used it, up to an hour behind. */
  lastUsedAt?: string
}

type Changes = {
  changes: ChangeEvent[]
  /** For the next request. */
  cursor: string
}

type ChangeEvent = {
  event: 'put' | 'gone' | 'reset'
  /** Which of the watches, from 0 on. */
  watch?: number
  collection?: string
  _id?: string
  etag?: string
  /** The document’s own fields and _id, createdAt and updatedAt; with the parameter fields only _id and those that it chooses. */
  document?: AnsweredDocument
  reason?: 'expired' | 'restored' | 'changed'
}

/** The document’s own fields and _id, createdAt and updatedAt; with the parameter fields only _id and those that it chooses. */
type AnsweredDocument = {
  _id: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt?: string
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt?: string
} & Record<string, unknown>

type DocumentsCreated = Document

/** The document’s own fields and _id, createdAt and updatedAt. */
type Document = {
  _id: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string
} & Record<string, unknown>

type DocumentPage = {
  data: AnsweredDocument[]
  /** How many documents the filter finds, on all pages. */
  total: number
  /** The limit that was applied. */
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type Explanation = {
  /** index: the entries of an index lead to the documents. union: those of several do, one for each alternative of the filter. id: they are read in the order of _id, or found by it. scan: every document is looked into. search: the words of the search lead to the documents. */
  plan: 'index' | 'union' | 'id' | 'scan' | 'search'
  /** The fields of the index; of several, joined by |. */
  index?: string
  /** The conditions of the filter by which the index is searched, for each of its fields. */
  bounds?: Record<string, unknown[]>
  /** Whether the index decides alone; else the filter is asked of each document that it leads to. */
  exact?: boolean
  /** index: the entries are in the order of the list. sorted: the documents have to be sorted. */
  sort?: 'index' | 'sorted'
  /** About how many entries of indexes and documents were read. */
  examined: {
    entries: number
    documents: number
  }
  total: number
  /** How long the list took, in milliseconds. */
  ms: number
  /** The option that declares an index for this list. */
  suggestion?: string
  /** All indexes of the collection. */
  indexes: DocumentIndex[]
}

type Backup = {
  _id: string
  status: 'running' | 'completed' | 'failed'
  /** A safety backup is made by a restore, of what it replaces. */
  kind: 'manual' | 'scheduled' | 'safety'
  /** Of the archive, in bytes. Absent until it is completed. */
  size?: number
  /** Of the archive, in hex. Absent until it is completed. */
  sha256?: string
  /** How many collections it holds. Absent until it is completed. */
  collections?: number
  /** How many documents it holds. Absent until it is completed. */
  documents?: number
  /** How many files it holds. Absent until it is completed. */
  files?: number
  /** When it began. */
  createdAt: string
  /** When it was completed or failed. */
  completedAt?: string
  /** Why it failed. */
  error?: string
  /** The files that a safety backup does not hold, because their bytes are missing. */
  warning?: string
}

type BackupPage = {
  backups: Backup[]
  total: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type Restored = {
  message: string
  /** The _id of the backup of what was replaced. */
  safetyBackup: string
}

type StoreHealth = {
  status: 'healthy' | 'unhealthy'
  uploads: {
    provider: string
    status: 'connected' | 'unhealthy'
  }
  backup: {
    /** Whether backups are scheduled. */
    enabled: boolean
    /** When the last completed backup was made; null if there is none. */
    lastBackup: string | null
  }
}

export interface Api {
  /** Check whether the server works */
  'GET /health': {
    reply: Health
    errors: never
  }
  /** Check whether the server accepts requests */
  'GET /ready': {
    reply: Ready
    errors: never
  }
  /** Get name, versions and wires */
  'GET /info': {
    reply: ServerInfo
    errors: 'NOT_FOUND'
  }
  /** Get metrics for Prometheus */
  'GET /metrics': {
    reply: string
    errors: never
  }
  /** List webhooks */
  'GET /core/webhooks': {
    reply: WebhookList
    errors: never
  }
  /** Switch on a webhook */
  'POST /core/webhooks/:name/enable': {
    reply: Webhook
    errors: 'NOT_FOUND'
  }
  /** List webhook deliveries */
  'GET /core/webhooks/deliveries': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      state?: 'waiting' | 'delivered' | 'failed' | undefined
      /** Its name. */
      webhook?: string | undefined
      type?: string | undefined
    }
    reply: WebhookDeliveryPage
    errors: never
  }
  /** Send an event again */
  'POST /core/webhooks/deliveries/:id/retry': {
    reply: WebhookDelivery
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** Send an email */
  'POST /messaging/email': {
    body: {
      /** An address, or a list of addresses; at most 50 in to, cc and bcc in total. */
      to: string | string[]
      /** One line, without control characters. */
      subject: string
      /** The HTML of the email. */
      body: string
      /** The text for readers without HTML. */
      text?: string | undefined
      /** An address, or a list of addresses; at most 50 in to, cc and bcc in total. */
      cc?: string | string[] | undefined
      /** An address, or a list of addresses; at most 50 in to, cc and bcc in total. */
      bcc?: string | string[] | undefined
      replyTo?: string | undefined
      attachments?: {
        /** A file name without slashes and control characters. Default: that of the stored file. */
        filename?: string | undefined
        /** A media type, like application/pdf. Default: that of the stored file. */
        contentType?: string | undefined
        /** The content in base64, if it is not a stored file. */
        content?: string | undefined
        /** The _id of a stored file that the caller may read. */
        fileId?: string | undefined
      }[] | undefined
    }
    reply: SentEmail
    errors: 'SEND_FAILED' | 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Send an email from a template */
  'POST /messaging/email/template': {
    body: {
      to: string
      template: string
      /** Values for the template. A value that the template shows and that is missing is answered 400. */
      data?: Record<string, unknown> | undefined
    }
    reply: SentTemplate
    errors: 'SEND_FAILED' | 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Send an SMS */
  'POST /messaging/sms': {
    body: {
      /** In E.164, like +4915112345678. */
      to: string
      body: string
    }
    reply: SentSms
    errors: 'SEND_FAILED' | 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Send a WhatsApp message */
  'POST /messaging/whatsapp': {
    body: {
      /** In E.164, like +4915112345678. */
      to: string
      body: string
      media?: {
        /** An https URL without credentials. */
        url: string
        /** One line, without control characters. */
        contentType?: string | undefined
        /** One line, without control characters. */
        filename?: string | undefined
      } | undefined
    }
    reply: SentWhatsapp
    errors: 'SEND_FAILED' | 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** List messages */
  'GET /messaging/logs': {
    query: {
      channel?: 'email' | 'sms' | 'whatsapp' | undefined
      /** An address or number; recipients in cc and bcc match, too. */
      to?: string | undefined
      status?: 'queued' | 'sending' | 'sent' | 'failed' | 'delivered' | 'bounced' | undefined
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: LogEntryPage
    errors: never
  }
  /** Check whether messages can be sent */
  'GET /messaging/health': {
    reply: MessagingHealth
    errors: never
  }
  /** Receive a delivery report from a provider */
  'POST /messaging/reports/:provider': {
    body: Blob | Uint8Array<ArrayBuffer>
    reply: Received
    errors: 'INVALID_SIGNATURE' | 'PROVIDER_NOT_CONFIGURED' | 'UNAVAILABLE'
  }
  /** Receive a delivery report from Twilio */
  'POST /messaging/twilio/status': {
    query: {
      id?: string | undefined
    }
    body: URLSearchParams
    reply: Received
    errors: 'INVALID_SIGNATURE' | 'PROVIDER_NOT_CONFIGURED' | 'UNAVAILABLE'
  }
  /** Report a bounced or delivered email */
  'POST /messaging/email/bounce': {
    body: {
      /** The Message-ID of the email. */
      messageId: string
      status?: 'bounced' | 'delivered' | undefined
      /** One line, without control characters. */
      reason?: string | undefined
    }
    reply: Received
    errors: 'INVALID_SIGNATURE' | 'PROVIDER_NOT_CONFIGURED' | 'UNAVAILABLE'
  }
  /** Create a wallet */
  'POST /onchain/wallets': {
    body: {
      /** For people. */
      name?: string | undefined
    }
    reply: Wallet
    errors: 'PROVIDER_ERROR'
    idempotent: true
  }
  /** Import a wallet */
  'POST /onchain/wallets/import': {
    body: {
      /** 0x and 64 hex digits. It is stored encrypted and never returned. */
      privateKey: string
      /** For people. */
      name?: string | undefined
    }
    reply: Wallet
    errors: 'CONFLICT'
    idempotent: true
  }
  /** List wallets */
  'GET /onchain/wallets': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: WalletPage
    errors: never
  }
  /** Get a wallet */
  'GET /onchain/wallets/:id': {
    reply: Wallet
    errors: 'NOT_FOUND'
  }
  /** Read a balance */
  'GET /onchain/balance/:address': {
    query: {
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
      /** The contract of an ERC-20 token. Default: the native coin. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      token?: string | undefined
    }
    reply: AddressBalance
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR'
  }
  /** Send the native coin */
  'POST /onchain/transactions': {
    body: {
      /** Who gets it. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      to: string
      /** How much. Decimal, in the native coin. */
      value: string
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
      /** The id of the wallet that sends. */
      walletId: string
    }
    reply: SentTransaction
    errors: 'NOT_FOUND' | 'PROVIDER_NOT_CONFIGURED' | 'INSUFFICIENT_FUNDS' | 'CONTRACT_REVERTED' | 'LIMIT_EXCEEDED' | 'PROVIDER_ERROR'
    idempotent: true
  }
  /** Get a transaction */
  'GET /onchain/transactions/:hash': {
    query: {
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
    }
    reply: OnchainTransaction
    errors: 'NOT_FOUND' | 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR'
  }
  /** Speed up a transaction that is in no block */
  'POST /onchain/transactions/:hash/speed-up': {
    reply: SentTransaction
    errors: 'NOT_FOUND' | 'CONFLICT' | 'UNAVAILABLE' | 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR'
    idempotent: true
  }
  /** Cancel a transaction that is in no block */
  'POST /onchain/transactions/:hash/cancel': {
    reply: SentTransaction
    errors: 'NOT_FOUND' | 'CONFLICT' | 'UNAVAILABLE' | 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR'
    idempotent: true
  }
  /** List sent transactions */
  'GET /onchain/transactions': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      walletId?: string | undefined
      /** Default: all chains. */
      chain?: string | undefined
    }
    reply: OnchainTransactionPage
    errors: never
  }
  /** Read from a contract */
  'POST /onchain/contracts/read': {
    body: {
      /** The contract. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      address: string
      /** erc20, erc721, erc1155, erc165 (in any case), or the ABI as compilers write it in JSON. */
      abi: string | unknown[]
      /** The name of a function, or its signature: safeTransferFrom(address,address,uint256). */
      method: string
      /** Integers as decimal strings or JSON numbers up to 2^53 - 1, addresses and bytes as hex, structs as objects or arrays. */
      args?: unknown[] | undefined
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
    }
    reply: ContractResult
    errors: 'PROVIDER_NOT_CONFIGURED' | 'CONTRACT_REVERTED' | 'PROVIDER_ERROR'
  }
  /** Call a contract by a transaction */
  'POST /onchain/contracts/write': {
    body: {
      /** The contract. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      address: string
      /** erc20, erc721, erc1155, erc165 (in any case), or the ABI as compilers write it in JSON. */
      abi: string | unknown[]
      /** The name of a function, or its signature: safeTransferFrom(address,address,uint256). */
      method: string
      /** Integers as decimal strings or JSON numbers up to 2^53 - 1, addresses and bytes as hex, structs as objects or arrays. */
      args?: unknown[] | undefined
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
      /** The id of the wallet that sends. */
      walletId: string
      /** How much is sent along, to a payable function only. Decimal, in the native coin. */
      value?: string | undefined
    }
    reply: SentTransaction
    errors: 'PROVIDER_NOT_CONFIGURED' | 'NOT_FOUND' | 'CONTRACT_REVERTED' | 'INSUFFICIENT_FUNDS' | 'LIMIT_EXCEEDED' | 'PROVIDER_ERROR'
    idempotent: true
  }
  /** Mint an NFT */
  'POST /onchain/nft/mint': {
    body: {
      /** The contract. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      contractAddress: string
      /** Who gets the token. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      to: string
      /** Where the metadata of the token is: an absolute URI of at most 64 KiB. Only that at https://, ipfs://, ar:// and data: is read by this server. */
      tokenURI: string
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
      /** The id of the wallet that sends. */
      walletId: string
    }
    reply: NftMint
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'CONTRACT_REVERTED' | 'INSUFFICIENT_FUNDS' | 'LIMIT_EXCEEDED'
    idempotent: true
  }
  /** Transfer an NFT */
  'POST /onchain/nft/transfer': {
    body: {
      /** The contract. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      contractAddress: string
      /** Who gets the token. 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55. */
      to: string
      /** The id of the token, decimal. */
      tokenId: string
      /** How many of an ERC-1155 token, decimal. Default: 1. */
      amount?: string | undefined
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
      /** The id of the wallet that sends. */
      walletId: string
    }
    reply: SentTransaction
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'CONTRACT_REVERTED' | 'INSUFFICIENT_FUNDS' | 'LIMIT_EXCEEDED'
    idempotent: true
  }
  /** Get an NFT */
  'GET /onchain/nft/:contractAddress/:tokenId': {
    query: {
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
    }
    reply: Nft
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'UNAVAILABLE'
  }
  /** List the NFTs of an owner */
  'GET /onchain/nft/:contractAddress/owner/:ownerAddress': {
    query: {
      /** The name of the chain. Default: DEFAULT_CHAIN. */
      chain?: string | undefined
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
    }
    reply: OwnedNftPage
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'UNAVAILABLE'
  }
  /** Check whether the chains answer */
  'GET /onchain/health': {
    reply: OnchainHealth
    errors: never
  }
  /** Create an account and sign in */
  'POST /auth/register': {
    body: {
      email: string
      password: string
      name?: string | undefined
    }
    reply: Registration
    errors: 'REGISTRATION_CLOSED' | 'EMAIL_TAKEN'
    idempotent: true
  }
  /** Sign in with email and password */
  'POST /auth/login': {
    body: {
      email: string
      password: string
    }
    reply: Login
    errors: 'INVALID_CREDENTIALS' | 'ACCOUNT_LOCKED'
  }
  /** Retrieve the signed-in user */
  'GET /auth/me': {
    reply: Account
    errors: never
  }
  /** Update the name and metadata of the signed-in user */
  'PATCH /auth/me': {
    body: {
      name?: string | null | undefined
      metadata?: Record<string, unknown> | undefined
    }
    reply: Account
    errors: never
  }
  /** Delete the account of the signed-in user */
  'DELETE /auth/me': {
    body: {
      password?: string | undefined
    }
    reply: Confirmation
    errors: 'INVALID_CREDENTIALS' | 'ACCOUNT_LOCKED' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Sign out */
  'POST /auth/logout': {
    reply: Confirmation
    errors: never
  }
  /** Exchange a refresh token for a new pair of tokens */
  'POST /auth/refresh': {
    body: {
      refreshToken: string
    }
    reply: Tokens
    errors: 'UNAUTHORIZED'
  }
  /** List sessions, newest first */
  'GET /auth/sessions': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: SessionPage
    errors: never
  }
  /** Revoke a session */
  'DELETE /auth/sessions/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Change the password and revoke all other sessions */
  'POST /auth/change-password': {
    body: {
      currentPassword: string
      newPassword: string
    }
    reply: Confirmation
    errors: 'INVALID_CREDENTIALS' | 'ACCOUNT_LOCKED'
  }
  /** Send an email with a link to reset the password */
  'POST /auth/forgot-password': {
    body: {
      email: string
    }
    reply: Confirmation
    errors: 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Reset the password with the token of an email, and revoke all sessions */
  'POST /auth/reset-password': {
    body: {
      /** From the link in the email. */
      token: string
      password: string
    }
    reply: Confirmation
    errors: 'INVALID_TOKEN'
  }
  /** Start the sign-in at an OpenID Connect issuer */
  'GET /auth/idpa': {
    query: {
      /** A path on `APP_URL` where the frontend goes on. */
      redirect?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Finish the sign-in at an OpenID Connect issuer */
  'GET /auth/idpa/callback': {
    query: {
      code?: string | undefined
      state?: string | undefined
      iss?: string | undefined
      error?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Start the sign-in at an OAuth 2 provider */
  'GET /auth/idpb': {
    query: {
      /** A path on `APP_URL` where the frontend goes on. */
      redirect?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Finish the sign-in at an OAuth 2 provider */
  'GET /auth/idpb/callback': {
    query: {
      code?: string | undefined
      state?: string | undefined
      iss?: string | undefined
      error?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Send an email with a link to sign in */
  'POST /auth/magic-link': {
    body: {
      email: string
    }
    reply: Confirmation
    errors: 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Sign in with the token of an email */
  'POST /auth/verify-magic-link': {
    body: {
      /** From the link in the email. */
      token: string
    }
    reply: MagicLinkLogin
    errors: 'INVALID_TOKEN' | 'INVALID_CREDENTIALS' | 'REGISTRATION_CLOSED'
  }
  /** Verify an email address with the token of an email */
  'POST /auth/verify-email': {
    body: {
      /** From the link in the email. */
      token: string
    }
    reply: Confirmation
    errors: 'INVALID_TOKEN'
  }
  /** Send the email to verify the address again */
  'POST /auth/resend-verification': {
    reply: Confirmation
    errors: 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Check whether users can sign in, and how */
  'GET /auth/health': {
    reply: AuthHealth
    errors: never
  }
  /** List the public keys of access tokens */
  'GET /.well-known/jwks.json': {
    reply: PublicKeySet
    errors: never
  }
  /** Create a checkout session */
  'POST /pay/cardpay/checkout': {
    body: {
      /** All in one currency. */
      items: {
        /** What the buyer sees. */
        name: string
        /** In minor units of the currency: 1099 is 10.99 EUR. */
        amount: number
        /** ISO 4217, in any case. */
        currency: string
        quantity?: number | undefined
      }[]
      /** Where the buyer goes after paying. Stripe puts the id of the session in the place of {CHECKOUT_SESSION_ID}. An absolute http or https URL. */
      successUrl: string
      /** Where the buyer goes after cancelling. An absolute http or https URL. */
      cancelUrl: string
      /** A reference of your own, such as the number of an order; several payments may have the same. */
      merchantReference?: string | undefined
      /** Texts of your own, by names of at most 40 characters; they are not sent to the provider. */
      metadata?: Record<string, string> | undefined
      /** The buyer’s, which the provider gets. */
      email?: string | undefined
      /** The user to whom it belongs. Service keys only; default: who calls. */
      userId?: string | undefined
      /** Until when it can be paid, like 2026-01-31T13:00:00Z: in 30 minutes to 24 hours. */
      expiresAt?: string | undefined
    }
    reply: Checkout
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'FORBIDDEN'
    idempotent: true
  }
  /** Refund a card payment */
  'POST /pay/cardpay/refund': {
    body: {
      /** The _id of the transaction. */
      transactionId: string
      /** In minor units. */
      amount?: number | undefined
      /** That of the payment; another one is refused. */
      currency?: string | undefined
      /** Why. duplicate, fraudulent, requested_by_customer are Stripe’s words, and count there; anything else is metadata of the refund. */
      reason?: string | undefined
    }
    reply: Refund
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'INVALID_STATE' | 'AMOUNT_EXCEEDED'
    idempotent: true
  }
  /** Receive an event of the card provider */
  'POST /pay/cardpay/webhook': {
    body: Blob | Uint8Array<ArrayBuffer>
    reply: Received
    errors: 'INVALID_SIGNATURE' | 'PROVIDER_NOT_CONFIGURED' | 'UNAVAILABLE'
  }
  /** Create a wallet order */
  'POST /pay/walletpay/order': {
    body: {
      /** A decimal number in major units. */
      amount: number
      /** ISO 4217, in any case. */
      currency: string
      /** What the buyer sees. */
      description?: string | undefined
      /** Where the buyer goes after approving. An absolute http or https URL. */
      returnUrl: string
      /** Where the buyer goes after cancelling. An absolute http or https URL. */
      cancelUrl: string
      /** A reference of your own, such as the number of an order; several payments may have the same. */
      merchantReference?: string | undefined
      /** Texts of your own, by names of at most 40 characters; they are not sent to the provider. */
      metadata?: Record<string, string> | undefined
      /** The buyer’s, which the provider gets. */
      email?: string | undefined
      /** The user to whom it belongs. Service keys only; default: who calls. */
      userId?: string | undefined
      /** Until when it can be paid, like 2026-01-31T13:00:00Z: in 1 minute to 72 hours. */
      expiresAt?: string | undefined
    }
    reply: WalletOrder
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'FORBIDDEN'
    idempotent: true
  }
  /** Capture an approved order */
  'POST /pay/walletpay/capture/:orderId': {
    reply: Capture
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'INVALID_STATE' | 'PAYMENT_DECLINED'
    idempotent: true
  }
  /** Refund a wallet payment */
  'POST /pay/walletpay/refund': {
    body: {
      /** The _id of the transaction. */
      transactionId: string
      /** A decimal number in major units. */
      amount?: number | undefined
      /** That of the payment; another one is refused. */
      currency?: string | undefined
      /** Why. The buyer sees it at PayPal, except duplicate, fraudulent, requested_by_customer. */
      reason?: string | undefined
    }
    reply: Refund
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'INVALID_STATE' | 'AMOUNT_EXCEEDED'
    idempotent: true
  }
  /** Receive an event of the wallet provider */
  'POST /pay/walletpay/webhook': {
    body: Blob | Uint8Array<ArrayBuffer>
    reply: Received
    errors: 'INVALID_SIGNATURE' | 'PROVIDER_NOT_CONFIGURED' | 'UNAVAILABLE'
  }
  /** Create a payment request */
  'POST /pay/onchain/payment': {
    body: {
      /** A decimal in major units, with at most as many places as the token has. */
      amount: string
      /** The symbol of the native coin, or of a token that the chain is configured with. */
      token: string
      chain: string
      /** A reference of your own, such as the number of an order; several payments may have the same. */
      merchantReference?: string | undefined
      /** Texts of your own, by names of at most 40 characters; they are not sent to the provider. */
      metadata?: Record<string, string> | undefined
      /** The buyer’s, which the provider gets. */
      email?: string | undefined
      /** The user to whom it belongs. Service keys only; default: who calls. */
      userId?: string | undefined
      /** Until when it can be paid, like 2026-01-31T13:00:00Z: in 1 minute to 30 days. */
      expiresAt?: string | undefined
    }
    reply: PaymentRequest
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'FORBIDDEN' | 'UNAVAILABLE'
    idempotent: true
  }
  /** Get a payment request */
  'GET /pay/onchain/payment/:id': {
    reply: PaymentRequestDetails
    errors: 'NOT_FOUND' | 'PROVIDER_NOT_CONFIGURED'
  }
  /** List transactions */
  'GET /pay/transactions': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      provider?: 'cardpay' | 'walletpay' | 'onchain' | undefined
      status?: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost' | undefined
      /** The id of a checkout session, order or payment request. */
      reference?: string | undefined
      /** A reference of your own, such as the number of an order; several payments may have the same. */
      merchantReference?: string | undefined
      /** The buyer’s, in any case. */
      email?: string | undefined
      /** To whom it belongs. */
      userId?: string | undefined
      /** Created at this time or later. */
      from?: string | undefined
      /** Created before this time. */
      to?: string | undefined
    }
    reply: TransactionPage
    errors: never
  }
  /** Export transactions as CSV */
  'GET /pay/transactions.csv': {
    query: {
      provider?: 'cardpay' | 'walletpay' | 'onchain' | undefined
      status?: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost' | undefined
      /** The id of a checkout session, order or payment request. */
      reference?: string | undefined
      /** A reference of your own, such as the number of an order; several payments may have the same. */
      merchantReference?: string | undefined
      /** The buyer’s, in any case. */
      email?: string | undefined
      /** To whom it belongs. */
      userId?: string | undefined
      /** Created at this time or later. */
      from?: string | undefined
      /** Created before this time. */
      to?: string | undefined
    }
    reply: Blob
    errors: never
  }
  /** Get a transaction */
  'GET /pay/transactions/:id': {
    reply: TransactionDetails
    errors: 'NOT_FOUND'
  }
  /** Cancel a payment that is not paid */
  'POST /pay/transactions/:id/cancel': {
    reply: TransactionDetails
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'INVALID_STATE'
    idempotent: true
  }
  /** Check whether payments can be made */
  'GET /pay/health': {
    reply: PayHealth
    errors: never
  }
  /** Upload a file */
  'POST /store/upload': {
    body: FormData
    reply: StoredFile
    errors: 'QUOTA_EXCEEDED' | 'UNAVAILABLE'
    idempotent: true
  }
  /** List files */
  'GET /store/files': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** A leading minus sorts in descending order. */
      sort?: 'createdAt' | '-createdAt' | 'originalName' | '-originalName' | 'contentType' | '-contentType' | 'size' | '-size' | undefined
      /** A media type, or all of a kind: image/*. */
      contentType?: string | undefined
      /** The whole original name. */
      name?: string | undefined
    }
    reply: StoredFilePage
    errors: never
  }
  /** Get the record of a file */
  'GET /store/files/:id': {
    reply: StoredFile
    errors: 'NOT_FOUND'
  }
  /** Delete a file */
  'DELETE /store/files/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** Get the bytes of a file */
  'GET /store/files/:id/content': {
    query: {
      /** The token of a link. */
      token?: string | undefined
      /** With any value, also none: an attachment, whatever the type. */
      download?: string | undefined
      /** Resizes an image to at most this width in pixels; it is never enlarged. */
      width?: number | undefined
      /** Resizes an image to at most this height in pixels; it is never enlarged. */
      height?: number | undefined
      /** With width and height: inside (the default) keeps the whole image and its proportions, cover crops what exceeds them, contain adds borders. */
      fit?: 'cover' | 'contain' | 'inside' | undefined
    }
    reply: Blob
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'RANGE_NOT_SATISFIABLE' | 'IMAGE_TOO_LARGE' | 'IMAGE_UNREADABLE'
  }
  /** Create a link to a file */
  'POST /store/files/:id/link': {
    body: {
      /** Seconds, up to 7 days. */
      expiresIn?: number | undefined
    }
    reply: FileLink
    errors: 'NOT_FOUND'
  }
  /** List collections */
  'GET /store/collections': {
    query: {
      limit?: number | undefined
      /** The nextCursor of the previous page. */
      cursor?: string | undefined
      /** Whether the bytes of the documents are added up, which reads all of them. */
      sizes?: boolean | undefined
    }
    reply: CollectionPage
    errors: never
  }
  /** Delete all documents of a collection */
  'DELETE /store/:collection': {
    query: {
      /** How many documents the collection has: 409 with the number if it is another one. */
      documents: number
    }
    reply: Confirmation
    errors: 'CONFLICT'
  }
  /** Follow changes of documents */
  'GET /store/changes': {
    query: {
      collection?: string | undefined
      /** As in lists. */
      filter?: string | undefined
      /** Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered. */
      fields?: string | undefined
      /** Several watches in place of collection, filter and fields, as JSON: up to 20 like {"collection":"books","filter":{},"fields":"title"}. */
      watch?: string | undefined
      /** The id of the last event, or the last cursor. */
      cursor?: string | undefined
    }
    reply: Changes
    errors: never
  }
  /** Create a document, or several */
  'POST /store/:collection': {
    body: {
      /** Set by the server; ignored here. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: DocumentsCreated
    errors: 'PAYLOAD_TOO_LARGE'
    idempotent: true
  }
  /** List documents */
  'GET /store/:collection': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** How many documents to skip. */
      offset?: number | undefined
      /** Fields joined by commas; dotted paths are allowed, a leading minus sorts in descending order. Or as in MongoDB: {"year":-1,"title":1}. Default: the newest first; of a search, $score: the best first. */
      sort?: string | undefined
      /** A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex and $elemMatch; dotted paths are allowed. */
      filter?: string | undefined
      /** Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise. */
      search?: string | undefined
      /** The nextCursor of the previous page, sent with the same filter, search and sort. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered. */
      fields?: string | undefined
      /** Relations joined by commas, such as author,lines.product, whose documents are answered as `$expanded`, up to three levels deep, as the caller may see them. */
      expand?: string | undefined
    }
    reply: DocumentPage
    errors: never
  }
  /** Explain how a list is read */
  'GET /store/:collection/explain': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** How many documents to skip. */
      offset?: number | undefined
      /** Fields joined by commas; dotted paths are allowed, a leading minus sorts in descending order. Or as in MongoDB: {"year":-1,"title":1}. Default: the newest first; of a search, $score: the best first. */
      sort?: string | undefined
      /** A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex and $elemMatch; dotted paths are allowed. */
      filter?: string | undefined
      /** Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise. */
      search?: string | undefined
      /** The nextCursor of the previous page, sent with the same filter, search and sort. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: Explanation
    errors: never
  }
  /** Get a document */
  'GET /store/:collection/:id': {
    query: {
      /** Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered. */
      fields?: string | undefined
      /** Relations joined by commas, such as author,lines.product, whose documents are answered as `$expanded`, up to three levels deep, as the caller may see them. */
      expand?: string | undefined
    }
    reply: AnsweredDocument
    errors: 'NOT_FOUND'
  }
  /** Update a document */
  'PUT /store/:collection/:id': {
    body: {
      /** Set by the server; ignored here. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: Document
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE'
  }
  /** Patch a document */
  'PATCH /store/:collection/:id': {
    body: {
      /** Set by the server; ignored here. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: Document
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE'
  }
  /** Delete a document */
  'DELETE /store/:collection/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED'
  }
  /** Create a backup */
  'POST /store/backup': {
    reply: Backup
    errors: 'CONFLICT' | 'INTERNAL_ERROR' | 'UNAVAILABLE'
    idempotent: true
  }
  /** List backups */
  'GET /store/backups': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: BackupPage
    errors: never
  }
  /** Get a backup */
  'GET /store/backups/:id': {
    reply: Backup
    errors: 'NOT_FOUND'
  }
  /** Download the archive of a backup */
  'GET /store/backups/:id/archive': {
    reply: Blob
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PRECONDITION_FAILED' | 'RANGE_NOT_SATISFIABLE' | 'UNAVAILABLE'
  }
  /** Delete a backup */
  'DELETE /store/backups/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** Restore a backup */
  'POST /store/backup/:id/restore': {
    reply: Restored
    errors: 'NOT_FOUND' | 'CONFLICT' | 'BACKUP_DAMAGED' | 'UNAVAILABLE'
  }
  /** Check whether documents and files can be stored */
  'GET /store/health': {
    reply: StoreHealth
    errors: never
  }
}
