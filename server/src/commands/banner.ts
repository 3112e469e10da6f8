import { relative } from 'node:path'

import type { App } from '../app.ts'

const POLICIES = {
  open: 'open: any signed-in user may read and change everything (SIXWIRE_POLICY=guarded separates users)',
  guarded: 'guarded: users read and change only their own records',
}

/**
 * The line of the log once the server runs in production: its fields, and its text.
 *
 * @param workers how many processes answer; undefined: this one alone
 */
export const runningLine = (app: App, address: string, workers?: number): [object, string] => [
  {
    publicUrl: app.settings.publicUrl,
    policy: app.settings.policy,
    wires: app.wires,
    database: databaseOf(app.settings),
    notConfigured: app.notConfigured,
    ...(workers !== undefined && { workers }),
  },
  `${app.settings.name} ${app.settings.version} runs at ${localUrl(address)}, publicly at ${app.settings.publicUrl}`,
]

const localUrl = (address: string): string =>
  address.replace(/\/\/(127\.0\.0\.1|0\.0\.0\.0|\[::1?\])/, '//localhost')

/** Not the whole address of a PostgreSQL database, which may contain a password. */
const databaseOf = ({ databaseUrl }: App['settings']): string =>
  databaseUrl.startsWith('sqlite:')
    ? `SQLite in ${relative(process.cwd(), databaseUrl.slice('sqlite:'.length)) || '.'}`
    : `PostgreSQL at ${new URL(databaseUrl).host}${new URL(databaseUrl).pathname}`

/** The text that the terminal shows once the server runs; `workers` as of the line. */
export function banner(app: App, address: string, workers?: number): string {
  const { settings } = app
  const url = localUrl(address)
  const example = app.wires.includes('auth')
    ? `curl ${url}/auth/register -H 'content-type: application/json' \\
                            -d '{"email":"me@example.com","password":"a long passphrase"}'`
    : `curl ${url}/health`
  const page =
    settings.console && app.wires.includes('auth')
      ? `\n  console  ${url}/console: accounts, documents, payments, jobs and logs in the browser`
      : ''
  const sandbox = settings.sandbox
    ? `\n  sandbox  ${url}/sandbox: shows mail, messages, payments and chains until real providers are configured`
    : ''
  return `
  ${settings.name} ${settings.version} runs at ${url}

  policy   ${POLICIES[settings.policy]}
  wires    ${app.wires.join(', ')}
  data     ${databaseOf(settings)}${workers === undefined ? '' : `\n  workers  ${workers} processes`}${page}${sandbox}

  Try it in the browser:  ${url}/docs
  Or from a shell:        ${example}
  Ctrl-C ends it.
`
}
