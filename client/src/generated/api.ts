// The routes of the server, for createClient<Api>(url) of sixwire/client.
// Written by `sixwire types`: run it again when the routes change.

type Health = {
  status: 'healthy' | 'unhealthy'
  /** Seconds since the start. */
  uptime: number
  database: 'connected' | 'disconnected'
  /** Milliseconds that the database took to answer; null if it did not. */
  latencyMs: number | null
  /** Whether the database takes writes: `damaged` if a part of it could not be read, `unknown` if it does not answer. */
  storage: 'writable' | 'full' | 'read-only' | 'damaged' | 'unknown'
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

type Overview = {
  name: string
  version: string
  /** Sixwire's version. */
  platform: string
  production: boolean
  policy: 'open' | 'guarded'
  /** ISO 8601, UTC. */
  at: string
  health: {
    status: 'healthy' | 'unhealthy'
    /** Seconds since the start. */
    uptime: number
    database: 'connected' | 'disconnected'
    /** Milliseconds that the database took to answer; null if it did not. */
    latencyMs: number | null
    /** Whether the database takes writes: `damaged` if a part of it could not be read, `unknown` if it does not answer. */
    storage: 'writable' | 'full' | 'read-only' | 'damaged' | 'unknown'
    wires: Record<string, 'ready' | 'error'>
  }
  /** The last 24 hours of all replicas, oldest first; the last has not ended. */
  requests?: {
    /** When it begins. */
    at: string
    requests: number
    /** Of the requests: with a status of 4xx. */
    refusals: number
    /** Of the requests: with a status of 5xx. */
    failures: number
    meanMs: number
  }[]
  jobs?: {
    kind: string
    /** Those that run are ready, too. */
    state: 'ready' | 'running' | 'waiting' | 'failed'
    count: number
  }[]
  openFaults?: number
  figures: {
    wire: string
    name: string
    title: string
    kind: 'count' | 'bytes' | 'time' | 'text'
    /** A value above 0, or of a time none, needs attention. */
    isWarning?: boolean
    value: number | string | null
  }[]
  /** What sixwire doctor finds, faults first. */
  findings: {
    /** The check of sixwire doctor. */
    check: string
    severity: 'warning' | 'fault'
    problem: string
    remedy: string
    /** A call that mends it. */
    mend?: {
      /** The words of its button. */
      label: string
      /** Method and path. */
      call: string
      body?: Record<string, unknown>
      /** What is asked before. */
      asks?: string
      /** What is said when it is done. */
      done: string
    }
    /** The place of the console where it is mended or looked at. */
    opens?: {
      title: string
      at: string
    }
  }[]
}

type SeriesPage = {
  range: '24h' | '7d' | '30d' | '90d'
  /** When each hour or day begins, in the time zone; the last one has not ended. */
  slots: string[]
  /** ISO 8601, UTC. */
  from: string
  /** ISO 8601, UTC. */
  until: string
  series: Series[]
}

type Series = {
  wire: string
  name: string
  title: string
  /** money: smallest units of the currency that the part names. */
  unit: 'count' | 'bytes' | 'money' | 'blocks'
  /** sum: what happened. level: what there was. */
  kind: 'sum' | 'level'
  /** The screen of the console with the records. */
  opens?: string
  parts: {
    /** Such as a status or a currency; of a series without parts it is empty. */
    part: string
    /** Of money: the decimal places of the currency. */
    exponent?: number
    /** A whole number for each slot, as decimal text; of a level null before its first sample. */
    values: (string | null)[]
    /** Of the range. Of a level: the current value. */
    total: string
    /** Of a level: its value then, or null if no sample is so old. */
    before: string | null
  }[]
}

type SettingsInForce = {
  settings: {
    option: string
    variable: string | null
    /** Masked if it may be a secret. */
    value: unknown
    /** default, environment, .env, the name of a file, sandbox … */
    source: string
  }[]
}

type SettingsOfConsole = {
  /** The newest version; 0: nothing was ever set here. */
  version: number
  /** Whether this server works with the newest version already. */
  inForce: boolean
  /** Why it does not. */
  fault?: string
  /** false: SIXWIRE_SETTINGS is off. */
  canChange: boolean
  options: SettableOption[]
  /** The last 20, the newest first. */
  versions: SettingsVersion[]
}

type SettableOption = {
  option: string
  /** What is set together. */
  group: string
  /** list: of texts. webhook: an object of url, secret and events; its option is webhooks. and its name. */
  kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'list' | 'webhook'
  choices?: string[]
  minimum?: number
  maximum?: number
  description?: string
  variable: string | null
  /** What sets it, so that it cannot be set here: a variable, or the configuration file. */
  lockedBy?: string
  /** Its value is never answered. */
  isSecret: boolean
  /** In force; null: nothing. Masked if it may hold a secret. */
  value: unknown
  /** console: it is set here; else as in GET /core/config. */
  source: string
}

type SettingsVersion = {
  version: number
  /** The options that it changed. */
  changed: string[]
  /** ISO 8601, UTC. */
  createdAt: string
  /** The _id of the account or service key. */
  createdBy: string
}

type SettingsChanged = {
  /** The newest version. */
  version: number
  /** Whether this server works with it already; with the sandbox that takes a moment. */
  inForce: boolean
}

type ScreenList = {
  screens: Screen[]
}

type Screen = {
  wire: string
  name: string
  title: string
  list: string
  /** The field of the answer that has the records. */
  rows: string
  /** The field that identifies a record. */
  key: string
  isPaged: boolean
  filters: {
    name: string
    in: 'path' | 'query' | 'body'
    title: string
    kind: 'text' | 'number' | 'boolean' | 'time' | 'email' | 'choice' | 'json'
    isRequired: boolean
    description?: string
    options?: string[]
    minimum?: number
    maximum?: number
    maxLength?: number
    default?: unknown
  }[]
  columns: {
    field: string
    title: string
    kind: 'text' | 'number' | 'boolean' | 'time' | 'email' | 'choice' | 'json'
  }[]
  detail?: {
    route: string
    from: Record<string, string>
  }
  actions: {
    route: string
    title: string
    danger: 'none' | 'confirm' | 'proof'
    isOfRecord: boolean
    from: Record<string, string>
    fields: {
      name: string
      in: 'path' | 'query' | 'body'
      title: string
      kind: 'text' | 'number' | 'boolean' | 'time' | 'email' | 'choice' | 'json'
      isRequired: boolean
      description?: string
      options?: string[]
      minimum?: number
      maximum?: number
      maxLength?: number
      default?: unknown
    }[]
    isIdempotent: boolean
  }[]
}

type RequestLogPage = {
  entries: RequestLogEntry[]
  limit: number
  /** Absent on the last page. */
  nextCursor?: string
  /** Requests and problems of the hours from since to until which were counted, and not written. */
  omitted: number
  keeps?: {
    days: number
    rows: number
    /** Successful requests that one server writes in a second. */
    perSecond: number
    slowMs: number
  }
}

type RequestLogEntry = {
  _id: string
  /** problem: a warning or an error of the server’s log. */
  kind: 'request' | 'problem'
  /** ISO 8601, UTC. */
  at: string
  /** The process that wrote it, another one at each start. */
  process: string
  requestId?: string
  method?: string
  /** Absent if no route has the path. */
  route?: string
  /** Without its query. */
  path?: string
  /** 499: the client disconnected before it was answered. */
  status?: number
  ms?: number
  caller?: {
    kind: 'user' | 'key'
    id: string
  }
  ip?: string
  /** The code of the error that was answered. */
  code?: string
  level?: 'warn' | 'error' | 'fatal'
  message?: string
  /** What was logged with it. */
  fields?: Record<string, unknown>
  /** The _id of its fault. */
  fault?: string
}

type FaultPage = {
  faults: Fault[]
  limit: number
  /** Absent on the last page. */
  nextCursor?: string
}

type Fault = {
  _id: string
  name: string
  /** Of the last occurrence, as are place, stack and lastRequestId. */
  message: string
  /** The first line outside of packages and of Node. */
  place?: string
  stack?: string
  count: number
  /** A resolved one that happens again is open. */
  state: 'open' | 'resolved'
  /** ISO 8601, UTC. */
  firstAt: string
  /** ISO 8601, UTC. */
  lastAt: string
  lastRequestId?: string
  lastProcess: string
  /** ISO 8601, UTC. */
  resolvedAt?: string
  /** The id of a user or a service key. */
  resolvedBy?: string
}

type SlowRoutes = {
  routes: RouteTime[]
}

type RouteTime = {
  method: string
  route: string
  requests: number
  /** Of the requests: with a status of 5xx. */
  failures: number
  meanMs: number
  maxMs: number
}

type JobPage = {
  jobs: Job[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type Job = {
  _id: string
  kind: string
  /** ready: it runs when it is due; waiting: an earlier job of its lane is not done; failed: for good, until it is retried or discarded. */
  state: 'ready' | 'running' | 'waiting' | 'failed'
  /** Jobs of a kind and lane run one after the other. */
  lane?: string
  attempts: number
  /** After so many it fails for good. Absent: it is tried until it succeeds. */
  attemptsMax?: number
  /** Why the last attempt failed. */
  error?: string
  /** When it is due. Of a job that is ready or waiting. */
  runAt?: string
  /** Since when it runs. */
  startedAt?: string
  /** When it failed for good. */
  failedAt?: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** Whether it has failed and a wire of this server does it. */
  canRetry: boolean
  /** Whether it may be deleted now. */
  canDiscard: boolean
}

type JobCounts = {
  counts: {
    kind: string
    state: 'ready' | 'running' | 'waiting' | 'failed'
    count: number
  }[]
}

type JobsRetried = {
  count: number
}

type JobWithPayload = {
  _id: string
  kind: string
  /** ready: it runs when it is due; waiting: an earlier job of its lane is not done; failed: for good, until it is retried or discarded. */
  state: 'ready' | 'running' | 'waiting' | 'failed'
  /** Jobs of a kind and lane run one after the other. */
  lane?: string
  attempts: number
  /** After so many it fails for good. Absent: it is tried until it succeeds. */
  attemptsMax?: number
  /** Why the last attempt failed. */
  error?: string
  /** When it is due. Of a job that is ready or waiting. */
  runAt?: string
  /** Since when it runs. */
  startedAt?: string
  /** When it failed for good. */
  failedAt?: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** Whether it has failed and a wire of this server does it. */
  canRetry: boolean
  /** Whether it may be deleted now. */
  canDiscard: boolean
  /** What it works on. Service keys get it with the scope * only. */
  payload?: unknown
}

type JobDiscarded = {
  message: string
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
  /** Absent with `total=none`. */
  total?: number
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
  /** Absent with `total=none`. */
  total?: number
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

type MessageGroups = {
  data: MessageGroup[]
  /** Whether there are more groups than the limit. */
  more: boolean
}

type MessageGroup = {
  by: {
    status?: 'queued' | 'sending' | 'sent' | 'failed' | 'delivered' | 'bounced'
    channel?: 'email' | 'sms' | 'whatsapp'
    template?: string | null
    provider?: string | null
    owner?: string | null
    createdAt?: string | null
  }
  /** How many messages the group has. */
  count: number
  sum?: {
    attempts?: number
  }
  average?: {
    attempts?: number | null
  }
  min?: {
    createdAt?: string | null
    attempts?: number | null
  }
  max?: {
    createdAt?: string | null
    attempts?: number | null
  }
  distinct?: {
    status?: number
    channel?: number
    template?: number
    provider?: number
    owner?: number
  }
}

type Message = {
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
  /** The user who sent it. Absent: the server itself. */
  owner?: string
  /** How often a provider was called. */
  attempts: number
  updatedAt: string
  /** Calls of providers and their reports, oldest first. */
  history: MessageEvent[]
  /** Whether its content is still stored, encrypted. */
  hasContent: boolean
  canResend: boolean
}

type MessageEvent = {
  at: string
  event: 'called' | 'sent' | 'retry' | 'unknown' | 'failed' | 'delivered' | 'bounced' | 'resent'
  provider?: string
  /** What the provider said. */
  text?: string
}

type MessageContent = {
  subject?: string
  html?: string
  text?: string
  attachments: MessageAttachment[]
  /** The path of a page with the HTML, for 15 minutes, for a frame with the attribute sandbox. */
  page?: string
}

type MessageAttachment = {
  filename: string
  contentType: string
  /** In bytes. */
  size: number
}

type MessageTemplateList = {
  templates: MessageTemplate[]
  /** The default language. */
  language: string
}

type MessageTemplate = {
  name: string
  channel: 'email' | 'sms'
  /** Of the text in the default language. console: an administrator wrote it; application: it is a file. */
  source: 'built-in' | 'application' | 'console'
  /** Whether that text is the built-in one. */
  isBuiltIn: boolean
  /** Those that it has texts in, the default one first. */
  languages: string[]
  /** As it is written. */
  subject?: string
  /** What it shows, beside app and appUrl, which every template has. */
  values: TemplateValue[]
  /** Values to try it with. */
  sample: Record<string, unknown>
  /** What is wrong with its files. */
  error?: string
}

type TemplateValue = {
  name: string
  isRequired: boolean
}

type MessageTemplateTexts = {
  name: string
  channel: 'email' | 'sms'
  /** Of the text in the default language. console: an administrator wrote it; application: it is a file. */
  source: 'built-in' | 'application' | 'console'
  /** Whether that text is the built-in one. */
  isBuiltIn: boolean
  /** Those that it has texts in, the default one first. */
  languages: string[]
  /** As it is written. */
  subject?: string
  /** What it shows, beside app and appUrl, which every template has. */
  values: TemplateValue[]
  /** Values to try it with. */
  sample: Record<string, unknown>
  /** What is wrong with its files. */
  error?: string
  /** As they are written, by languages. Administrators write one as the options messaging.texts.NAME.LANGUAGE.subject, .html and .text of PATCH /core/settings. */
  texts: TemplateText[]
}

type TemplateText = {
  language: string
  source: 'built-in' | 'application' | 'console'
  /** Of the application, which has this text: it is changed there. */
  file?: string
  /** Of a mail. */
  subject?: string
  /** Of a mail, as a template. */
  html?: string
  /** Of a text message; of a mail instead of that made from its HTML. */
  text?: string
  /** What is wrong with the file. */
  error?: string
}

type RenderedTemplate = {
  subject?: string
  html?: string
  text: string
  /** The path of a page with the HTML, for 15 minutes, for a frame with the attribute sandbox. Absent for texts, and if the values are too long for an address. */
  page?: string
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
  /** The user whose it is; for operators. */
  owner?: string
}

type WalletPage = {
  wallets: Wallet[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type WalletBalances = {
  balances: WalletBalance[]
}

type WalletBalance = {
  chain: string
  symbol: string
  /** The contract of a token. Absent: the native coin. */
  token?: string
  /** Decimal. Absent if the chain gives no answer. */
  balance?: string
  /** Why there is no balance. */
  error?: string
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
  /** The user who sent it; in lists, for operators. */
  owner?: string
}

type OnchainTransactionPage = {
  transactions: OnchainTransaction[]
  /** Absent with `total=none`. */
  total?: number
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
  /** Absent with `total=none`. */
  total?: number
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
  /** Why nothing can be sent. */
  reason?: string
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
  role: 'user' | 'viewer' | 'admin'
  /** The number for codes by SMS, in E.164. Absent if the user has none. */
  phone?: string
}

type Confirmation = {
  message: string
}

type AccountDeletion = {
  /** What is erased with the account, or soon after. */
  erased: {
    table: string
    /** What the records are. */
    about: string
    /** How many there are now. */
    count: number
  }[]
  /** What stays, without an address or a name. */
  kept: {
    table: string
    /** What the records are. */
    about: string
    /** How many there are now. */
    count: number
    /** Why they stay. */
    reason: string
  }[]
}

type PersonalExport = {
  state: 'ready'
  /** ISO 8601, UTC. */
  createdAt: string
  /** Of the archive, in bytes. */
  size: number
  /** Opens the archive without a token, until `expiresAt`. */
  url: string
  /** ISO 8601, UTC. */
  expiresAt: string
  /** When the archive is deleted. */
  deletedAt: string
}

type RunningPersonalExport = {
  state: 'running'
  /** ISO 8601, UTC. */
  createdAt: string
}

type Tokens = {
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type SessionPage = {
  sessions: Session[]
  /** Absent with `total=none`. */
  total?: number
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

type PasskeyOptions = {
  /** For navigator.credentials.get, by PublicKeyCredential.parseRequestOptionsFromJSON. */
  options: PasskeyRequestOptions
}

/** For navigator.credentials.get, by PublicKeyCredential.parseRequestOptionsFromJSON. */
type PasskeyRequestOptions = {
  challenge: string
  rpId: string
  /** In milliseconds. */
  timeout: number
  userVerification: 'required' | 'preferred' | 'discouraged'
  /** The passkeys of the account; absent for a sign-in without an address. */
  allowCredentials?: PasskeyDescriptor[]
}

type PasskeyDescriptor = {
  id: string
  type: 'public-key'
  transports: string[]
}

type PasskeySignIn = {
  user: PasskeyUser
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type PasskeyUser = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
}

type PasskeyRegistrationOptions = {
  /** For navigator.credentials.create, by PublicKeyCredential.parseCreationOptionsFromJSON. */
  options: PasskeyCreationOptions
}

/** For navigator.credentials.create, by PublicKeyCredential.parseCreationOptionsFromJSON. */
type PasskeyCreationOptions = {
  challenge: string
  rp: {
    id: string
    name: string
  }
  user: {
    id: string
    name: string
    displayName: string
  }
  pubKeyCredParams: {
    type: 'public-key'
    alg: number
  }[]
  /** In milliseconds. */
  timeout: number
  attestation: 'none'
  excludeCredentials: PasskeyDescriptor[]
  authenticatorSelection: {
    residentKey: 'required'
    requireResidentKey: boolean
    userVerification: 'required' | 'preferred' | 'discouraged'
  }
  extensions: {
    credProps: boolean
  }
}

type CreatedPasskey = {
  passkey: Passkey
  recoveryCodes?: string[]
}

type Passkey = {
  _id: string
  name: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** Absent if it was not used since. */
  lastUsedAt?: string
  /** Whether its authenticator keeps a backup, such as in the account of a phone. */
  synced: boolean
}

type Passkeys = {
  passkeys: Passkey[]
}

type RenamedPasskey = {
  passkey: Passkey
}

type TotpOffer = {
  /** In base 32, to be typed into an app that cannot scan. */
  secret: string
  /** In the Key Uri Format of authenticator apps: otpauth://totp/… */
  uri: string
  qr: {
    /** The URI as a QR code of half blocks, for a dark terminal. */
    text: string
    /** The URI as a QR code, black on white. */
    svg: string
  }
}

type FactorConfirmation = {
  message: string
  /** Ten codes, each for one use. They are shown only now. */
  recoveryCodes?: string[]
}

type RecoveryCodes = {
  /** Ten codes, each for one use. They are shown only now. */
  recoveryCodes: string[]
}

type IdentityProviders = {
  providers: {
    name: string
    /** Its name for people. */
    label: string
    /** Where the browser starts. */
    url: string
  }[]
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

type CodeLogin = {
  user: MagicLinkUser
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type VerifiedPhone = {
  phone: string
}

type SecondFactorLogin = {
  user: SecondFactorUser
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
  /** If `trustDevice` was sent: proves this device in place of a factor for 30 days. */
  deviceToken?: string
}

type SecondFactorUser = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
}

type Factors = {
  /** How many there are. */
  passkeys: number
  /** Whether there is an authenticator app. */
  totp: boolean
  /** How many are not used. */
  recoveryCodes: number
  /** Whether the server requires a passkey or an authenticator app. */
  required: boolean
  /** If one is required and missing: when the account can do nothing but add one. */
  dueAt?: string
}

type TrustedDevices = {
  devices: TrustedDevice[]
}

type TrustedDevice = {
  _id: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** ISO 8601, UTC. */
  lastUsedAt: string
  /** ISO 8601, UTC. */
  expiresAt: string
  ip: string
  userAgent: string
}

type FirstAdmin = {
  user: User
  /** The access token, a JWT: sent as "Authorization: Bearer <token>". */
  token: string
  /** Single-use; exchange it for a new pair at POST /auth/refresh. */
  refreshToken: string
}

type UserPage = {
  users: UserSummary[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type UserSummary = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
  /** `viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`. */
  role: 'user' | 'viewer' | 'admin'
  emailVerified: boolean
  disabled: boolean
  /** Whether the address accepts no password now. */
  locked: boolean
  /** ISO 8601, UTC. */
  createdAt: string
  /** ISO 8601, UTC. */
  lastSignInAt?: string
}

type UserDetailsReply = {
  user: UserDetails
}

type UserDetails = {
  _id: string
  email: string
  /** Absent if the user has none. */
  name?: string
  /** `viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`. */
  role: 'user' | 'viewer' | 'admin'
  emailVerified: boolean
  disabled: boolean
  /** Whether the address accepts no password now. */
  locked: boolean
  /** ISO 8601, UTC. */
  createdAt: string
  /** ISO 8601, UTC. */
  lastSignInAt?: string
  metadata: Record<string, unknown>
  /** In E.164. */
  phone?: string
  hasPassword: boolean
  factors: {
    passkeys: number
    totp: boolean
    /** How many are unused. */
    recoveryCodes: number
  }
  /** At identity providers. */
  identities: {
    issuer: string
    subject: string
    /** ISO 8601, UTC. */
    createdAt: string
  }[]
  /** How many have not expired. */
  sessions: number
}

type UserImportReport = {
  /** How many accounts are created. */
  created: number
  /** How many lines have the _id of an account: it stays as it is. */
  unchanged: number
  /** How many lines were refused, each for itself. */
  refused: number
  /** Why lines were refused, in their order: all, or the first 10000. */
  errors: RefusedLine[]
}

type RefusedLine = {
  line: number
  /** Absent if it could not be read. */
  _id?: string
  code: string
  message: string
}

type UserGroups = {
  data: UserGroup[]
  /** Whether there are more groups than the limit. */
  more: boolean
}

type UserGroup = {
  by: {
    role?: 'user' | 'viewer' | 'admin'
    emailVerified?: boolean
    disabled?: boolean
    issuer?: string | null
    createdAt?: string | null
    lastSignInAt?: string | null
  }
  /** How many users the group has. */
  count: number
  min?: {
    createdAt?: string | null
    lastSignInAt?: string | null
  }
  max?: {
    createdAt?: string | null
    lastSignInAt?: string | null
  }
  distinct?: {
    role?: number
    issuer?: number
  }
}

type UserTimeline = {
  entries: TimelineEntry[]
  /** Absent on the last page. */
  nextCursor?: string
}

type TimelineEntry = {
  /** Which part of a wire has it; wires of your own may have others. */
  part: string
  /** ISO 8601, UTC. */
  at: string
  text: string
  /** A subject, a reason, the text of a note. */
  detail?: string
  /** What became of it. */
  state?: string
  /** The id of who did it, if that is another one. */
  by?: string
  /** The screen of the console with the record. */
  opens?: string
}

type StaffNotePage = {
  notes: StaffNote[]
  limit: number
  /** Absent on the last page. */
  nextCursor?: string
}

type StaffNote = {
  _id: string
  text: string
  /** The id of the account or service key that wrote it. */
  author?: string
  /** ISO 8601, UTC. */
  createdAt: string
}

type Impersonation = {
  /** An access token, with the administrator in the claim `act` (RFC 8693). */
  token: string
  user: {
    _id: string
    email: string
  }
  sessionId: string
  readOnly: boolean
  /** ISO 8601, UTC. */
  expiresAt: string
}

type ServiceKeyPage = {
  keys: ServiceKey[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type ServiceKey = {
  _id: string
  name: string
  scopes: string[]
  /** ISO 8601, UTC. */
  createdAt: string
  /** To the minute. Absent if it was never used. */
  lastUsedAt?: string
  /** ISO 8601, UTC. */
  revokedAt?: string
}

type CreatedKey = {
  _id: string
  name: string
  scopes: string[]
  /** Sent as "Authorization: Bearer sk_…". */
  key: string
}

type AuditPage = {
  entries: AuditEntry[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type AuditEntry = {
  _id: string
  /** ISO 8601, UTC. */
  createdAt: string
  action: string
  outcome: 'done' | 'denied'
  /** Kind and id. */
  target?: string
  /** The address of a user or the name of a key, as it is now. */
  targetName?: string
  actor: {
    /** command: the command line; system: the server itself; stranger: not signed in. */
    kind: 'user' | 'key' | 'command' | 'system' | 'stranger'
    id?: string
    /** The address of the user or the name of the key, as it is now. */
    name?: string
    role?: 'user' | 'viewer' | 'admin'
  }
  /** The administrator who acted as the user. */
  impersonatorId?: string
  sessionId?: string
  ip?: string
  userAgent?: string
  requestId?: string
  route?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
  reason?: string
}

type ConsoleState = {
  /** Of the installation. */
  name: string
  /** Made of the colour of the application, by day and by night. */
  colors?: {
    accent: string[]
    fill: string[]
    tint: string[]
  }
  production: boolean
  /** Whether the next account that registers becomes the administrator. */
  firstRun: boolean
  policy: 'open' | 'guarded'
  wires: string[]
  /** Whether a wire declares a screen of its own. */
  hasScreens: boolean
  /** Whether stand-ins take the place of providers. */
  sandbox: boolean
}

type ConsoleSession = {
  /** The access token, for 10 minutes. */
  token: string
  user: {
    _id: string
    email: string
    role: 'viewer' | 'admin'
  }
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

type PaymentRequestPage = {
  requests: PaymentRequestItem[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type PaymentRequestItem = {
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
  /** To whom it belongs. */
  userId: string
  /** Decimal places of the token. */
  exponent: number
}

type UnexpectedPayment = {
  chain: string
  /** The symbol if the token is configured, else its contract. */
  token: string
  /** In the smallest unit of that token. */
  amount: string
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

type TransactionPage = {
  transactions: Transaction[]
  /** Absent with `total=none`. */
  total?: number
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

type TransactionGroups = {
  data: TransactionGroup[]
  /** Whether there are more groups than the limit. */
  more: boolean
}

type TransactionGroup = {
  by: {
    status?: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost'
    currency?: string | null
    provider?: 'cardpay' | 'walletpay' | 'onchain'
    userId?: string | null
    email?: string | null
    createdAt?: string | null
  }
  /** How many transactions the group has. */
  count: number
  sum?: {
    /** A decimal in major units. */
    amount?: string
    /** A decimal in major units. */
    capturedAmount?: string
    /** A decimal in major units. */
    refundedAmount?: string
    /** A decimal in major units. */
    disputedAmount?: string
    /** A decimal in major units. */
    lostAmount?: string
  }
  average?: {
    amount?: string | null
    capturedAmount?: string | null
    refundedAmount?: string | null
    disputedAmount?: string | null
    lostAmount?: string | null
  }
  min?: {
    createdAt?: string | null
    amount?: string | null
    capturedAmount?: string | null
    refundedAmount?: string | null
    disputedAmount?: string | null
    lostAmount?: string | null
  }
  max?: {
    createdAt?: string | null
    amount?: string | null
    capturedAmount?: string | null
    refundedAmount?: string | null
    disputedAmount?: string | null
    lostAmount?: string | null
  }
  distinct?: {
    status?: number
    currency?: number
    provider?: number
    userId?: number
    email?: number
  }
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
  /** What the request asked for; the description of a wallet order is one item. */
  items?: TransactionItem[]
  /** Who paid, as the provider told with the money. For operators; erased with the account. */
  buyer?: Buyer
  /** The provider’s id of the payment. */
  paymentId?: string
  /** Decimal places of the currency at this provider. */
  exponent: number
  /** What can still be refunded: the exact decimal in major units. */
  displayRefundable: string
  refunds: TransactionRefund[]
  dispute?: TransactionDispute
  /** Each change of status, oldest first. */
  history: TransactionChange[]
}

type TransactionItem = {
  name: string
  quantity: number
  /** Of one of them, in the unit of the transaction’s amount. */
  amount: number
  displayAmount: string
}

/** Who paid, as the provider told with the money. For operators; erased with the account. */
type Buyer = {
  name?: string
  email?: string
  phone?: string
  address?: PostalAddress
  /** Where the goods go, if the payment asked for it. */
  shipping?: {
    name?: string
    address?: PostalAddress
  }
}

type PostalAddress = {
  line1?: string
  line2?: string
  postalCode?: string
  city?: string
  state?: string
  /** ISO 3166-1 alpha-2. */
  country?: string
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

type TransactionTimeline = {
  entries: TransactionTimelineEntry[]
}

type TransactionTimelineEntry = {
  /** When it happened, or was seen here; of a receipt the time of its block. */
  at: string
  /** status: the status changed; call: this server called the provider; object: something was seen at the provider; event: the provider sent an event; receipt: tokens or coin arrived. */
  kind: 'status' | 'call' | 'object' | 'event' | 'receipt'
  /** Of kind status: the new status. */
  status?: string
  /** Of kind status: the request, event or reconciliation. */
  cause?: string
  /** create, capture or refund. */
  call?: string
  /** The idempotency key at the provider. */
  callId?: string
  /** session, charge, refund, dispute or reversal. */
  object?: string
  /** The provider’s id of the object. */
  objectId?: string
  /** Of a call, an object or an event. */
  state?: string
  /** The exact decimal in major units; in the smallest unit if currency is not that of the transaction. */
  amount?: string
  currency?: string
  /** Why it was refused, failed or is unknown. */
  reason?: string
  /** Why the payment is refunded. */
  refundReason?: string
  /** When the provider created the object. */
  createdAt?: string
  /** Of an event, for GET /pay/events/:id. */
  id?: string
  provider?: string
  /** The provider’s id of an event. */
  eventId?: string
  /** Of an event, in the provider’s word. */
  type?: string
  chain?: string
  block?: number
  /** Absent: a contract sent coin. */
  hash?: string
  /** Of a receipt, in the smallest unit. */
  units?: string
  /** Of the token; absent: the native coin. */
  contract?: string
}

type PaymentSummary = {
  from: string
  to: string
  sums: PaymentSums[]
  /** By the currency of the payout, which may be another one than that of the payment. */
  fees: PaymentFeeSums[]
  /** false: there are more than 100000 payments, and the newest of them are summed. */
  isComplete: boolean
}

type PaymentSums = {
  provider: 'cardpay' | 'walletpay' | 'onchain'
  currency: string
  /** Decimal places of the currency at this provider. */
  exponent: number
  /** With by=status. */
  status?: 'pending' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'partially_refunded' | 'refunded' | 'disputed' | 'lost'
  /** With by=day: of the creation, in UTC. */
  day?: string
  payments: number
  /** What was asked for. In the smallest unit. */
  amount: string
  /** What was paid. In the smallest unit. */
  captured: string
  /** What completed refunds gave back. In the smallest unit. */
  refunded: string
  /** What open disputes concern. In the smallest unit. */
  disputed: string
  /** What disputes and reversals took. In the smallest unit. */
  lost: string
}

type PaymentFeeSums = {
  currency: string
  exponent: number
  /** Those of which the provider has told the fee. */
  payments: number
  /** What the provider took. In the smallest unit. */
  fee: string
  /** What it left, before refunds. In the smallest unit. */
  net: string
}

type PaymentProviderEventPage = {
  events: PaymentProviderEvent[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type PaymentProviderEvent = {
  _id: string
  provider: 'cardpay' | 'walletpay'
  /** The provider’s id. */
  eventId: string
  /** The provider’s word. */
  type: string
  /** pending until it is handled; done; ignored if it is of a kind that is not used, or about nothing of this server; failed. */
  state: 'pending' | 'done' | 'ignored' | 'failed'
  /** Why it is ignored or failed. */
  reason?: string
  /** The transaction that it is about. */
  transactionId?: string
  /** How often it was handled. */
  attempts: number
  /** ISO 8601, UTC, with milliseconds. */
  receivedAt: string
  /** When it is handled next; absent: not again. */
  nextAttemptAt?: string
}

type PaymentProviderEventDetails = {
  _id: string
  provider: 'cardpay' | 'walletpay'
  /** The provider’s id. */
  eventId: string
  /** The provider’s word. */
  type: string
  /** pending until it is handled; done; ignored if it is of a kind that is not used, or about nothing of this server; failed. */
  state: 'pending' | 'done' | 'ignored' | 'failed'
  /** Why it is ignored or failed. */
  reason?: string
  /** The transaction that it is about. */
  transactionId?: string
  /** How often it was handled. */
  attempts: number
  /** ISO 8601, UTC, with milliseconds. */
  receivedAt: string
  /** When it is handled next; absent: not again. */
  nextAttemptAt?: string
  /** The ids by which the payment is found; absent for a kind that is not used. */
  subject?: Record<string, unknown>
  /** What the provider sent, without what may be personal or secret, which is ***. Absent if the event was read from the provider’s list, or is large. */
  payload?: Record<string, unknown>
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
  /** The id of the user, or of the service key, that uploaded it. For administrators and service keys. */
  owner?: string
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
  /** public: everybody who knows its public address may read it. A new file is private by default. */
  access: 'private' | 'public'
  /** Why its bytes are not served: they are checked still, or were refused. Absent: they are. */
  status?: 'pending' | 'refused'
  /** Why it is refused. */
  refusal?: string
  /** Of an image that can be resized, soon after its upload. */
  image?: ImageSummary
  /** Any fields, as a JSON object of at most 64 KiB. */
  metadata: FileMetadata
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
}

/** Of an image that can be resized, soon after its upload. */
type ImageSummary = {
  /** In pixels, upright. */
  width: number
  /** In pixels, upright. */
  height: number
  /** A blurred preview: a ThumbHash, in Base64. */
  preview: string
}

/** Any fields, as a JSON object of at most 64 KiB. */
type FileMetadata = Record<string, unknown>

type CreatedUploadLink = {
  _id: string
  /** Takes one file without a token of a caller. */
  url: string
  expiresAt: string
}

type ReceivedFile = {
  _id: string
  /** The name as uploaded, without folders. */
  originalName: string
  /** The media type that the bytes show. */
  contentType: string
  /** In bytes. */
  size: number
  /** The SHA-256 of the bytes, in hex. */
  sha256: string
  createdAt: string
}

type UploadLink = {
  _id: string
  /** Who made it: its file belongs to them. */
  owner: string
  /** Media types, such as image/png; image/* means all images. The server finds the type of a file in its bytes. */
  types?: string[]
  maxBytes: number
  /** public: everybody who knows its public address may read it. A new file is private by default. */
  access: 'private' | 'public'
  /** Any fields, as a JSON object of at most 64 KiB. */
  metadata: FileMetadata
  /** The _id of the file that was uploaded by it; null until then. */
  file: string | null
  createdAt: string
  expiresAt: string
}

type UploadState = {
  _id: string
  /** How many bytes are stored: the next request continues there. */
  offset: number
  /** How many bytes the file has. */
  size: number
  /** When it is deleted if no more bytes arrive. */
  expiresAt: string
  /** The _id of the file, once all bytes have arrived. */
  file?: string
  /** Of a direct upload: the first hundred parts that the bucket does not have. */
  parts?: {
    number: number
    /** Where it begins in the file. */
    start: number
    size: number
    /** Presigned for an hour; takes its bytes by PUT. */
    url: string
  }[]
}

type StoredFiles = {
  /** In the order of the parts. */
  files: StoredFile[]
}

type StoredFilePage = {
  files: StoredFile[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type FileBulkResult = {
  dryRun: boolean
  files: number
  /** Without resized images. */
  bytes: number
}

type FileUsage = {
  files: number
  /** Without resized images. */
  bytes: number
  owners: {
    owner: string
    files: number
    /** Without resized images. */
    bytes: number
  }[]
}

type FileUseList = {
  uses: {
    collection: string
    field: string
    /** Of the document. */
    _id: string
  }[]
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
  /** Whether it is defined, in the configuration or by a call; if not, the policy decides. */
  declared: boolean
  /** Where it is defined: `stored` by `PUT /store/collections/:name`. */
  source: 'configuration' | 'stored' | 'none'
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
  /** Whether clients may send the _id of a document that they create. */
  ids: 'server' | 'client'
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
  /** Fields that hold the _id of files. */
  files: Record<string, {
    /** Absent: all media types. */
    types?: string[]
    /** Absent: as large as uploads may be. */
    maxBytes?: number
    /** How many files it takes; with 1 its value is no array. */
    max: number
    access: 'document' | 'public'
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

type CollectionDefinitions = {
  data: CollectionDefinition[]
}

type CollectionDefinition = {
  name: string
  /** Where it is defined: in the configuration, where alone it can be changed, by this route, or nowhere: then the policy decides. */
  source: 'configuration' | 'stored' | 'none'
  /** The file of the configuration that defines it. */
  file?: string
  /** As in store.collections of the configuration; null: the definition was removed. */
  definition: unknown
  /** The version in force, if it is stored. */
  version?: number
  newest?: DefinitionVersion
  change?: DocumentsChange
  /** Why it cannot be read, so that only administrators use the collection. */
  fault?: string
  report?: DefinitionReport
}

type DefinitionVersion = {
  /** From 1 on. */
  version: number
  /** Whether it is being checked, in force, was in force, or was refused. */
  state: 'pending' | 'active' | 'past' | 'refused'
  /** As in store.collections of the configuration; null: the definition was removed. */
  definition: unknown
  /** Changes of the documents that are there, before the definition is in force. First fields are renamed and dropped, then missing ones are set. */
  documents?: FieldMigration[]
  report?: DefinitionReport
  /** The _id of the account or service key. */
  createdBy: string
  createdAt: string
}

type FieldMigration = {
  rename: {
    /** A field of the document itself, not one inside of another. */
    from: string
    /** A field of the document itself, not one inside of another. */
    to: string
  }
} | {
  /** A field of the document itself, not one inside of another. */
  drop: string
} | {
  default: {
    /** A field of the document itself, not one inside of another. */
    field: string
    value: unknown
  }
}

type DefinitionReport = {
  /** Why it was refused. */
  reason?: string
  /** The collection at fault, if it is another one that was sent with it. */
  causedBy?: string
  /** How many documents were looked at. */
  documents?: number
  /** How many of them do not fit the schema. */
  unfit?: number
  /** The first ten of those, with their first faults. */
  examples?: {
    _id: string
    issues: {
      path: string
      message: string
    }[]
  }[]
  /** The fields that cannot become unique, and why. */
  duplicates?: DuplicateDocuments[]
  /** How many documents each of the changes that were sent as `documents` changes. */
  changed?: number[]
}

type DuplicateDocuments = {
  fields: string[]
  /** How many documents have values that another one has; counted up to 10,000. */
  documents: number
  /** Ten of them, each with one that has the same values. */
  examples: {
    _id: string
    sameAs: string
  }[]
  /** Why the fields of a document cannot be compared. */
  reason?: string
}

type DocumentsChange = {
  /** The version that comes into force with it. */
  version: number
  /** Whether documents are compared, being changed, or have been and the definition is about to come into force; whether one of them has stopped it, or it is taken back; or whether it is in force, and what was written until then is looked through. */
  state: 'waiting' | 'changing' | 'changed' | 'failed' | 'undoing' | 'settling'
  /** How many documents there were when it began. */
  documents: number
  /** How many of them it has done. */
  done: number
  /** Why it has failed: the document, and its fault. */
  reason?: string
}

type DefinitionVersions = {
  data: DefinitionVersion[]
}

type CanAnswer = {
  allowed: boolean
  /** The reason, in a sentence. */
  because: string
  /** The alternative of the rule that allows it, or the rule that does not hold; absent if no rule was asked. */
  rule?: unknown
  /** The step that refuses it, as `sixwire can` names them. */
  step?: string
  /** What the route answers. */
  status?: number
  code?: string
  /** What is wrong with the fields that were sent. */
  issues?: {
    path: string
    message: string
  }[]
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

type BatchResults = {
  /** In the order of the operations. */
  results: BatchResult[]
}

type BatchResult = {
  /** That of the single call: 201 if it has created a document. */
  status: number
  collection: string
  _id: string
  /** The document’s ETag then. Absent after delete. */
  etag?: string
  /** The document’s own fields and _id, createdAt and updatedAt. */
  document?: Document
}

/** The document’s own fields and _id, createdAt and updatedAt. */
type Document = {
  _id: string
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string
} & Record<string, unknown>

type DocumentsCreated = Document

type DocumentPage = {
  data: AnsweredDocument[]
  /** How many documents the filter finds, on all pages. Absent with total=none. */
  total?: number
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

type DocumentGroups = {
  data: DocumentGroup[]
  /** Whether there are more groups than the limit. */
  more: boolean
}

type DocumentGroup = {
  /** The values of the group, by field. A missing value is null. A time is the beginning of its hour, day, week or month. */
  by: Record<string, unknown>
  /** How many documents the group has. */
  count: number
  /** By field. */
  sum?: Record<string, number>
  /** By field; null if there is no number. */
  average?: Record<string, number | null>
  /** By field; null if there is no value. */
  min?: Record<string, unknown>
  /** By field; null if there is no value. */
  max?: Record<string, unknown>
  /** By field. */
  distinct?: Record<string, number>
}

type CollectionFields = {
  /** How many documents the collection has. */
  documents: number
  /** How many were read. */
  sample: number
  fields: FieldSample[]
}

type FieldSample = {
  /** Dotted; the elements of arrays have no part. */
  path: string
  /** How many documents have the field with each type of JSON. */
  types: Record<string, number>
  /** How many documents of the sample have the field. */
  documents: number
}

type BulkReport = {
  /** How many documents match, from the cursor on. */
  matched: number
  /** How many of them are changed or deleted. */
  changed: number
  /** How many were changed or deleted by others since they were counted; they stay as they are. */
  skipped: number
  /** How many were refused, each for itself. */
  failed: number
  /** How many are left: send this as expected, with nextCursor. */
  remaining: number
  /** Why documents were refused, of the first 20. */
  errors: {
    _id: string
    code: string
    message: string
  }[]
  /** Absent if none are left. */
  nextCursor?: string
}

type ImportReport = {
  /** How many documents are created. */
  created: number
  /** How many documents that were there are replaced. */
  replaced: number
  /** How many lines were skipped, because there is such a document. */
  skipped: number
  /** How many lines were refused, each for itself. */
  failed: number
  /** Why lines were refused, of the first 20. */
  errors: {
    line: number
    code: string
    message: string
  }[]
  /** Of CSV: what separates the cells, which the headings decide. */
  separator?: ',' | ';' | '\t'
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
  /** How far a running one is, in bytes of what it saves. Written every 5 seconds; absent before. */
  progress?: {
    done: number
    total: number
  }
  /** Why it failed. */
  error?: string
  /** The files that a safety backup does not hold, because their bytes are missing. */
  warning?: string
}

type BackupPage = {
  backups: Backup[]
  /** Absent with `total=none`. */
  total?: number
  limit: number
  offset: number
  /** Absent on the last page. */
  nextCursor?: string
}

type RestorePreview = {
  /** The moment that the archive holds. */
  createdAt: string
  /** The version of Sixwire that made it. */
  sixwire: string
  /** Documents. */
  documents: {
    /** Documents in the archive. */
    archived: number
    /** Documents that are stored now. */
    stored: number
  }
  /** Files. */
  files: {
    /** Files in the archive. */
    archived: number
    /** Files that are stored now. */
    stored: number
  }
  /** Bytes of files. */
  bytes: {
    /** Bytes of files in the archive. */
    archived: number
    /** Bytes of files that are stored now. */
    stored: number
  }
  /** Those of the archive and those that are stored, by name, with their documents. */
  collections: {
    name: string
    archived: number
    stored: number
  }[]
  /** The definitions of the archive, by the names of their collections. */
  definitions: {
    name: string
    /** Whether the collection has no definition here, so that the one of the archive comes into force, the same, or another one, which stays. */
    here: 'none' | 'same' | 'other'
  }[]
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
  /** Get the state of the installation */
  'GET /core/overview': {
    reply: Overview
    errors: never
  }
  /** Get what happened over time */
  'GET /core/series': {
    query: {
      /** By the hour for 24h, else by the day. The current hour or day is the last one. */
      range?: '24h' | '7d' | '30d' | '90d' | undefined
      /** The IANA name of the time zone in which days begin. Default: UTC. */
      timeZone?: string | undefined
      /** Only the series of this name. */
      name?: string | undefined
    }
    reply: SeriesPage
    errors: never
  }
  /** Get the settings that are in force */
  'GET /core/config': {
    reply: SettingsInForce
    errors: never
  }
  /** Get the settings that can be changed while the server runs */
  'GET /core/settings': {
    reply: SettingsOfConsole
    errors: never
  }
  /** Change settings while the server runs */
  'PATCH /core/settings': {
    query: {
      /** Whether they are stored even if a provider does not answer as it should. */
      force?: boolean | undefined
    }
    body: {
      /** The newest version, as it was read. */
      version: number
      /** By options; null: as if it had never been set. */
      values: Record<string, unknown>
    }
    reply: SettingsChanged
    errors: 'PRECONDITION_FAILED' | 'SETTINGS_REFUSED'
  }
  /** Go back to an earlier version of the settings */
  'POST /core/settings/versions/:version/restore': {
    query: {
      /** Whether they are stored even if a provider does not answer as it should. */
      force?: boolean | undefined
    }
    reply: SettingsChanged
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'SETTINGS_REFUSED'
  }
  /** List screens of the wires */
  'GET /core/screens': {
    reply: ScreenList
    errors: never
  }
  /** List requests and problems */
  'GET /core/logs': {
    query: {
      /** problem: a warning or an error of the server’s log. */
      kind?: 'request' | 'problem' | undefined
      /** A status, or a class of them. */
      status?: string | undefined
      method?: string | undefined
      route?: string | undefined
      /** The id or the email address of a user, or the id of a service key. */
      caller?: string | undefined
      requestId?: string | undefined
      /** The _id of a fault. */
      fault?: string | undefined
      since?: string | undefined
      /** Before this time. */
      until?: string | undefined
      /** false: without the requests of the console. Default: with them. */
      console?: boolean | undefined
      /** A part of the path, the error code or the message. */
      q?: string | undefined
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: RequestLogPage
    errors: never
  }
  /** Follow requests and problems */
  'GET /core/logs/stream': {
    query: {
      /** problem: a warning or an error of the server’s log. */
      kind?: 'request' | 'problem' | undefined
      /** A status, or a class of them. */
      status?: string | undefined
      method?: string | undefined
      route?: string | undefined
      /** The id or the email address of a user, or the id of a service key. */
      caller?: string | undefined
      requestId?: string | undefined
      /** The _id of a fault. */
      fault?: string | undefined
      since?: string | undefined
      /** Before this time. */
      until?: string | undefined
      /** false: without the requests of the console. Default: with them. */
      console?: boolean | undefined
      /** A part of the path, the error code or the message. */
      q?: string | undefined
      /** The _id of an entry. */
      after?: string | undefined
    }
    reply: string
    errors: 'TOO_MANY_STREAMS'
  }
  /** List faults */
  'GET /core/logs/faults': {
    query: {
      state?: 'open' | 'resolved' | undefined
      /** A part of the name, the message or the place. */
      q?: string | undefined
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: FaultPage
    errors: never
  }
  /** List slow routes */
  'GET /core/logs/routes': {
    query: {
      /** Default: all that is kept. */
      since?: string | undefined
    }
    reply: SlowRoutes
    errors: never
  }
  /** Resolve a fault */
  'POST /core/logs/faults/:id/resolve': {
    reply: Fault
    errors: 'NOT_FOUND'
  }
  /** List background jobs */
  'GET /core/jobs': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      kind?: string | undefined
      state?: 'ready' | 'running' | 'waiting' | 'failed' | undefined
      /** A part of the error, in any case. */
      error?: string | undefined
    }
    reply: JobPage
    errors: never
  }
  /** Count background jobs by kind and state */
  'GET /core/jobs/counts': {
    reply: JobCounts
    errors: never
  }
  /** Retry all failed jobs that match */
  'POST /core/jobs/retry': {
    body: {
      filter: {
        kind?: string | undefined
        /** A part of the error, in any case. */
        error?: string | undefined
      }
    }
    reply: JobsRetried
    errors: 'NOT_FOUND'
  }
  /** Get a background job with its payload */
  'GET /core/jobs/:id': {
    reply: JobWithPayload
    errors: 'NOT_FOUND'
  }
  /** Discard a job */
  'DELETE /core/jobs/:id': {
    reply: JobDiscarded
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** Retry a failed job */
  'POST /core/jobs/:id/retry': {
    reply: Job
    errors: 'NOT_FOUND' | 'CONFLICT'
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
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
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
      /** Of whom it is to. Without a text in it, that of the default language is sent. */
      language?: string | undefined
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
      /** At most 1600 UTF-16 code units: most emoji are two. */
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
      /** At most 1600 UTF-16 code units: most emoji are two. */
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
      /** Text within the recipient, the subject or the name of the template; or an id. */
      q?: string | undefined
      /** Created at this time or later. */
      since?: string | undefined
      /** Created before this time. */
      until?: string | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** The order; a leading minus sorts in descending order. Default: -createdAt, the newest first. */
      sort?: 'createdAt' | '-createdAt' | 'status' | '-status' | undefined
    }
    reply: LogEntryPage
    errors: never
  }
  /** Aggregate messages */
  'GET /messaging/logs/aggregate': {
    query: {
      /** Up to three fields, joined by commas, whose values make the groups; of status, channel, template, provider, owner, createdAt. Times are grouped by hour, day, week or month with a colon: createdAt:day. Default: one group of all messages. */
      by?: string | undefined
      /** The IANA name of the time zone in which hours, days, weeks and months begin. Default: UTC. */
      timeZone?: string | undefined
      /** The order of the groups: by their values, or by their count; a leading minus sorts in descending order. */
      sort?: 'by' | '-by' | 'count' | '-count' | undefined
      /** How many groups are answered at most. */
      limit?: number | undefined
      /** Adds up. Fields joined by commas, of attempts. */
      sum?: string | undefined
      /** The average; of amounts it is rounded to the smallest unit, halves up. Fields joined by commas, of attempts. */
      average?: string | undefined
      /** The smallest value. Fields joined by commas, of createdAt, attempts. */
      min?: string | undefined
      /** The largest value. Fields joined by commas, of createdAt, attempts. */
      max?: string | undefined
      /** The number of different values. Fields joined by commas, of status, channel, template, provider, owner. */
      distinct?: string | undefined
      channel?: 'email' | 'sms' | 'whatsapp' | undefined
      /** An address or number; recipients in cc and bcc match, too. */
      to?: string | undefined
      status?: 'queued' | 'sending' | 'sent' | 'failed' | 'delivered' | 'bounced' | undefined
      /** Text within the recipient, the subject or the name of the template; or an id. */
      q?: string | undefined
      /** Created at this time or later. */
      since?: string | undefined
      /** Created before this time. */
      until?: string | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
    }
    reply: MessageGroups
    errors: never
  }
  /** Get a message */
  'GET /messaging/logs/:id': {
    reply: Message
    errors: 'NOT_FOUND'
  }
  /** Get the content of a message */
  'GET /messaging/logs/:id/content': {
    reply: MessageContent
    errors: 'NOT_FOUND'
  }
  /** Send a failed message again */
  'POST /messaging/logs/:id/resend': {
    reply: Message
    errors: 'NOT_FOUND' | 'CONFLICT'
    idempotent: true
  }
  /** List templates */
  'GET /messaging/templates': {
    reply: MessageTemplateList
    errors: never
  }
  /** Get a template */
  'GET /messaging/templates/:name': {
    reply: MessageTemplateTexts
    errors: 'NOT_FOUND'
  }
  /** Preview a template */
  'POST /messaging/templates/:name/preview': {
    body: {
      /** Default: the sample of the template. */
      data?: Record<string, unknown> | undefined
      language?: string | undefined
      /** A text that is not saved, also of a template that does not exist yet. It is checked as a change is. */
      draft?: {
        /** Of a mail. */
        subject?: string | undefined
        /** Of a mail, as a template. */
        html?: string | undefined
        /** Of a text message; of a mail instead of that made from its HTML. */
        text?: string | undefined
      } | undefined
    }
    reply: RenderedTemplate
    errors: 'NOT_FOUND'
  }
  /** Show the HTML of a mail as a page */
  'GET /messaging/preview': {
    query: {
      /** From the field page of another answer. */
      token: string
      /** The colours of a mail that has both. Default: as the reader prefers. */
      scheme?: 'light' | 'dark' | undefined
    }
    reply: Blob
    errors: 'NOT_FOUND'
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
      /** Text within the name or the address; or an id. */
      q?: string | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** The order; a leading minus sorts in descending order. Default: -createdAt, the newest first. */
      sort?: 'createdAt' | '-createdAt' | undefined
    }
    reply: WalletPage
    errors: never
  }
  /** Get a wallet */
  'GET /onchain/wallets/:id': {
    reply: Wallet
    errors: 'NOT_FOUND'
  }
  /** Read the balances of a wallet */
  'GET /onchain/wallets/:id/balances': {
    reply: WalletBalances
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
    errors: 'NOT_FOUND' | 'PROVIDER_NOT_CONFIGURED' | 'INSUFFICIENT_FUNDS' | 'CONTRACT_REVERTED' | 'LIMIT_EXCEEDED' | 'UNSUPPORTED_CHAIN' | 'PROVIDER_ERROR'
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
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** The order; a leading minus sorts in descending order. Default: -createdAt, the newest first. */
      sort?: 'createdAt' | '-createdAt' | undefined
      walletId?: string | undefined
      /** Default: all chains. */
      chain?: string | undefined
      /** stuck: pending, and in no block for longer than onchain.stuckSeconds. */
      status?: 'pending' | 'stuck' | 'confirmed' | 'failed' | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
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
    errors: 'PROVIDER_NOT_CONFIGURED' | 'NOT_FOUND' | 'CONTRACT_REVERTED' | 'INSUFFICIENT_FUNDS' | 'LIMIT_EXCEEDED' | 'UNSUPPORTED_CHAIN' | 'PROVIDER_ERROR'
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
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'CONTRACT_REVERTED' | 'INSUFFICIENT_FUNDS' | 'LIMIT_EXCEEDED' | 'UNSUPPORTED_CHAIN'
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
    errors: 'PROVIDER_NOT_CONFIGURED' | 'PROVIDER_ERROR' | 'NOT_FOUND' | 'CONTRACT_REVERTED' | 'INSUFFICIENT_FUNDS' | 'LIMIT_EXCEEDED' | 'UNSUPPORTED_CHAIN'
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
    errors: 'INVALID_CREDENTIALS' | 'SECOND_FACTOR_REQUIRED' | 'ACCOUNT_LOCKED'
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
  /** Preview the deletion of the signed-in user */
  'GET /auth/me/deletion': {
    reply: AccountDeletion
    errors: never
  }
  /** Export the data of the signed-in user */
  'GET /auth/me/export': {
    reply: PersonalExport | RunningPersonalExport
    errors: 'UNAVAILABLE'
  }
  /** Download the archive of an export */
  'GET /auth/exports/:id': {
    query: {
      /** The token of the link. */
      token: string
    }
    reply: Blob
    errors: 'UNAUTHORIZED' | 'NOT_FOUND' | 'UNAVAILABLE'
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
    errors: 'UNAUTHORIZED' | 'SECOND_FACTOR_REQUIRED'
  }
  /** List sessions, newest first */
  'GET /auth/sessions': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
    }
    reply: SessionPage
    errors: never
  }
  /** Revoke a session */
  'DELETE /auth/sessions/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Revoke all other sessions */
  'DELETE /auth/sessions': {
    reply: Confirmation
    errors: never
  }
  /** Change the password and revoke all other sessions */
  'POST /auth/change-password': {
    body: {
      currentPassword: string
      newPassword: string
    }
    reply: Confirmation
    errors: 'INVALID_CREDENTIALS' | 'ACCOUNT_LOCKED' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Get the options of a sign-in with a passkey */
  'POST /auth/passkeys/sign-in-options': {
    body: object
    reply: PasskeyOptions
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Sign in with a passkey */
  'POST /auth/passkeys/sign-in': {
    body: {
      /** The answer of navigator.credentials.get, by its toJSON(). */
      passkey: {
        /** base64url. */
        id: string
        /** base64url. */
        rawId: string
        type: 'public-key'
        response: {
          /** base64url. */
          clientDataJSON: string
          /** base64url. */
          authenticatorData: string
          /** base64url. */
          signature: string
          /** base64url. */
          userHandle?: string | undefined
        }
        /** Ignored. */
        authenticatorAttachment?: unknown
        /** Ignored. */
        clientExtensionResults?: unknown
      }
    }
    reply: PasskeySignIn
    errors: 'PROVIDER_NOT_CONFIGURED' | 'INVALID_PASSKEY' | 'INVALID_CREDENTIALS' | 'SECOND_FACTOR_REQUIRED'
  }
  /** Get the options of a new passkey */
  'POST /auth/passkeys/options': {
    body: object
    reply: PasskeyRegistrationOptions
    errors: 'PROVIDER_NOT_CONFIGURED' | 'CONFLICT'
  }
  /** Add a passkey to the account */
  'POST /auth/passkeys': {
    body: {
      /** The answer of navigator.credentials.create, by its toJSON(). */
      passkey: {
        /** base64url. */
        id: string
        /** base64url. */
        rawId: string
        type: 'public-key'
        response: {
          /** base64url. */
          clientDataJSON: string
          /** base64url. */
          attestationObject: string
          transports?: string[] | undefined
        }
        /** Ignored. */
        authenticatorAttachment?: unknown
        /** Ignored. */
        clientExtensionResults?: unknown
      }
      name?: string | undefined
    }
    reply: CreatedPasskey
    errors: 'PROVIDER_NOT_CONFIGURED' | 'INVALID_PASSKEY' | 'CONFLICT'
  }
  /** List the passkeys of the account, oldest first */
  'GET /auth/passkeys': {
    reply: Passkeys
    errors: never
  }
  /** Rename a passkey */
  'PATCH /auth/passkeys/:id': {
    body: {
      name: string
    }
    reply: RenamedPasskey
    errors: 'NOT_FOUND'
  }
  /** Remove a passkey from the account */
  'DELETE /auth/passkeys/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** Create a secret for an authenticator app */
  'POST /auth/totp': {
    reply: TotpOffer
    errors: 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Add the authenticator app that has the secret */
  'POST /auth/totp/verify': {
    body: {
      /** Six digits. */
      code: string
    }
    reply: FactorConfirmation
    errors: 'INVALID_CODE' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Remove the authenticator app */
  'DELETE /auth/totp': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Replace the recovery codes */
  'POST /auth/recovery-codes': {
    reply: RecoveryCodes
    errors: 'CONFLICT' | 'RECENT_SIGN_IN_REQUIRED'
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
      /** Returns to the page at `/console` instead of `APP_URL`. */
      page?: 'console' | undefined
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
      user?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Start the sign-in at an OAuth 2 provider */
  'GET /auth/idpb': {
    query: {
      /** A path on `APP_URL` where the frontend goes on. */
      redirect?: string | undefined
      /** Returns to the page at `/console` instead of `APP_URL`. */
      page?: 'console' | undefined
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
      user?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** List the identity providers */
  'GET /auth/providers': {
    reply: IdentityProviders
    errors: never
  }
  /** Start the sign-in at an identity provider */
  'GET /auth/providers/:name': {
    query: {
      /** A path on `APP_URL` where the frontend goes on. */
      redirect?: string | undefined
      /** Returns to the page at `/console` instead of `APP_URL`. */
      page?: 'console' | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Finish the sign-in at an identity provider */
  'GET /auth/providers/:name/callback': {
    query: {
      code?: string | undefined
      state?: string | undefined
      iss?: string | undefined
      error?: string | undefined
      user?: string | undefined
    }
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Receive the form of an identity provider */
  'POST /auth/providers/:name/callback': {
    body: URLSearchParams
    reply: never
    errors: 'PROVIDER_NOT_CONFIGURED'
  }
  /** Send an email with a link and a code to sign in */
  'POST /auth/magic-link': {
    body: {
      email: string
      /** A random text that the browser keeps, such as `crypto.randomUUID()`: what was requested with it is used in the same browser. */
      browser?: string | undefined
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
      /** A random text that the browser keeps, such as `crypto.randomUUID()`: what was requested with it is used in the same browser. */
      browser?: string | undefined
      /** The user has said that they requested this link in another browser. */
      confirmed?: true | undefined
    }
    reply: MagicLinkLogin
    errors: 'INVALID_TOKEN' | 'INVALID_CREDENTIALS' | 'SECOND_FACTOR_REQUIRED' | 'REGISTRATION_CLOSED' | 'OTHER_BROWSER'
  }
  /** Send an SMS with a code to sign in */
  'POST /auth/sms-code': {
    body: {
      /** In E.164. */
      phone: string
      /** A random text that the browser keeps, such as `crypto.randomUUID()`: what was requested with it is used in the same browser. */
      browser?: string | undefined
    }
    reply: Confirmation
    errors: 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Sign in with the code of an email or an SMS */
  'POST /auth/verify-code': {
    body: {
      email?: string | undefined
      /** In E.164. */
      phone?: string | undefined
      /** Six digits, of any script, also with a space or hyphen between them. */
      code: string
      /** A random text that the browser keeps, such as `crypto.randomUUID()`: what was requested with it is used in the same browser. */
      browser?: string | undefined
    }
    reply: CodeLogin
    errors: 'INVALID_CODE' | 'INVALID_CREDENTIALS' | 'SECOND_FACTOR_REQUIRED' | 'REGISTRATION_CLOSED' | 'ACCOUNT_LOCKED'
  }
  /** Send an SMS with a code to a number that the account is to have */
  'POST /auth/phone': {
    body: {
      /** In E.164. */
      phone: string
    }
    reply: Confirmation
    errors: 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Prove a phone number with the code of the SMS */
  'POST /auth/phone/verify': {
    body: {
      /** Six digits, of any script, also with a space or hyphen between them. */
      code: string
    }
    reply: VerifiedPhone
    errors: 'INVALID_CODE' | 'ACCOUNT_LOCKED' | 'CONFLICT'
  }
  /** Remove the phone number of the account */
  'DELETE /auth/phone': {
    reply: Confirmation
    errors: 'NOT_FOUND'
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
  /** Send an email to a new address, with a link that changes the address of the account */
  'POST /auth/change-email': {
    body: {
      email: string
    }
    reply: Confirmation
    errors: 'PROVIDER_NOT_CONFIGURED'
    idempotent: true
  }
  /** Change the address of an account with the token of an email */
  'POST /auth/verify-email-change': {
    body: {
      /** From the link in the email. */
      token: string
    }
    reply: Confirmation
    errors: 'INVALID_TOKEN' | 'EMAIL_TAKEN' | 'UNAUTHORIZED'
  }
  /** Undo a change of address with the token of the email to the old address */
  'POST /auth/undo-email-change': {
    body: {
      /** From the link in the email. */
      token: string
    }
    reply: Confirmation
    errors: 'INVALID_TOKEN'
  }
  /** Finish a sign-in with a second factor */
  'POST /auth/second-factor': {
    body: {
      /** From `details` of the error SECOND_FACTOR_REQUIRED. */
      challenge: string
      /** Six digits of an authenticator app. */
      code?: string | undefined
      /** One of the ten recovery codes. */
      recoveryCode?: string | undefined
      /** The answer of navigator.credentials.get, by its toJSON(). */
      passkey?: {
        /** base64url. */
        id: string
        /** base64url. */
        rawId: string
        type: 'public-key'
        response: {
          /** base64url. */
          clientDataJSON: string
          /** base64url. */
          authenticatorData: string
          /** base64url. */
          signature: string
          /** base64url. */
          userHandle?: string | undefined
        }
        /** Ignored. */
        authenticatorAttachment?: unknown
        /** Ignored. */
        clientExtensionResults?: unknown
      } | undefined
      /** From a sign-in with `trustDevice` within 30 days. */
      deviceToken?: string | undefined
      /** Whether to trust this device for 30 days. */
      trustDevice?: boolean | undefined
    }
    reply: SecondFactorLogin
    errors: 'INVALID_CHALLENGE' | 'INVALID_CODE' | 'INVALID_PASSKEY' | 'INVALID_CREDENTIALS' | 'ACCOUNT_LOCKED'
  }
  /** Get the options of a passkey that finishes a sign-in */
  'POST /auth/second-factor/passkey-options': {
    body: {
      /** From `details` of the error SECOND_FACTOR_REQUIRED. */
      challenge: string
    }
    reply: PasskeyOptions
    errors: 'INVALID_CHALLENGE'
  }
  /** Prove again who you are, before a sensitive call */
  'POST /auth/confirm': {
    body: {
      password?: string | undefined
      /** Six digits of an authenticator app. */
      code?: string | undefined
      /** One of the ten recovery codes. */
      recoveryCode?: string | undefined
      /** The answer of navigator.credentials.get, by its toJSON(). */
      passkey?: {
        /** base64url. */
        id: string
        /** base64url. */
        rawId: string
        type: 'public-key'
        response: {
          /** base64url. */
          clientDataJSON: string
          /** base64url. */
          authenticatorData: string
          /** base64url. */
          signature: string
          /** base64url. */
          userHandle?: string | undefined
        }
        /** Ignored. */
        authenticatorAttachment?: unknown
        /** Ignored. */
        clientExtensionResults?: unknown
      } | undefined
    }
    reply: Confirmation
    errors: 'INVALID_CREDENTIALS' | 'INVALID_CODE' | 'INVALID_PASSKEY' | 'ACCOUNT_LOCKED'
  }
  /** Get the options of a passkey that confirms who you are */
  'POST /auth/confirm/passkey-options': {
    reply: PasskeyOptions
    errors: never
  }
  /** Retrieve which second factors the account has */
  'GET /auth/factors': {
    reply: Factors
    errors: never
  }
  /** List the devices that need no second factor, newest first */
  'GET /auth/devices': {
    reply: TrustedDevices
    errors: never
  }
  /** End the trust in a device */
  'DELETE /auth/devices/:id': {
    reply: Confirmation
    errors: never
  }
  /** Create the first administrator and sign in */
  'POST /auth/first-admin': {
    body: {
      token: string
      email: string
      password: string
      name?: string | undefined
    }
    reply: FirstAdmin
    errors: 'INVALID_TOKEN' | 'EMAIL_TAKEN'
  }
  /** List users */
  'GET /auth/users': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** The order; a leading minus sorts in descending order. Default: -createdAt, the newest first. */
      sort?: 'createdAt' | '-createdAt' | 'lastSignInAt' | '-lastSignInAt' | 'email' | '-email' | 'name' | '-name' | undefined
      /** A part of the address or the name. Case does not matter. */
      q?: string | undefined
      /** `viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`. */
      role?: 'user' | 'viewer' | 'admin' | undefined
      state?: 'active' | 'disabled' | 'unverified' | 'locked' | undefined
      /** The _ids of up to 100 users, separated by commas; those of no user are left out. */
      ids?: string | undefined
      /** Created at this time or later. */
      since?: string | undefined
      /** Created before this time. */
      until?: string | undefined
      /** Signed in, or stayed signed in, at this time or later, to the hour; of 181 days. */
      activeSince?: string | undefined
      /** The same, before this time. */
      activeUntil?: string | undefined
    }
    reply: UserPage
    errors: never
  }
  /** Create a user */
  'POST /auth/users': {
    body: {
      email: string
      name?: string | undefined
      password?: string | undefined
      /** `viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`. */
      role?: 'user' | 'viewer' | 'admin' | undefined
      verified?: boolean | undefined
    }
    reply: UserDetailsReply
    errors: 'EMAIL_TAKEN' | 'PROVIDER_NOT_CONFIGURED' | 'RECENT_SIGN_IN_REQUIRED'
    idempotent: true
  }
  /** Import users with the hashes of their passwords */
  'POST /auth/users/import': {
    query: {
      /** Whether the lines are only checked: each against the accounts, not against other lines. */
      dryRun?: boolean | undefined
    }
    body: FormData
    reply: UserImportReport
    errors: 'UNAVAILABLE'
  }
  /** Aggregate users */
  'GET /auth/users/aggregate': {
    query: {
      /** Up to three fields, joined by commas, whose values make the groups; of role, emailVerified, disabled, issuer, createdAt, lastSignInAt. Times are grouped by hour, day, week or month with a colon: createdAt:day. Default: one group of all users. */
      by?: string | undefined
      /** The IANA name of the time zone in which hours, days, weeks and months begin. Default: UTC. */
      timeZone?: string | undefined
      /** The order of the groups: by their values, or by their count; a leading minus sorts in descending order. */
      sort?: 'by' | '-by' | 'count' | '-count' | undefined
      /** How many groups are answered at most. */
      limit?: number | undefined
      /** The smallest value. Fields joined by commas, of createdAt, lastSignInAt. */
      min?: string | undefined
      /** The largest value. Fields joined by commas, of createdAt, lastSignInAt. */
      max?: string | undefined
      /** The number of different values. Fields joined by commas, of role, issuer. */
      distinct?: string | undefined
      /** A part of the address or the name. Case does not matter. */
      q?: string | undefined
      /** `viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`. */
      role?: 'user' | 'viewer' | 'admin' | undefined
      state?: 'active' | 'disabled' | 'unverified' | 'locked' | undefined
      /** The _ids of up to 100 users, separated by commas; those of no user are left out. */
      ids?: string | undefined
      /** Created at this time or later. */
      since?: string | undefined
      /** Created before this time. */
      until?: string | undefined
      /** Signed in, or stayed signed in, at this time or later, to the hour; of 181 days. */
      activeSince?: string | undefined
      /** The same, before this time. */
      activeUntil?: string | undefined
    }
    reply: UserGroups
    errors: never
  }
  /** Get a user */
  'GET /auth/users/:id': {
    reply: UserDetailsReply
    errors: 'NOT_FOUND'
  }
  /** Update a user */
  'PATCH /auth/users/:id': {
    body: {
      email?: string | undefined
      name?: string | null | undefined
      metadata?: Record<string, unknown> | undefined
      /** `viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`. */
      role?: 'user' | 'viewer' | 'admin' | undefined
      disabled?: boolean | undefined
    }
    reply: UserDetailsReply
    errors: 'NOT_FOUND' | 'CONFLICT' | 'EMAIL_TAKEN' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Delete a user */
  'DELETE /auth/users/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** Preview the deletion of a user */
  'GET /auth/users/:id/deletion': {
    reply: AccountDeletion
    errors: 'NOT_FOUND'
  }
  /** Export the data of a user */
  'GET /auth/users/:id/export': {
    reply: PersonalExport | RunningPersonalExport
    errors: 'NOT_FOUND' | 'UNAVAILABLE'
  }
  /** Get the timeline of a user */
  'GET /auth/users/:id/timeline': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: UserTimeline
    errors: 'NOT_FOUND'
  }
  /** List the notes about a user, newest first */
  'GET /auth/users/:id/notes': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: StaffNotePage
    errors: 'NOT_FOUND'
  }
  /** Create a note about a user */
  'POST /auth/users/:id/notes': {
    body: {
      /** What the staff should know of this user. */
      text: string
    }
    reply: StaffNote
    errors: 'NOT_FOUND'
    idempotent: true
  }
  /** Delete a note about a user */
  'DELETE /auth/users/:id/notes/:noteId': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** Unlock a user */
  'POST /auth/users/:id/unlock': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** Send a user a link to reset the password */
  'POST /auth/users/:id/reset': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PROVIDER_NOT_CONFIGURED'
  }
  /** Invite a user again */
  'POST /auth/users/:id/invite': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PROVIDER_NOT_CONFIGURED'
  }
  /** Mark the address of a user as verified */
  'POST /auth/users/:id/verify': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'RECENT_SIGN_IN_REQUIRED'
  }
  /** Act as a user */
  'POST /auth/users/:id/impersonate': {
    body: {
      /** For the audit log. */
      reason: string
      readOnly?: boolean | undefined
    }
    reply: Impersonation
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** List the sessions of a user, newest first */
  'GET /auth/users/:id/sessions': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
    }
    reply: SessionPage
    errors: 'NOT_FOUND'
  }
  /** Revoke all sessions of a user */
  'DELETE /auth/users/:id/sessions': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** Revoke a session of a user */
  'DELETE /auth/users/:id/sessions/:sid': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** List service keys, newest first */
  'GET /auth/keys': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
    }
    reply: ServiceKeyPage
    errors: never
  }
  /** Create a service key */
  'POST /auth/keys': {
    body: {
      name: string
      /** `*`, the name of a wire, that with `:read` for what changes nothing, or a scope of routes such as `pay:refund`. */
      scopes: string[]
    }
    reply: CreatedKey
    errors: never
  }
  /** Revoke a service key */
  'DELETE /auth/keys/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** Remove all second factors of an account */
  'DELETE /auth/users/:id/factors': {
    reply: Confirmation
    errors: never
  }
  /** List the audit log */
  'GET /auth/audit': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** The order; a leading minus sorts in descending order. Default: -createdAt, the newest first. */
      sort?: 'createdAt' | '-createdAt' | undefined
      /** An action, or all of a noun. */
      action?: string | undefined
      /** The id of a user or a service key, the email address of a user, or one of user, key, command, system, stranger. */
      actor?: string | undefined
      target?: string | undefined
      /** At this time or later. */
      since?: string | undefined
      /** Before this time. */
      until?: string | undefined
    }
    reply: AuditPage
    errors: never
  }
  /** Get the state of the console before a sign-in */
  'GET /console/state': {
    reply: ConsoleState
    errors: never
  }
  /** Open or continue a session of the console */
  'POST /console/session': {
    body: {
      refreshToken?: string | undefined
    }
    reply: ConsoleSession
    errors: 'UNAUTHORIZED' | 'FORBIDDEN' | 'NOT_FOUND' | 'RECENT_SIGN_IN_REQUIRED' | 'SECOND_FACTOR_REQUIRED'
  }
  /** End the session of the console */
  'DELETE /console/session': {
    reply: Confirmation
    errors: 'FORBIDDEN' | 'NOT_FOUND'
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
      /** The provider asks the buyer where the goods go, in one of these countries (ISO 3166-1 alpha-2). */
      shippingCountries?: string[] | undefined
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
      /** The provider asks the buyer where the goods go. */
      hasShipping?: boolean | undefined
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
  /** List payment requests */
  'GET /pay/onchain/payment': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** It follows from the chain, so requests are looked at until a page is full, 1,000 at most: a page may have fewer, or none, and a nextCursor. */
      status?: 'pending' | 'detected' | 'confirmed' | 'overpaid' | 'underpaid' | 'expired' | 'cancelled' | 'late' | undefined
      chain?: string | undefined
      /** The symbol. */
      token?: string | undefined
      /** The receiver address, in any case. */
      address?: string | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** Created at this time or later. */
      from?: string | undefined
      /** Created before this time. */
      to?: string | undefined
    }
    reply: PaymentRequestPage
    errors: 'PROVIDER_NOT_CONFIGURED'
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
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** The order; a leading minus sorts in descending order. Default: -createdAt, the newest first. */
      sort?: 'createdAt' | '-createdAt' | 'amount' | '-amount' | 'status' | '-status' | 'email' | '-email' | 'provider' | '-provider' | undefined
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
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** Of the payment, in upper case, or the symbol of a token. */
      currency?: string | undefined
      /** At least this amount was asked for. A decimal in major units of the payment’s own currency. */
      minAmount?: string | undefined
      /** At most this amount was asked for. A decimal in major units of the payment’s own currency. */
      maxAmount?: string | undefined
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
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** Of the payment, in upper case, or the symbol of a token. */
      currency?: string | undefined
      /** At least this amount was asked for. A decimal in major units of the payment’s own currency. */
      minAmount?: string | undefined
      /** At most this amount was asked for. A decimal in major units of the payment’s own currency. */
      maxAmount?: string | undefined
      /** Created at this time or later. */
      from?: string | undefined
      /** Created before this time. */
      to?: string | undefined
    }
    reply: Blob
    errors: never
  }
  /** Aggregate transactions */
  'GET /pay/transactions/aggregate': {
    query: {
      /** Up to three fields, joined by commas, whose values make the groups; of status, currency, provider, userId, email, createdAt. Times are grouped by hour, day, week or month with a colon: createdAt:day. Default: one group of all transactions. */
      by?: string | undefined
      /** The IANA name of the time zone in which hours, days, weeks and months begin. Default: UTC. */
      timeZone?: string | undefined
      /** The order of the groups: by their values, or by their count; a leading minus sorts in descending order. */
      sort?: 'by' | '-by' | 'count' | '-count' | undefined
      /** How many groups are answered at most. */
      limit?: number | undefined
      /** Adds up. Fields joined by commas, of amount, capturedAmount, refundedAmount, disputedAmount, lostAmount. */
      sum?: string | undefined
      /** The average; of amounts it is rounded to the smallest unit, halves up. Fields joined by commas, of amount, capturedAmount, refundedAmount, disputedAmount, lostAmount. */
      average?: string | undefined
      /** The smallest value. Fields joined by commas, of createdAt, amount, capturedAmount, refundedAmount, disputedAmount, lostAmount. */
      min?: string | undefined
      /** The largest value. Fields joined by commas, of createdAt, amount, capturedAmount, refundedAmount, disputedAmount, lostAmount. */
      max?: string | undefined
      /** The number of different values. Fields joined by commas, of status, currency, provider, userId, email. */
      distinct?: string | undefined
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
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** Of the payment, in upper case, or the symbol of a token. */
      currency?: string | undefined
      /** At least this amount was asked for. A decimal in major units of the payment’s own currency. */
      minAmount?: string | undefined
      /** At most this amount was asked for. A decimal in major units of the payment’s own currency. */
      maxAmount?: string | undefined
      /** Created at this time or later. */
      from?: string | undefined
      /** Created before this time. */
      to?: string | undefined
    }
    reply: TransactionGroups
    errors: never
  }
  /** Get a transaction */
  'GET /pay/transactions/:id': {
    reply: TransactionDetails
    errors: 'NOT_FOUND'
  }
  /** Get the timeline of a transaction */
  'GET /pay/transactions/:id/timeline': {
    reply: TransactionTimeline
    errors: 'NOT_FOUND'
  }
  /** Sum payments by currency */
  'GET /pay/summary': {
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
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
      /** Of the payment, in upper case, or the symbol of a token. */
      currency?: string | undefined
      /** At least this amount was asked for. A decimal in major units of the payment’s own currency. */
      minAmount?: string | undefined
      /** At most this amount was asked for. A decimal in major units of the payment’s own currency. */
      maxAmount?: string | undefined
      /** Created at this time or later. */
      from?: string | undefined
      /** Created before this time. */
      to?: string | undefined
      /** What the sums are split by. */
      by?: 'status' | 'day' | undefined
    }
    reply: PaymentSummary
    errors: never
  }
  /** List events of payment providers */
  'GET /pay/events': {
    query: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      offset?: number | undefined
      /** The nextCursor of the previous page. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      provider?: 'cardpay' | 'walletpay' | undefined
      state?: 'pending' | 'done' | 'ignored' | 'failed' | undefined
      /** The whole type. */
      type?: string | undefined
      /** The provider’s id. */
      eventId?: string | undefined
      transactionId?: string | undefined
      /** Received at this time or later. */
      from?: string | undefined
      /** Received before this time. */
      to?: string | undefined
    }
    reply: PaymentProviderEventPage
    errors: never
  }
  /** Get an event of a payment provider */
  'GET /pay/events/:id': {
    reply: PaymentProviderEventDetails
    errors: 'NOT_FOUND'
  }
  /** Handle an event of a payment provider again */
  'POST /pay/events/:id/replay': {
    reply: PaymentProviderEventDetails
    errors: 'NOT_FOUND' | 'INVALID_STATE'
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
  /** Create an upload link */
  'POST /store/upload-links': {
    body: {
      /** Media types, such as image/png; image/* means all images. The server finds the type of a file in its bytes. */
      types?: string[] | undefined
      /** How many bytes the file may have. */
      maxBytes?: number | undefined
      /** Seconds, up to 7 days. An upload that began in time is taken. */
      expiresIn?: number | undefined
      /** public: everybody who knows its public address may read it. A new file is private by default. */
      access?: 'private' | 'public' | undefined
      /** Any fields, as a JSON object of at most 64 KiB. */
      metadata?: Record<string, unknown> | undefined
    }
    reply: CreatedUploadLink
    errors: never
  }
  /** Upload a file by a link */
  'POST /store/upload-links/:id': {
    query: {
      /** The token of the link. */
      token: string
    }
    body: FormData
    reply: ReceivedFile
    errors: 'UNAUTHORIZED' | 'NOT_FOUND' | 'CONFLICT' | 'QUOTA_EXCEEDED' | 'UNAVAILABLE'
    idempotent: true
  }
  /** Get an upload link */
  'GET /store/upload-links/:id': {
    reply: UploadLink
    errors: 'NOT_FOUND'
  }
  /** Delete an upload link */
  'DELETE /store/upload-links/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND'
  }
  /** Create a resumable upload */
  'POST /store/uploads': {
    body: Blob | Uint8Array<ArrayBuffer>
    reply: UploadState
    errors: 'PRECONDITION_FAILED' | 'IDEMPOTENCY_CONFLICT' | 'CHECKSUM_MISMATCH' | 'QUOTA_EXCEEDED' | 'UNAVAILABLE'
  }
  /** Get the offset of a resumable upload */
  'GET /store/uploads/:id': {
    reply: UploadState
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PRECONDITION_FAILED' | 'UPLOAD_BUSY' | 'CHECKSUM_MISMATCH' | 'QUOTA_EXCEEDED' | 'UNAVAILABLE'
  }
  /** Append to a resumable upload */
  'PATCH /store/uploads/:id': {
    body: Blob | Uint8Array<ArrayBuffer>
    reply: undefined
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PRECONDITION_FAILED' | 'CHECKSUM_MISMATCH' | 'UPLOAD_BUSY' | 'UNAVAILABLE'
  }
  /** End a resumable upload */
  'DELETE /store/uploads/:id': {
    reply: undefined
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED'
  }
  /** Upload several files */
  'POST /store/files': {
    body: FormData
    reply: StoredFiles
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
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
      /** A leading minus sorts in descending order. */
      sort?: 'createdAt' | '-createdAt' | 'originalName' | '-originalName' | 'contentType' | '-contentType' | 'size' | '-size' | undefined
      /** A part of the original name; the letters a to z in either case. */
      q?: string | undefined
      /** The whole original name. */
      name?: string | undefined
      /** A media type, or all of a kind: image/*. */
      contentType?: string | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
    }
    reply: StoredFilePage
    errors: never
  }
  /** Delete many files */
  'POST /store/files/bulk': {
    body: {
      action: 'delete'
      /** The files, or filter in place of it. */
      ids?: string[] | undefined
      /** All files that GET /store/files finds with it; {} is all files. */
      filter?: {
        /** A part of the original name; the letters a to z in either case. */
        q?: string | undefined
        /** The whole original name. */
        name?: string | undefined
        /** A media type, or all of a kind: image/*. */
        contentType?: string | undefined
        /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
        owner?: string | undefined
      } | undefined
      /** Only counts them. */
      dryRun?: boolean | undefined
      /** How many files there are: 409 with the number if it is another one. Not for a dry run. */
      expected?: number | undefined
    }
    reply: FileBulkResult
    errors: 'CONFLICT' | 'RECENT_SIGN_IN_REQUIRED' | 'UNAVAILABLE'
  }
  /** Get the storage that files take */
  'GET /store/files/usage': {
    query: {
      /** How many owners are listed. */
      limit?: number | undefined
      /** Lists this one only, if it has files. */
      owner?: string | undefined
    }
    reply: FileUsage
    errors: never
  }
  /** Get many files as an archive */
  'GET /store/files/archive': {
    query: {
      /** The _ids of up to 500 files, separated by commas, in place of a filter. */
      ids?: string | undefined
      /** A part of the original name; the letters a to z in either case. */
      q?: string | undefined
      /** The whole original name. */
      name?: string | undefined
      /** A media type, or all of a kind: image/*. */
      contentType?: string | undefined
      /** The id or the email address of a user, or the id of a service key: only what is theirs. For operators. */
      owner?: string | undefined
    }
    reply: Blob
    errors: 'NOT_FOUND' | 'UNAVAILABLE'
  }
  /** Get the bytes of a public file */
  'GET /store/files/public/:name': {
    query: {
      /** With any value, also none: an attachment, whatever the type. */
      download?: string | undefined
      /** One of the sizes of the configuration: 512 keeps the whole image within 512 × 512 pixels, 256x128 crops it to that. It is never enlarged. */
      size?: string | undefined
      /** The format of a resized image. Default: AVIF or WebP if Accept names them, else that of the image. */
      format?: 'avif' | 'webp' | 'jpeg' | 'png' | undefined
    }
    reply: Blob
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'RANGE_NOT_SATISFIABLE' | 'IMAGE_TOO_LARGE' | 'IMAGE_UNREADABLE'
  }
  /** Get the record of a file */
  'GET /store/files/:id': {
    reply: StoredFile
    errors: 'NOT_FOUND'
  }
  /** Change a file */
  'PATCH /store/files/:id': {
    body: {
      /** public: everybody who knows its public address may read it. A new file is private by default. */
      access?: 'private' | 'public' | undefined
      /** Any fields, as a JSON object of at most 64 KiB. */
      metadata?: Record<string, unknown> | undefined
    }
    reply: StoredFile
    errors: 'NOT_FOUND' | 'QUOTA_EXCEEDED'
  }
  /** List the documents that have a file */
  'GET /store/files/:id/uses': {
    reply: FileUseList
    errors: 'NOT_FOUND' | 'UNAVAILABLE'
  }
  /** Delete a file */
  'DELETE /store/files/:id': {
    reply: Confirmation
    errors: 'NOT_FOUND' | 'CONFLICT'
  }
  /** Get the bytes of a file */
  'GET /store/files/:id/content': {
    query: {
      /** The token of a link. */
      token?: string | undefined
      /** With any value, also none: an attachment, whatever the type. */
      download?: string | undefined
      /** One of the sizes of the configuration: 512 keeps the whole image within 512 × 512 pixels, 256x128 crops it to that. It is never enlarged. */
      size?: string | undefined
      /** The format of a resized image. Default: AVIF or WebP if Accept names them, else that of the image. */
      format?: 'avif' | 'webp' | 'jpeg' | 'png' | undefined
      /** Resizes an image to at most this width in pixels; it is never enlarged. */
      width?: number | undefined
      /** Resizes an image to at most this height in pixels; it is never enlarged. */
      height?: number | undefined
      /** With width and height: inside (the default) keeps the whole image and its proportions, cover crops what exceeds them, contain adds borders. */
      fit?: 'cover' | 'contain' | 'inside' | undefined
    }
    reply: Blob
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'RANGE_NOT_SATISFIABLE' | 'IMAGE_TOO_LARGE' | 'IMAGE_UNREADABLE' | 'FILE_PENDING' | 'FILE_REFUSED'
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
  /** Define several collections */
  'PUT /store/collections': {
    body: {
      definitions: {
        /** A letter, then up to 63 letters, digits, _ and -. */
        name: string
        definition: {
          /** Who may read a document. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
          read?: unknown
          /** Who may create one. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
          create?: unknown
          /** Who may change one; {"before":…,"after":…} are two rules. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
          update?: unknown
          /** Who may delete one. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
          delete?: unknown
          /** Fields that only administrators and service keys see and write. */
          hidden?: string[] | undefined
          /** Fields that are shown only where a rule holds for the document. */
          showTo?: Record<string, unknown> | undefined
          /** Fields that only hooks, administrators and service keys write. */
          readOnly?: string[] | undefined
          /** JSON Schema (2020-12) of the documents, without the fields of the server. */
          schema?: Record<string, unknown> | undefined
          /** Whether callers who can create a document can set its _id. Default: server. */
          ids?: 'server' | 'client' | undefined
          /** A field, or fields that are unique together. A document that lacks one of them is not compared. */
          unique?: (string | string[] | {
            fields: string[]
            /** Whether texts that differ in case only are the same. Default: false. */
            ignoreCase?: boolean | undefined
          })[] | undefined
          /** Fields that searches look into. */
          search?: string[] | undefined
          /** Fields that hold the _id of another document. */
          relations?: Record<string, {
            to: string
            /** If the other document is deleted: that is refused (restrict, the default), the field is removed, or this document is deleted as well. */
            onDelete?: 'restrict' | 'unset' | 'cascade' | undefined
          }> | undefined
          /** Fields that hold the _id of files. */
          files?: Record<string, {
            /** The media types that it takes. Default: all. */
            types?: string[] | undefined
            /** The largest file that it takes, in bytes, or like 5MB. Default: that of uploads. */
            maxBytes?: number | string | undefined
            /** How many files it takes. With 1 its value is one _id, with more an array of them. Default: 1. */
            max?: number | undefined
            /** Who may read its files: those who may read the document and see the field, or everybody who has their address. Default: document. */
            access?: 'document' | 'public' | undefined
          }> | undefined
          /** Whether changes are logged, to be followed. Default: true. */
          changes?: boolean | undefined
        }
        /** The version in force that it was made from, 0 for none: if another one is in force, the answer is 412. */
        version?: number | undefined
      }[]
    }
    reply: CollectionDefinitions
    errors: 'CONFLICT' | 'PRECONDITION_FAILED' | 'DEFINITION_REFUSED'
  }
  /** Get the definition of a collection */
  'GET /store/collections/:name': {
    reply: CollectionDefinition
    errors: never
  }
  /** Define a collection */
  'PUT /store/collections/:name': {
    query: {
      /** Whether only the report of what would happen is answered. */
      dryRun?: boolean | undefined
    }
    body: {
      /** Who may read a document. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
      read?: unknown
      /** Who may create one. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
      create?: unknown
      /** Who may change one; {"before":…,"after":…} are two rules. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
      update?: unknown
      /** Who may delete one. An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy. */
      delete?: unknown
      /** Fields that only administrators and service keys see and write. */
      hidden?: string[] | undefined
      /** Fields that are shown only where a rule holds for the document. */
      showTo?: Record<string, unknown> | undefined
      /** Fields that only hooks, administrators and service keys write. */
      readOnly?: string[] | undefined
      /** JSON Schema (2020-12) of the documents, without the fields of the server. */
      schema?: Record<string, unknown> | undefined
      /** Whether callers who can create a document can set its _id. Default: server. */
      ids?: 'server' | 'client' | undefined
      /** A field, or fields that are unique together. A document that lacks one of them is not compared. */
      unique?: (string | string[] | {
        fields: string[]
        /** Whether texts that differ in case only are the same. Default: false. */
        ignoreCase?: boolean | undefined
      })[] | undefined
      /** Fields that searches look into. */
      search?: string[] | undefined
      /** Fields that hold the _id of another document. */
      relations?: Record<string, {
        to: string
        /** If the other document is deleted: that is refused (restrict, the default), the field is removed, or this document is deleted as well. */
        onDelete?: 'restrict' | 'unset' | 'cascade' | undefined
      }> | undefined
      /** Fields that hold the _id of files. */
      files?: Record<string, {
        /** The media types that it takes. Default: all. */
        types?: string[] | undefined
        /** The largest file that it takes, in bytes, or like 5MB. Default: that of uploads. */
        maxBytes?: number | string | undefined
        /** How many files it takes. With 1 its value is one _id, with more an array of them. Default: 1. */
        max?: number | undefined
        /** Who may read its files: those who may read the document and see the field, or everybody who has their address. Default: document. */
        access?: 'document' | 'public' | undefined
      }> | undefined
      /** Whether changes are logged, to be followed. Default: true. */
      changes?: boolean | undefined
      /** Changes of the documents that are there, before the definition is in force. First fields are renamed and dropped, then missing ones are set. */
      documents?: ({
        rename: {
          /** A field of the document itself, not one inside of another. */
          from: string
          /** A field of the document itself, not one inside of another. */
          to: string
        }
      } | {
        /** A field of the document itself, not one inside of another. */
        drop: string
      } | {
        default: {
          /** A field of the document itself, not one inside of another. */
          field: string
          value: unknown
        }
      })[] | undefined
    }
    reply: CollectionDefinition
    errors: 'CONFLICT' | 'PRECONDITION_FAILED' | 'DEFINITION_REFUSED'
  }
  /** Remove the definition of a collection */
  'DELETE /store/collections/:name': {
    reply: CollectionDefinition
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PRECONDITION_FAILED' | 'DEFINITION_REFUSED'
  }
  /** List the versions of a definition */
  'GET /store/collections/:name/versions': {
    query: {
      limit?: number | undefined
      /** A version: those before it are listed. */
      before?: number | undefined
    }
    reply: DefinitionVersions
    errors: never
  }
  /** Ask whether an account may do something */
  'POST /store/collections/:name/can': {
    body: {
      /** The address or the _id of an account, `key` for a service key of the scope store, null for a caller who is not signed in. Default: null. */
      user?: string | null | undefined
      action: 'read' | 'create' | 'update' | 'delete'
      /** The _id of the document. Without it, read asks for the list. */
      id?: string | undefined
      /** What would be sent: the fields of a new document, or the changes of an update. */
      document?: Record<string, unknown> | undefined
    }
    reply: CanAnswer
    errors: 'NOT_FOUND' | 'PROVIDER_NOT_CONFIGURED'
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
  /** Create, change and delete several documents */
  'POST /store/batch': {
    body: {
      /** In their order: each finds what those before it have done. */
      operations: {
        /** create as a POST of the collection; update, replace, patch and delete as PUT, PUT with replace, PATCH and DELETE of the document; upsert as PUT with upsert, or with operators as PATCH with upsert. */
        op: 'create' | 'update' | 'replace' | 'patch' | 'upsert' | 'delete'
        /** A letter, then up to 63 letters, digits, _ and -. */
        collection: string
        /** The document’s _id. Not of create, and of upsert either this or by. */
        id?: string | undefined
        /** Of upsert: the unique fields by which the document is found. */
        by?: string | undefined
        /** ETags, as the header If-Match: 412 unless one is the document’s current one. Not of create and upsert. */
        ifMatch?: string | undefined
        /** The body of the single call: fields, or a patch. Required unless the operation is delete. */
        document?: Record<string, unknown> | undefined
      }[]
    }
    reply: BatchResults
    errors: 'NOT_FOUND' | 'CONFLICT' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE' | 'QUOTA_EXCEEDED' | 'UNAVAILABLE'
    idempotent: true
  }
  /** Create a document, or several */
  'POST /store/:collection': {
    body: {
      /** Of a document to be created: kept from service keys, and in collections with ids: client. Otherwise ignored. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown> | FormData
    reply: DocumentsCreated
    errors: 'CONFLICT' | 'PAYLOAD_TOO_LARGE' | 'QUOTA_EXCEEDED' | 'UNAVAILABLE'
    idempotent: true
  }
  /** Update or create a document by a unique field */
  'PUT /store/:collection': {
    query: {
      /** The unique field by which the document is found, or those that are unique together, joined by commas. The body has their values. */
      by: string
      /** Whether the fields that the body does not have are removed: the document is then as it was sent. Fields that the caller may not see or change stay. */
      replace?: boolean | undefined
      /** Whether the document is created if there is none: 201. By _id it is for service keys, and in collections with ids: client. */
      upsert?: boolean | undefined
    }
    body: {
      /** Of a document to be created: kept from service keys, and in collections with ids: client. Otherwise ignored. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: Document
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE' | 'CONFLICT'
  }
  /** Patch or create a document by a unique field */
  'PATCH /store/:collection': {
    query: {
      /** The unique field by which the document is found, or those that are unique together, joined by commas. The body has their values. */
      by: string
      /** Whether the document is created if there is none: 201. By _id it is for service keys, and in collections with ids: client. */
      upsert?: boolean | undefined
    }
    body: {
      /** Of a document to be created: kept from service keys, and in collections with ids: client. Otherwise ignored. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: Document
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE' | 'CONFLICT'
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
      /** A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex, $elemMatch and $expr; dotted paths are allowed. */
      filter?: string | undefined
      /** Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise. */
      search?: string | undefined
      /** The nextCursor of the previous page, sent with the same filter, search and sort. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** none: the documents that the filter finds are not counted, so a page need not look at all of them. */
      total?: 'count' | 'none' | undefined
      /** Only documents of this account or service key. For administrators and service keys. */
      owner?: string | undefined
      /** Cuts text of more characters, and arrays and objects with more characters of JSON; a document has about 4 KiB then. `$preview` in each document has what was cut, how many fields are left out, its owner and its ETag. For administrators and service keys, and without fields and expand. */
      preview?: number | undefined
      /** Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered. */
      fields?: string | undefined
      /** Relations joined by commas, such as author,lines.product, whose documents are answered as `$expanded`, up to three levels deep, as the caller may see them. */
      expand?: string | undefined
    }
    reply: DocumentPage
    errors: never
  }
  /** List documents by a query in the body */
  'POST /store/:collection/query': {
    body: {
      /** At most 1000; a larger value counts as 1000. */
      limit?: number | undefined
      /** How many documents to skip. */
      offset?: number | undefined
      /** Fields joined by commas; dotted paths are allowed, a leading minus sorts in descending order. Or as in MongoDB: {"year":-1,"title":1}. Default: the newest first; of a search, $score: the best first. */
      sort?: string | undefined
      /** A MongoDB query, as the parameter filter of a list. */
      filter?: Record<string, unknown> | undefined
      /** Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise. */
      search?: string | undefined
      /** The nextCursor of the previous page, sent with the same filter, search and sort. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
      /** none: the documents that the filter finds are not counted, so a page need not look at all of them. */
      total?: 'count' | 'none' | undefined
      /** Only documents of this account or service key. For administrators and service keys. */
      owner?: string | undefined
      /** Cuts text of more characters, and arrays and objects with more characters of JSON; a document has about 4 KiB then. `$preview` in each document has what was cut, how many fields are left out, its owner and its ETag. For administrators and service keys, and without fields and expand. */
      preview?: number | undefined
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
      /** A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex, $elemMatch and $expr; dotted paths are allowed. */
      filter?: string | undefined
      /** Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise. */
      search?: string | undefined
      /** The nextCursor of the previous page, sent with the same filter, search and sort. Unlike offset, it costs the same at any depth. */
      cursor?: string | undefined
    }
    reply: Explanation
    errors: never
  }
  /** Aggregate documents */
  'GET /store/:collection/aggregate': {
    query: {
      /** Up to three fields, joined by commas, whose values make the groups; dotted paths are allowed. Times are grouped by hour, day, week or month with a colon: createdAt:day. Default: one group of all documents. */
      by?: string | undefined
      /** The IANA name of the time zone in which hours, days, weeks and months begin. Default: UTC. */
      timeZone?: string | undefined
      /** The order of the groups: by their values, or by their count; a leading minus sorts in descending order. */
      sort?: 'by' | '-by' | 'count' | '-count' | undefined
      /** How many groups are answered at most. */
      limit?: number | undefined
      /** Adds up numbers, and ignores all other values. Fields joined by commas; dotted paths are allowed. */
      sum?: string | undefined
      /** The average of numbers; null if there are none. Fields joined by commas; dotted paths are allowed. */
      average?: string | undefined
      /** The smallest value, in the order in which lists sort; null if there is none. Fields joined by commas; dotted paths are allowed. */
      min?: string | undefined
      /** The largest value, likewise. Fields joined by commas; dotted paths are allowed. */
      max?: string | undefined
      /** The number of different values, without null. Fields joined by commas; dotted paths are allowed. */
      distinct?: string | undefined
      /** A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex, $elemMatch and $expr; dotted paths are allowed. */
      filter?: string | undefined
      /** Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise. */
      search?: string | undefined
    }
    reply: DocumentGroups
    errors: never
  }
  /** List the fields of a collection */
  'GET /store/:collection/fields': {
    query: {
      /** How many documents are read at most. */
      sample?: number | undefined
    }
    reply: CollectionFields
    errors: never
  }
  /** Change or delete many documents */
  'POST /store/:collection/bulk': {
    body: {
      /** A MongoDB query: the documents that it finds. Either this or ids. */
      filter?: Record<string, unknown> | undefined
      /** The _id of each document. */
      ids?: string[] | undefined
      /** Only documents of this account or service key. */
      owner?: string | undefined
      action: 'delete' | 'set' | 'unset'
      /** With set: values by dotted paths, as $set of a PATCH; lines.$.price is of the first element that the filter matches. */
      set?: Record<string, unknown> | undefined
      /** With unset: the dotted paths of the fields to remove. */
      unset?: string[] | undefined
      /** Only counts the documents. */
      dryRun?: boolean | undefined
      /** How many documents match, as a dry run or the last answer says: 409 if it is another number. Required unless it is a dry run. */
      expected?: number | undefined
      /** The nextCursor of the last answer: goes on behind the documents that are done. */
      cursor?: string | undefined
    }
    reply: BulkReport
    errors: 'CONFLICT' | 'RECENT_SIGN_IN_REQUIRED'
    idempotent: true
  }
  /** Export documents */
  'GET /store/:collection/export': {
    query: {
      /** ndjson: a document of JSON on each line; an import also takes an array of them, and values of MongoDB Extended JSON. csv: a table with headings; what is neither text nor a number is JSON in its cell. */
      format?: 'ndjson' | 'csv' | undefined
      /** A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex, $elemMatch and $expr; dotted paths are allowed. */
      filter?: string | undefined
      /** Fields joined by commas; dotted paths are allowed, a leading minus sorts in descending order. Or as in MongoDB: {"year":-1,"title":1}. Default: the newest first; of a search, $score: the best first. */
      sort?: string | undefined
      /** Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered. */
      fields?: string | undefined
      /** Only documents of this account or service key. */
      owner?: string | undefined
      /** Whether each document has its owner, as `$owner`, which an import keeps. */
      owners?: boolean | undefined
    }
    reply: Blob
    errors: 'UNAVAILABLE'
  }
  /** Import documents */
  'POST /store/:collection/import': {
    query: {
      /** ndjson: a document of JSON on each line; an import also takes an array of them, and values of MongoDB Extended JSON. csv: a table with headings; what is neither text nor a number is JSON in its cell. */
      format?: 'ndjson' | 'csv' | undefined
      /** Whether the lines are only checked. */
      dryRun?: boolean | undefined
      /** keep: _id, createdAt and updatedAt of a line are kept, if it has them. new: each document gets a new _id. */
      ids?: 'keep' | 'new' | undefined
      /** What happens to a line with the _id of a document: it is skipped, replaces all fields of the document, or is refused. */
      conflict?: 'skip' | 'replace' | 'fail' | undefined
      /** The field that becomes createdAt: a time in ISO 8601 or milliseconds since 1970. _id: the time in an ObjectId of MongoDB. Default: createdAt, if ids are kept. */
      createdAt?: string | undefined
      /** The field that becomes updatedAt, likewise. */
      updatedAt?: string | undefined
      /** The account that documents belong to that name no owner. Default: that of the caller. */
      owner?: string | undefined
      /** The field with the id of the account that a document belongs to, where there is no $owner. It stays in the document. */
      ownerField?: string | undefined
    }
    body: FormData
    reply: ImportReport
    errors: 'UNAVAILABLE'
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
    query: {
      /** Whether the fields that the body does not have are removed: the document is then as it was sent. Fields that the caller may not see or change stay. */
      replace?: boolean | undefined
      /** Whether the document is created if there is none: 201. By _id it is for service keys, and in collections with ids: client. */
      upsert?: boolean | undefined
    }
    body: {
      /** Of a document to be created: kept from service keys, and in collections with ids: client. Otherwise ignored. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: Document
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE' | 'CONFLICT'
  }
  /** Patch a document */
  'PATCH /store/:collection/:id': {
    query: {
      /** Whether the document is created if there is none: 201. By _id it is for service keys, and in collections with ids: client. */
      upsert?: boolean | undefined
    }
    body: {
      /** Of a document to be created: kept from service keys, and in collections with ids: client. Otherwise ignored. */
      _id?: unknown
      /** Set by the server; ignored here. */
      createdAt?: unknown
      /** Set by the server; ignored here. */
      updatedAt?: unknown
    } & Record<string, unknown>
    reply: Document
    errors: 'NOT_FOUND' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE' | 'CONFLICT'
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
      /** With none the records are not counted, and the answer has no total. */
      total?: 'count' | 'none' | undefined
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
  /** Check a backup */
  'GET /store/backups/:id/check': {
    reply: RestorePreview
    errors: 'NOT_FOUND' | 'CONFLICT' | 'BACKUP_DAMAGED' | 'UNAVAILABLE'
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
