import { oneLine } from '../base/one-line.ts'
import { StartError } from '../base/start-error.ts'
import type { Account, Accounts, RefusedLine } from '../wires/auth/index.ts'
import { defineAction, UsageError, type CommandGroup } from './command.ts'
import { JSON_OPTION, PAGE_OPTIONS } from './option.ts'
import { pageTable, plural, print } from './print.ts'
import { newPassword, readPassword, watchInput } from './password-input.ts'
import { readFile } from './read-file.ts'
import { withApp } from './with-app.ts'

const PASSWORD_OPTION = {
  'password-stdin': {
    description: 'read the password from standard input, or ask for it at a terminal, instead of making one',
  },
} as const

/** Sets a password, and prints it if it was made here: a person who typed it knows it. */
async function withPassword(
  isRead: boolean,
  json: boolean,
  work: (accounts: Accounts, password: string) => Promise<Account>,
): Promise<number> {
  const hasInput = isRead ? () => false : watchInput()
  const password = isRead ? await readPassword() : newPassword()
  return withApp(async (app) => {
    if (hasInput())
      throw new StartError(
        'standard input has text: add --password-stdin if it is the password, or < /dev/null to have one made',
      )
    const account = await work(app.service('auth').users, password)
    print(json, { ...account, ...(!isRead && { password }) }, () =>
      isRead ? lineOfState(account) : `${password}\n\nThe password is shown once. ${lineOfState(account)}.`,
    )
    return 0
  })
}

/** Prints each line that is refused as it is read: a file may have any number of them. */
async function importUsers(file: string, dryRun: boolean, json: boolean): Promise<number> {
  const errors: RefusedLine[] = []
  const refused = (line: RefusedLine): void => {
    if (json) errors.push(line)
    else console.log(lineOfRefused(line))
  }
  const counts = await readFile(file, dryRun ? 'Check' : 'Import', (content, counted) =>
    withApp((app) =>
      app.service('auth').users.import(content, { dryRun, mayGiveRoles: true }, { refused, counted }),
    ),
  )
  print(json, { ...counts, errors }, () => {
    const { created, unchanged, refused: failed } = counts
    return `${dryRun ? 'Nothing was written. It would be: ' : ''}${created} created, ${unchanged} unchanged, ${failed} refused.`
  })
  return counts.refused > 0 ? 1 : 0
}

const lineOfRefused = ({ line, _id, code, message }: RefusedLine): string =>
  `line ${line}${_id === undefined ? '' : ` (${oneLine(_id, 64)})`}: ${code} ${message}`

/** An action that changes one account, and what it prints of it. */
const change = (
  summary: string,
  work: (accounts: Accounts, email: string) => Promise<Account>,
  lineOf: (account: Account) => string = lineOfState,
) =>
  defineAction({
    summary,
    words: ['EMAIL'],
    options: JSON_OPTION,
    run: ({ words: [email], options: { json } }) =>
      withApp(async (app) => {
        const account = await work(app.service('auth').users, email)
        print(json, account, () => lineOf(account))
        return 0
      }),
  })

