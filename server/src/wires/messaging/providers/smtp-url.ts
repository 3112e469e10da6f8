import { isIP } from 'node:net'

import { isLoopback } from '../../../base/loopback.ts'
import { StartError } from '../../../base/start-error.ts'
import { isAddress } from './mailbox.ts'

const CONNECTIONS = 5
/** Many servers end a connection that goes on for longer. */
const MAILS_A_CONNECTION = 100

/** A mail server, as nodemailer is told of it. */
export type SmtpServer = {
  host: string
  port: number
  secure: boolean
  requireTLS: boolean
  maxConnections: number
  maxMessages: number
  name?: string
  auth?: { user: string; pass: string }
  tls: { servername?: string; rejectUnauthorized: boolean }
}

// Without the address itself in any message: it may hold a password.
const bad = (why: string): StartError => new StartError(`SMTP_URL, or the url of smtp(): ${why}`)

/** Reads SMTP_URL. Throws StartError where it is not one, without a word of it. */
export function readServer(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtp(s|\+starttls)?:$/.test(url.protocol) || url.hostname === '')
    throw bad(
      'write smtp://user:password@host:port, with smtp+starttls:// where TLS must be, or smtps:// for TLS at once, and a /, ? or # of a password as %2F, %3F or %23',
    )
  if (!/^\/?$/.test(url.pathname) || url.hash !== '')
    throw bad(
      'nothing but ?name=value may follow the host; write a /, ? or # of a password as %2F, %3F or %23',
    )

  const parameters = new Map(url.searchParams)
  const take = (name: string): string | undefined => {
    const value = parameters.get(name)
    parameters.delete(name)
    return value
  }
  const flag = (name: string, otherwise: boolean): boolean => {
    const value = take(name) ?? String(otherwise)
    if (value !== 'true' && value !== 'false') throw bad(`${name} is true or false`)
    return value === 'true'
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const user = decoded(url.username)
  const pass = decoded(url.password)
  const signsIn = user !== '' || pass !== ''
  const secure = url.protocol === 'smtps:'
  const isElsewhere = !isLoopback(host)
  const requireTLS = flag('requireTLS', url.protocol === 'smtp+starttls:' || (signsIn && isElsewhere))
  if (signsIn && isElsewhere && !secure && !requireTLS)
    throw bad(
      `a password is sent to another machine over TLS only: remove requireTLS=false, or write smtps:// for TLS from the first byte`,
    )
  const rejectUnauthorized = flag('tls.rejectUnauthorized', true)
  const servername = take('tls.servername')
  const name = take('name')
  const count = (name: string, otherwise: number, max: number): number => {
    const value = Number(take(name) ?? otherwise)
    if (!Number.isInteger(value) || value < 1 || value > max)
      throw bad(`${name} is a number from 1 to ${max}`)
    return value
  }
  const maxConnections = count('maxConnections', CONNECTIONS, 1000)
  const maxMessages = count('maxMessages', MAILS_A_CONNECTION, 1_000_000)
  // Without its name: it may be the rest of a password with a ? in it.
  if (parameters.size > 0 || new Set(url.searchParams.keys()).size !== url.searchParams.size)
    throw bad(
      'what follows the ? may be requireTLS, name, maxConnections, maxMessages, tls.servername and tls.rejectUnauthorized, each once; write a ? of a password as %3F',
    )

  return {
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS,
    maxConnections,
    maxMessages,
    ...(name === undefined ? {} : { name }),
    ...(signsIn ? { auth: { user, pass } } : {}),
    tls: { rejectUnauthorized, ...(servername === undefined ? {} : { servername }) },
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw bad('write a % of the user or the password as %25')
  }
}

/** What a start warns of, one line each. */
export const warningsOf = ({ host, secure, requireTLS }: SmtpServer): string[] =>
  secure || requireTLS || isLoopback(host)
    ? []
    : [
        `SMTP_URL, or the url of smtp(): email goes to ${host} in plaintext if it does not offer STARTTLS: write smtp+starttls:// or smtps://`,
      ]

/** Whom mail is from where nothing else is said. */
export function defaultSender(server: SmtpServer, appUrl: string | undefined): string {
  const user = server.auth?.user ?? ''
  const domain = isAddress(user)
    ? user.slice(user.lastIndexOf('@') + 1)
    : appUrl !== undefined && URL.canParse(appUrl)
      ? new URL(appUrl).hostname
      : server.host
  return `no-reply@${isIP(domain.replace(/^\[|\]$/g, '')) ? 'localhost' : domain}`
}
