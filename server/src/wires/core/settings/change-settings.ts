import type { Clock } from '../../../base/clock.ts'
import { defineErrors, errors, invalid, type ApiError, type Issue } from '../../../base/errors.ts'
import { StartError } from '../../../base/start-error.ts'
import { requireRow, type Database } from '../../../db/database.ts'
import type { Caller } from '../../../http/access.ts'
import type { Actor } from '../../../http/actor.ts'
import { createValidation } from '../../../http/validation.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'
import { isOpenText, MASK, masked } from '../../../kernel/config/masked.ts'
import {
  optionNamedBy,
  WEBHOOKS,
  type Settable,
  type SettableOption,
} from '../../../kernel/settings/settable-options.ts'
import {
  forgetVersionsSql,
  insertVersionSql,
  readStoredSettings,
  type StoredOptions,
} from '../../../kernel/settings/stored-settings.ts'
import type { SettingsStatus } from './setting-changes.ts'

export const settingsErrors = defineErrors({
  settings_refused: [
    409,
    'A provider does not answer as it should with these settings: details.checks says which and why. force=true stores them nevertheless.',
  ],
})

/** What changes need. */
export type SettingsContext = {
  db: Database
  clock: Clock
  audit: Audit
  secret: string
  status: Pick<SettingsStatus, 'settable' | 'changes'>
}

/** What is to change: values by the paths of options; null: as if it had never been set. */
export type SettingsChange = {
  /** The newest version, as it was read. */
  version: number
  values: Readonly<Record<string, unknown>>
  /** Whether providers that do not answer keep nothing from being stored. */
  force: boolean
  actor: Actor
  caller: Caller
}

/** Of a value as JSON, in characters. */
const LONGEST = 20_000
/** Of a text of a mail. */
const LONGEST_TEXT = 100_000

/** Where a provider's secrets are sent. */
const ADDRESS = /(url|endpoint|issuer)$/i

/**
 * Stores settings that could be in force, and puts them into force in this process; others follow within seconds.
 *
 * @throws VALIDATION_ERROR with the options that cannot be set, FORBIDDEN to a service key without the scopes of their wires, PRECONDITION_FAILED if there is a newer version, SETTINGS_REFUSED
 */
export async function changeSettings(context: SettingsContext, change: SettingsChange) {
  const { db, clock, audit, secret, status } = context
  const { version, values, force, actor, caller } = change
  const { settable } = status
  const issues = Object.entries(values).flatMap(([path, value]) => issuesOf(path, value, settable.at(path)))
  if (issues.length > 0) throw invalid(...issues)
  refuseWithoutScope(
    caller,
    Object.keys(values).map((path) => settable.at(path)!),
  )
  const before = await readStoredSettings(db, secret)
  if (before.version !== version) throw errors.precondition_failed()
  const options = withValues(before.options, values)
  const changed = Object.keys(values).filter((path) => !isSame(before.options[path], options[path]))
  if (changed.length === 0) return { version, inForce: status.changes.inForce() === version }
  refuseMovedSecrets(before.options, values, changed, settable)
  const next = { version: version + 1, options }
  const checks = await status.changes.tryOut(next, changed).catch((error: unknown) => {
    throw error instanceof StartError ? refusedBy(error, settable.list(options), changed) : error
  })
  if (checks.length > 0 && !force) throw settingsErrors.settings_refused({ details: { checks } })
  const shown = (of: StoredOptions) =>
    Object.fromEntries(
      changed.map((path) => [path, masked(of[path] ?? null, settable.at(path)!.place) ?? null]),
    )
  await db.batch([
    requireRow(
      insertVersionSql(
        { version: next.version, changed, createdAt: clock.now(), createdBy: actor.id ?? actor.kind },
        options,
        secret,
      ),
      () => errors.precondition_failed(),
    ),
    forgetVersionsSql(next.version),
    audit.entrySql(actor, {
      action: 'settings.changed',
      target: `settings:${next.version}`,
      before: shown(before.options),
      after: shown(options),
    }),
  ])
  // They are stored: GET /core/settings says what keeps them from being in force.
  await status.changes.reload().catch(() => undefined)
  return { version: next.version, inForce: status.changes.inForce() === next.version }
}

const validation = createValidation()

function issuesOf(path: string, value: unknown, option: SettableOption | undefined): Issue[] {
  const at = `/body/values/${path}`
  if (!option) return [{ path: at, message: 'no such option can be set here: GET /core/settings lists them' }]
  if (option.lockedBy !== undefined)
    return [{ path: at, message: `it is set by ${option.lockedBy}: change it there` }]
  const text = JSON.stringify(value)
  // Before anything searches them.
  const longest = isOpenText(option.schema) ? LONGEST_TEXT : LONGEST
  if (text.length > longest) return [{ path: at, message: `must NOT have more than ${longest} characters` }]
  if (text.includes(MASK) && !isOpenText(option.schema))
    return [{ path: at, message: `write the whole value: ${MASK} is only a placeholder for a secret` }]
  // Those of a wire are checked with its other options, and webhooks with each other.
  if (option.wire !== undefined || path.startsWith(WEBHOOKS) || value === null) return []
  const result = validation('body', option.schema)(value)
  if (!('error' in result)) return []
  const issues = (result.error as ApiError).details!['issues'] as readonly Issue[]
  return issues.map((one) => ({ ...one, path: one.path.replace('/body', at) }))
}

/** A service key of core alone must not open sign-up, or send the links in mails elsewhere: the frame's options concern all wires. */
function refuseWithoutScope(caller: Caller, options: readonly SettableOption[]): void {
  if (caller.kind !== 'key' || caller.scopes.includes('*')) return
  const missing = options.find(({ wire = '*' }) => !caller.scopes.includes(wire))
  if (!missing) return
  throw errors.forbidden({
    message: `This service key lacks the scope "${missing.wire ?? '*'}", which ${missing.path} takes.`,
  })
}

function withValues(options: StoredOptions, values: SettingsChange['values']): StoredOptions {
  const all = Object.entries({ ...options, ...values })
  return Object.fromEntries(all.filter(([, value]) => value !== null))
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Refuses a new address of a provider without its stored secrets: whoever sets the address would receive them. */
function refuseMovedSecrets(
  stored: StoredOptions,
  values: SettingsChange['values'],
  changed: readonly string[],
  settable: Settable,
): void {
  const moved = new Set(changed.filter((path) => ADDRESS.test(path)).map((path) => settable.at(path)!.group))
  const missing = settable
    .list(stored)
    .filter(
      ({ path, group, place }) =>
        moved.has(group) && place.isSecret && Object.hasOwn(stored, path) && !Object.hasOwn(values, path),
    )
  if (missing.length === 0) return
  throw invalid(
    ...missing.map(({ path }) => ({
      path: `/body/values/${path}`,
      message: 'write it again: its provider has another address now',
    })),
  )
}

/** What keeps a server from starting, at the option that it names. */
function refusedBy({ message }: StartError, settable: readonly SettableOption[], changed: readonly string[]) {
  // `webhooks[0].url: …`
  const [, ofWebhook] = /^webhooks\[\d+\][^:]*: (.*)$/s.exec(message) ?? []
  const webhook = ofWebhook && changed.find((one) => one.startsWith(WEBHOOKS))
  if (webhook) return invalid({ path: `/body/values/${webhook}`, message: ofWebhook })
  const named = optionNamedBy(message, settable)
  return invalid({
    path: named ? `/body/values/${named.option.path}` : '/body/values',
    message: named?.reason ?? message,
  })
}