export const user: CommandGroup = {
  summary: 'Manage accounts: create and list them, set passwords and roles, and end sessions',
  actions: {
    create: defineAction({
      summary: 'Create an account with a verified address, and print its password, once',
      words: ['EMAIL'],
      options: {
        admin: { description: 'make it an administrator' },
        unverified: { description: 'let its owner verify the address with a link that is sent' },
        ...PASSWORD_OPTION,
        ...JSON_OPTION,
      },
      run({ words: [email], options: { admin, unverified, 'password-stdin': isRead, json } }) {
        return withPassword(isRead, json, (users, password) =>
          users.create({ email, password, role: admin ? 'admin' : 'user', isVerified: !unverified }),
        )
      },
    }),
    import: defineAction({
      summary: 'Create accounts from a file of NDJSON, with their ids and the hashes of their passwords',
      words: ['FILE'],
      options: {
        'dry-run': { description: 'check all lines, and write nothing' },
        ...JSON_OPTION,
      },
      details:
        'A line that is refused is reported and keeps no other out; the command exits with 1 then. A line with the\n_id of an account changes nothing.',
      run: ({ words: [file], options: { 'dry-run': dryRun, json } }) => importUsers(file, dryRun, json),
    }),
    'set-password': defineAction({
      summary: 'Set another password and end all sessions; the owner is told by email',
      words: ['EMAIL'],
      options: { ...PASSWORD_OPTION, ...JSON_OPTION },
      run({ words: [email], options: { 'password-stdin': isRead, json } }) {
        return withPassword(isRead, json, (users, password) => users.setPassword(email, password))
      },
    }),
    'set-email': defineAction({
      summary: 'Set another address, which gets a link to verify it; the old one is told by email',
      words: ['EMAIL', 'NEW-EMAIL'],
      options: { verified: { description: "the address is its owner's: no link is sent" }, ...JSON_OPTION },
      run: ({ words: [email, newEmail], options: { verified, json } }) =>
        withApp(async (app) => {
          const change = { email: newEmail, ...(verified && { verified }) }
          const account = await app.service('auth').users.update(email, change)
          print(json, account, () => lineOfAddress(email, account))
          return 0
        }),
    }),
    list: defineAction({
      summary: 'List the accounts, newest first; with TEXT those whose address or name has this part',
      words: ['[TEXT]'],
      options: { ...PAGE_OPTIONS, ...JSON_OPTION },
      run: ({ words: [q], options: { json, ...page } }) =>
        withApp(async (app) => {
          const found = await app.service('auth').users.list({ q, ...page })
          print(json, { ...found, ...page }, () =>
            pageTable(HEADINGS, found.accounts.map(rowOf), found.total ?? found.accounts.length),
          )
          return 0
        }),
    }),
    verify: change('Mark the address as verified without an email', (users, email) => users.verify(email)),
    promote: change(
      'Make the account an administrator',
      (users, email) => users.promote(email),
      lineOfPromoted,
    ),
    viewer: change(
      'Make the account a viewer, who reads what an administrator reads and changes nothing',
      (users, email) => users.makeViewer(email),
    ),
    demote: change('Remove the role of administrator or viewer', (users, email) => users.demote(email)),
    unlock: change(
      'Clear the count of wrong passwords, so that a locked address accepts the password again',
      (users, email) => users.unlock(email),
      ({ email }) => `${email} accepts its password`,
    ),
    disable: change('End all sessions of the account and prevent new ones', (users, email) =>
      users.disable(email),
    ),
    enable: change('Let a disabled account sign in again', (users, email) => users.enable(email)),
    'remove-factors': change(
      'Remove all second factors of a user who has lost them and end all sessions; the owner is told by email',
      (users, email) => users.removeFactors(email),
      ({ email }) => `${email} has no second factor any more, and no session`,
    ),
    'sign-out': defineAction({
      summary: 'End all sessions of the account',
      words: ['[EMAIL]'],
      options: { all: { description: 'of all accounts, instead of EMAIL' }, ...JSON_OPTION },
      run({ words: [email], options: { all, json } }) {
        if ((email === undefined) !== all) throw new UsageError('it takes one email address, or --all')
        return withApp(async (app) => {
          const ended = await app.service('auth').users.signOut(email)
          const whose = all ? 'of all accounts' : `of ${email}`
          print(json, { ended }, () => `${plural(ended, 'session')} ended ${whose}`)
          return 0
        })
      },
    }),
  },
  details: 'A running server applies the change from its next request.',
}

const HEADINGS = ['EMAIL', 'ROLE', 'VERIFIED', 'STATE', 'CREATED', 'ID']

const rowOf = ({ email, role, emailVerified, disabled, createdAt, id }: Account): string[] => [
  email,
  role,
  emailVerified ? 'yes' : 'no',
  disabled ? 'disabled' : 'active',
  createdAt,
  id,
]

function lineOfState({ email, disabled, role }: Account): string {
  return `${email} is ${disabled ? 'disabled' : `active, with the role ${role}`}`
}

const lineOfAddress = (old: string, { email, emailVerified }: Account): string =>
  `${old} is ${email} now, ${emailVerified ? 'verified' : 'and not verified yet'}`

/** The account that became an administrator, with what the operator should know of it. */
function lineOfPromoted({ email, emailVerified, disabled, createdAt }: Account): string {
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
