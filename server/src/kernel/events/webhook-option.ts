import { isLoopback } from '../../base/loopback.ts'
import { StartError } from '../../base/start-error.ts'
import type { Settings } from '../config/config.ts'
import { checkFields, isPlain, isText, optional, shown, TEXT, type Field } from '../config/fields.ts'
import { isPattern } from './event-types.ts'
import { signingKeyOf } from './signature.ts'

/** A receiver of events, in the configuration. */
export type WebhookOption = {
  /** How lists, logs and metrics call it. Default: the host of the address. Another name is another webhook. */
  readonly name?: string
  /** `https://…`; outside production also `http://localhost…`. */
  readonly url: string
  /**
   * `whsec_` and base64 of 24 to 64 random bytes, by which the receiver verifies what it gets. Several, the new one first, while
   * it is rotated: each event is signed with all of them.
   */
  readonly secret: string | readonly string[] | undefined
  /** Types of events, or patterns: `auth.user.created`, `pay.transaction.*`, `messaging.*`, `store.*.deleted`. */
  readonly events: readonly string[]
}

/** A webhook that is checked. */
export type WebhookEndpoint = {
  readonly name: string
  readonly url: URL
  readonly keys: readonly Buffer[]
  readonly events: readonly string[]
  /** Whether its address is of this machine, which is refused otherwise. */
  readonly isLocal: boolean
}

const TEXTS: Field = {
  takes: "a list of texts, like ['pay.transaction.*']",
  fits: (value) => Array.isArray(value) && value.length > 0 && value.every(isText),
}
const FIELDS = {
  name: optional(TEXT),
  url: TEXT,
  // Checked apart: an error must not show it.
  secret: { takes: 'a text', fits: () => true },
  events: TEXTS,
}
const NAME = /^[a-z\d][a-z\d._-]{0,99}$/
const SECRETS_MAX = 5

/**
 * Checks the webhooks of a configuration. Whether there are events of their patterns is checked once all wires are known.
 *
 * @throws StartError with the webhook and what is wrong with it
 */
export function checkWebhooks(
  option: unknown,
  settings: Pick<Settings, 'production' | 'sandbox' | 'sandboxUrl'>,
): WebhookEndpoint[] {
  if (option === undefined) return []
  if (!Array.isArray(option))
    throw new StartError(
      "webhooks: write a list, like [{ url: 'https://…', secret: 'whsec_…', events: ['pay.*'] }]",
    )
  const webhooks = option.map((one: unknown, at) => checkWebhook(`webhooks[${at}]`, one, settings))
  for (const [at, { name, url }] of webhooks.entries()) {
    const before = webhooks.slice(0, at)
    if (before.some((one) => one.url.href === url.href))
      throw new StartError(`webhooks[${at}]: another one has the same url: give all events to one of them`)
    if (before.some((one) => one.name === name))
      throw new StartError(`webhooks[${at}]: another one is called "${name}": give each a name of its own`)
  }
  return webhooks
}

function checkWebhook(
  where: string,
  option: unknown,
  settings: Pick<Settings, 'production' | 'sandbox' | 'sandboxUrl'>,
): WebhookEndpoint {
  if (!isPlain(option))
    throw new StartError(
      `${where}: write an object, like { url: 'https://…', secret: 'whsec_…', events: ['pay.*'] }`,
    )
  checkFields(where, option, FIELDS)
  const { url: address, secret, events, name: ownName } = option as WebhookOption
  const { url, isLocal } = checkUrl(`${where}.url`, address, settings)
  const name = ownName ?? url.host.replace(/^\[|\]/g, '').replaceAll(':', '-')
  if (!NAME.test(name))
    throw new StartError(
      `${where}.name: ${shown(name)} can't be a name: it takes lowercase letters, digits, dots, _ and -`,
    )
  const wrong = events.find((pattern) => !isPattern(pattern))
  if (wrong !== undefined)
    throw new StartError(
      `${where}.events: ${shown(wrong)} can't be the type of an event: it takes words with dots between them, like pay.transaction.*`,
    )
  return { name, url, isLocal, keys: checkSecrets(`${where}.secret`, secret), events: [...new Set(events)] }
}

function checkUrl(
  where: string,
  address: string,
  { production, sandbox, sandboxUrl }: Pick<Settings, 'production' | 'sandbox' | 'sandboxUrl'>,
): Pick<WebhookEndpoint, 'url' | 'isLocal'> {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new StartError(`${where}: it is not an address like https://shop.example/webhooks`)
  if (url.username !== '' || url.password !== '')
    throw new StartError(`${where}: leave out the credentials: the signature shows who sends an event`)
  if (url.hash !== '') throw new StartError(`${where}: leave out what is behind #: it is never sent`)
  const isOwnSandbox = sandbox && address.startsWith(`${sandboxUrl}/`)
  const isLocal = !production && (isLoopback(url.hostname) || isOwnSandbox)
  if (url.protocol === 'http:' && !isLocal)
    throw new StartError(
      `${where}: it must start with https://${production ? '' : ': http:// is for localhost only'}`,
    )
  return { url, isLocal }
}

function checkSecrets(where: string, option: unknown): Buffer[] {
  const secrets: readonly unknown[] = Array.isArray(option) ? option : [option]
  if (secrets.length === 0 || secrets.some((one) => one === undefined || one === ''))
    throw new StartError(`${where}: it is not set`)
  if (secrets.length > SECRETS_MAX)
    throw new StartError(
      `${where}: there are more than ${SECRETS_MAX}: leave out those that no receiver uses`,
    )
  return secrets.map((secret) => {
    const key = typeof secret === 'string' ? signingKeyOf(secret) : undefined
    if (!key)
      throw new StartError(
        `${where}: it takes whsec_ and base64 of 24 to 64 bytes: make one by echo "whsec_$(openssl rand -base64 32)"`,
      )
    return key
  })
}
