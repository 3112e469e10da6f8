import type { Account } from '../wires/auth/index.ts'
import { UsageError, type Command } from './command.ts'
import { table, withApp } from './with-app.ts'

const DEFAULT_LIMIT = 50

export const user: Command = {
  summary: 'List accounts, change their role, address verification and state, and end their sessions',
  usage:
    'sixwire user list | verify EMAIL | promote EMAIL | demote EMAIL | disable EMAIL | enable EMAIL | sign-out',
  help: `list             lists the accounts, newest first   [--limit ${DEFAULT_LIMIT}] [--offset 0]
verify EMAIL     marks the address as verified without an email
promote EMAIL    makes the account an administrator
demote EMAIL     removes the role of administrator
disable EMAIL    ends all sessions of the account and prevents new ones
enable EMAIL     lets a disabled account sign in again
sign-out EMAIL   ends all sessions of the account; --all instead of EMAIL: of all accounts

A running server applies the change from its next request.`,
  takesWords: true,
  options: { limit: { type: 'string' }, offset: { type: 'string' }, all: { type: 'boolean' } },
  async run([action, email, ...more], options) {
    const all = options['all'] === true
    if (all && action !== 'sign-out') throw new UsageError('--all is an option of sign-out only')
    if (action === 'list' && email === undefined) {
      const page = {
        limit: whole(options['limit'] ?? String(DEFAULT_LIMIT), '--limit'),
        offset: whole(options['offset'] ?? '0', '--offset'),
      }
      return withApp(async (app) => {
        const { accounts, total } = await app.service('auth').users.list(page)
        console.log(
          table(
            ['EMAIL', 'ROLE', 'VERIFIED', 'STATE', 'CREATED', 'ID'],
            accounts.map((a) => [
              a.email,
              a.role,
              a.emailVerified ? 'yes' : 'no',
              a.disabled ? 'disabled' : 'active',
              a.createdAt,
              a.id,
            ]),
          ),
        )
        if (accounts.length < total) console.log(`\n${accounts.length} of ${total}`)
        return 0
      })
    }
    if (action === 'sign-out') return signOut(email, more, all)
    if (!isChange(action))
      throw new UsageError(
        action === undefined
          ? `name an action: list, ${CHANGES.join(', ')}, sign-out`
          : `"${[action, email].filter(Boolean).join(' ')}" is not an action`,
      )
    if (email === undefined || more.length > 0) throw new UsageError(`${action} takes one email address`)
    return withApp(async (app) => {
      const account = await app.service('auth').users[action](email)
      console.log(action === 'promote' ? promoted(account) : `${account.email} is ${stateOf(account)}`)
      return 0
    })
  },
}

async function signOut(email: string | undefined, more: readonly string[], all: boolean): Promise<number> {
  if ((email === undefined) !== all || more.length > 0)
    throw new UsageError('sign-out takes one email address, or --all')
  return withApp(async (app) => {
    const ended = await app.service('auth').users.signOut(email)
    console.log(`${ended} session${ended === 1 ? '' : 's'} ended${all ? ' of all accounts' : ` of ${email}`}`)
    return 0
  })
}

const stateOf = ({ disabled, role }: Account): string =>
  disabled ? 'disabled' : `active, with the role ${role}`

/** The account that became an administrator, with what the operator should know of it. */
function promoted({ email, emailVerified, disabled, createdAt }: Account): string {
  const address = emailVerified ? 'address verified' : 'address NOT verified'
  const state = disabled ? 'an administrator now, and disabled' : 'an administrator now'
  const line = `${email} (created ${ago(Date.parse(createdAt))}, ${address}) is ${state}`
  if (emailVerified) return line
  return `${line}
Warning: the address is not verified, so anybody may have registered it. If you know that its owner did: sixwire user verify ${email}. If not: sixwire user demote ${email}`
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** `3 days ago` */
function ago(time: number): string {
  const elapsed = Math.max(0, Date.now() - time)
  const [unit, ms] = UNITS.find((one) => elapsed >= one[1]) ?? UNITS[3]
  return new Intl.RelativeTimeFormat('en').format(-Math.floor(elapsed / ms), unit)
}

const CHANGES = ['verify', 'promote', 'demote', 'disable', 'enable'] as const

const isChange = (word: string | undefined): word is (typeof CHANGES)[number] =>
  CHANGES.some((change) => change === word)

function whole(value: unknown, name: string): number {
  if (typeof value !== 'string' || !/^\d{1,9}$/.test(value))
    throw new UsageError(`${name} takes a whole number`)
  return Number(value)
}
