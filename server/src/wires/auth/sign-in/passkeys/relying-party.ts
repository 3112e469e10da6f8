import { isIP } from 'node:net'

import { isLoopbackAddress } from '../../../../base/ip-address.ts'
import { isLoopback } from '../../../../base/loopback.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { Settings } from '../../../../kernel/config/config.ts'

/** Whose passkeys they are: https://www.w3.org/TR/webauthn-3/#relying-party */
export type RelyingParty = {
  /** A domain name. A passkey works on its pages and those of names below it, and is lost if it changes. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** Whether pages of this origin may use passkeys. */
  accepts(origin: string): boolean
}

/** What the configuration says of it; the rest follows from `APP_URL` and `PUBLIC_URL`. */
export type RelyingPartyOptions = { rpId?: string | undefined; origins?: readonly string[] | undefined }

const LOCALHOST = 'localhost'
const ANY_PORT = /^http:\/\/localhost(:\d{1,5})?$/

/** An app of Android: https://developer.android.com/identity/sign-in/credential-manager#verify-origin */
const ANDROID_ORIGIN = /^android:apk-key-hash:[\w-]{43}$/

/**
 * The relying party of this server.
 *
 * @returns undefined if none follows from the addresses: passkeys need a domain name, in production with https
 * @throws StartError with the option that can't work
 */
export function createRelyingParty(
  { settings }: { settings: Pick<Settings, 'name' | 'appUrl' | 'publicUrl' | 'production'> },
  options: RelyingPartyOptions,
): RelyingParty | undefined {
  const { name, appUrl, publicUrl, production } = settings
  const isSecure = (origin: URL): boolean =>
    origin.protocol === 'https:' || !production || isLoopback(origin.hostname)

  const id = options.rpId === undefined ? nameOf(new URL(appUrl)).hostname : checkedId(options.rpId)
  const origins = options.origins
    ? options.origins.map((origin) => checkedOrigin(origin, id, isSecure))
    : [appUrl, publicUrl]
        .map((address) => nameOf(new URL(address)))
        .filter((url) => isWithin(url.hostname, id) && isSecure(url))
        .map(({ origin }) => origin)
  if (origins.length === 0 && options.rpId !== undefined)
    throw new StartError(
      `auth.passkeys.rpId: neither APP_URL nor PUBLIC_URL can use "${id}": set auth.passkeys.origins to those of your pages`,
    )
  if (origins.length === 0 || isAddress(id)) return undefined
  return {
    id,
    name,
    accepts: (origin) =>
      origins.includes(origin) || (!production && id === LOCALHOST && ANY_PORT.test(origin)),
  }
}

/** An address with a name in place of an address of this machine: browsers have passkeys for names only. */
function nameOf(url: URL): URL {
  if (isLoopbackAddress(unbracketed(url.hostname))) url.hostname = LOCALHOST
  return url
}

const unbracketed = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')
const isAddress = (hostname: string): boolean => isIP(unbracketed(hostname)) !== 0

const isWithin = (hostname: string, id: string): boolean => hostname === id || hostname.endsWith(`.${id}`)

function checkedId(id: string): string {
  const host = `https://${id}`
  if (!URL.canParse(host) || new URL(host).hostname !== id || isAddress(id))
    throw new StartError(`auth.passkeys.rpId: "${id}" is not a domain name like example.com`)
  return id
}

function checkedOrigin(origin: string, id: string, isSecure: (origin: URL) => boolean): string {
  if (ANDROID_ORIGIN.test(origin)) return origin
  const wrong = (why: string) => new StartError(`auth.passkeys.origins: "${origin}" ${why}`)
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  if (url?.origin !== origin || !/^https?:$/.test(url.protocol))
    throw wrong('is not an origin like https://app.example.com')
  if (!isWithin(url.hostname, id))
    throw wrong(`is not within "${id}": set auth.passkeys.rpId to its host, or to a domain above it`)
  if (!isSecure(url)) throw wrong('must be https in production')
  return origin
}
