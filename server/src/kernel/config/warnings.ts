import { isLoopback } from '../../base/loopback.ts'
import type { Settings, Variables } from './config.ts'

const SECRET_VARIETY = 8

type Warning = {
  when: (settings: Settings, environment: Variables) => boolean
  line: (settings: Settings) => string
}

// What can work, and is likely to be a mistake. Wires add those of their options, as `warnings` of their setup.
const WARNINGS: readonly Warning[] = [
  {
    when: ({ production, policy }) => production && policy === 'open',
    line: () =>
      'SIXWIRE_POLICY: it is open in production: any signed-in user may read and change everything; guarded separates users',
  },
  {
    when: ({ production, policy, host }) => !production && policy === 'open' && !isLoopback(host),
    line: ({ host }) =>
      `HOST: ${host} lets other machines call this server, and SIXWIRE_POLICY is open: everybody who registers may read and change everything`,
  },
  {
    when: ({ production, publicUrl }) => production && isLoopback(new URL(publicUrl).hostname),
    line: ({ publicUrl, hasPublicUrl, databaseUrl }) =>
      `PUBLIC_URL: redirects, webhooks and cookies are those of ${publicUrl}${hasPublicUrl ? '' : ', and other services cannot know the issuer of tokens'}: set it to the address of this server from outside${databaseUrl.startsWith('postgres') ? ', the same on every replica' : ''}`,
  },
  {
    when: ({ databaseUrl }, environment) => isPlaintextPostgres(databaseUrl, environment['PGSSLMODE']),
    line: ({ databaseUrl }) =>
      `DATABASE_URL: data and the password go to ${new URL(databaseUrl).host} in plaintext: add ?sslmode=verify-full`,
  },
  {
    when: ({ secret }) => isMonotonous(secret),
    line: () =>
      'SIXWIRE_SECRET: it has too little variety to be random: make one with "openssl rand -base64 48", and change to it with sixwire secret rotate',
  },
]

/** What to warn of at the start, one line each, which begins with the setting. */
export const warningsOf = (settings: Settings, environment: Variables): string[] =>
  WARNINGS.filter(({ when }) => when(settings, environment)).map(({ line }) => line(settings))

/** As node-postgres reads the address: https://node-postgres.com/features/ssl */
function isPlaintextPostgres(databaseUrl: string, environmentMode: string | undefined): boolean {
  if (!databaseUrl.startsWith('postgres')) return false
  const { hostname, searchParams } = new URL(databaseUrl)
  const host = searchParams.get('host') ?? decodeURIComponent(hostname)
  // A path is that of a socket of this machine.
  if (host === '' || host.startsWith('/') || isLoopback(host)) return false
  const isSsl = ['1', 'true'].includes(searchParams.get('ssl') ?? '')
  const mode = searchParams.get('sslmode') ?? environmentMode ?? 'disable'
  return !isSsl && (mode === 'disable' || mode === 'prefer')
}

/** Whether a secret has few different characters, or repeats a part of itself. */
const isMonotonous = (secret: string): boolean =>
  new Set(secret).size < SECRET_VARIETY || `${secret}${secret}`.indexOf(secret, 1) < secret.length
