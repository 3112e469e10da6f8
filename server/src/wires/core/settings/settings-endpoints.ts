import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import { masked } from '../../../kernel/config/masked.ts'
import { WEBHOOKS, type SettableOption } from '../../../kernel/settings/settable-options.ts'
import { listVersions, readVersion, type StoredOptions } from '../../../kernel/settings/stored-settings.ts'
import type { SettingsStatus } from './setting-changes.ts'
import { Time } from '../schemas.ts'
import { CONSOLE } from './settings-in-force.ts'
import { changeSettings, settingsErrors, type SettingsContext } from './change-settings.ts'

const KINDS = ['text', 'number', 'integer', 'boolean', 'choice', 'list', 'webhook'] as const

const Option = Type.Object(
  {
    option: Type.String({ examples: ['messaging.smtp.url'] }),
    group: Type.String({ description: 'What is set together.', examples: ['messaging.smtp'] }),
    kind: Type.Enum(KINDS, {
      description:
        'list: of texts. webhook: an object of url, secret and events; its option is webhooks. and its name.',
    }),
    choices: Type.Optional(Type.Array(Type.String())),
    minimum: Type.Optional(Type.Number()),
    maximum: Type.Optional(Type.Number()),
    description: Type.Optional(Type.String()),
    variable: Type.Union([Type.String(), Type.Null()]),
    lockedBy: Type.Optional(
      Type.String({
        description: 'What sets it, so that it cannot be set here: a variable, or the configuration file.',
        examples: ['SMTP_URL'],
      }),
    ),
    isSecret: Type.Boolean({ description: 'Its value is never answered.' }),
    value: Type.Unknown({ description: 'In force; null: nothing. Masked if it may hold a secret.' }),
    source: Type.String({ description: 'console: it is set here; else as in GET /core/config.' }),
  },
  { title: 'SettableOption' },
)

const Version = Type.Object(
  {
    version: Type.Integer(),
    changed: Type.Array(Type.String(), { description: 'The options that it changed.' }),
    createdAt: Time,
    createdBy: Type.String({ description: 'The _id of the account or service key.' }),
  },
  { title: 'SettingsVersion' },
)

const SettingsReply = Type.Object(
  {
    version: Type.Integer({ description: 'The newest version; 0: nothing was ever set here.' }),
    inForce: Type.Boolean({ description: 'Whether this server works with the newest version already.' }),
    fault: Type.Optional(Type.String({ description: 'Why it does not.' })),
    canChange: Type.Boolean({ description: 'false: SIXWIRE_SETTINGS is off.' }),
    options: Type.Array(Option),
    versions: Type.Array(Version, { description: 'The last 20, the newest first.' }),
  },
  { title: 'SettingsOfConsole' },
)

const Changed = Type.Object(
  {
    version: Type.Integer({ description: 'The newest version.' }),
    inForce: Type.Boolean({
      description: 'Whether this server works with it already; with the sandbox that takes a moment.',
    }),
  },
  { title: 'SettingsChanged' },
)

const Force = Type.Object({
  force: Type.Boolean({
    default: false,
    description: 'Whether they are stored even if a provider does not answer as it should.',
  }),
})

type Context = SettingsContext & {
  status: SettingsStatus
  canChange: boolean
}

/** The endpoints of the settings that administrators change while the server runs. */
export const settingsEndpoints = (context: Context) => ({
  get: endpoint(
    {
      summary: 'Get the settings that can be changed while the server runs',
      description:
        'With their values, where each is from, and the versions before. Secrets are never answered, not even to administrators.',
      access: 'operator',
      readsOnly: true,
      reply: { 200: SettingsReply },
    },
    () => readSettings(context),
  ),
  change: endpoint(
    {
      summary: 'Change settings while the server runs',
      description:
        'They are checked first, by a connection to each provider of a wire whose options change; then they are stored, encrypted, and in force without a restart: on this server with the answer, on others within three seconds. What the environment or the configuration file sets cannot be changed here. An option that says where a provider is can be changed only together with the provider’s secrets. A service key also needs the scopes of the wires whose options it changes, and `*` for those of no wire.',
      access: 'operator',
      proof: 'recent',
      query: Force,
      body: json(
        Type.Object(
          {
            version: Type.Integer({
              minimum: 0,
              description: 'The newest version, as it was read.',
              examples: [0],
            }),
            values: Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
              maxProperties: 200,
              description: 'By options; null: as if it had never been set.',
              examples: [{ name: 'Pottery' }],
            }),
          },
          { title: 'ChangeSettingsRequest', additionalProperties: false },
        ),
      ),
      reply: { 200: Changed },
      errors: [errors.precondition_failed, settingsErrors.settings_refused],
    },
    async ({ body: { version, values }, query: { force }, actor, caller }) => {
      refuseIfOff(context)
      return changeSettings(context, { version, values, force, actor, caller })
    },
  ),
  restore: endpoint(
    {
      summary: 'Go back to an earlier version of the settings',
      description: 'As a change to what they were; the versions between stay.',
      access: 'operator',
      proof: 'recent',
      params: Type.Object({ version: Type.Integer({ minimum: 1, maximum: 2_147_483_647, examples: [1] }) }),
      query: Force,
      reply: { 200: Changed },
      errors: [errors.not_found, errors.precondition_failed, settingsErrors.settings_refused],
    },
    async ({ params, query: { force }, actor, caller }) => {
      refuseIfOff(context)
      const { db, secret } = context
      const [newest] = await listVersions(db)
      const [now, then] = await Promise.all([
        newest && readVersion(db, newest.version, secret),
        readVersion(db, params.version, secret),
      ])
      if (!newest || !now || !then)
        throw errors.not_found({ message: `There is no version ${params.version} of the settings any more.` })
      return changeSettings(context, {
        version: newest.version,
        values: valuesBetween(now, then),
        force,
        actor,
        caller,
      })
    },
  ),
})

function refuseIfOff({ canChange }: Context): void {
  if (canChange) return
  throw errors.forbidden({
    message: 'Settings cannot be changed here: SIXWIRE_SETTINGS is off.',
  })
}

/** The change from some options to others. */
const valuesBetween = (from: StoredOptions, to: StoredOptions): Record<string, unknown> => ({
  ...Object.fromEntries(Object.keys(from).map((path) => [path, null])),
  ...to,
})

async function readSettings({ db, status, canChange }: Context) {
  const versions = await listVersions(db)
  const version = versions[0]?.version ?? 0
  const inForce = new Map(status.settings().map((one) => [one.option, one]))
  const failed = status.changes.fault()
  const { options: stored } = status.stored()
  return {
    version,
    inForce: status.stored().version === version,
    // Not that of an earlier one, while the newest is still on its way.
    ...(failed?.version === version && { fault: failed.fault }),
    canChange,
    options: status.settable.list(stored).map((one) => ({
      ...described(one),
      ...(one.path.startsWith(WEBHOOKS)
        ? { value: masked(stored[one.path], one.place), source: CONSOLE }
        : {
            value: inForce.get(one.path)?.value ?? null,
            source: inForce.get(one.path)?.source ?? 'default',
          }),
    })),
    versions: versions.map((one) => ({
      ...one,
      changed: [...one.changed],
      createdAt: isoTime(one.createdAt),
    })),
  }
}

type FieldSchema = {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
}

/** An option as a form shows it. */
function described({ path, group, schema, place, variable, lockedBy }: SettableOption) {
  const { type, enum: choices, minimum, maximum, description } = schema as FieldSchema
  return {
    option: path,
    group,
    kind: path.startsWith(WEBHOOKS)
      ? ('webhook' as const)
      : choices
        ? ('choice' as const)
        : (KIND_OF_TYPE[type ?? ''] ?? ('text' as const)),
    ...(choices && { choices: [...choices] }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(description !== undefined && { description }),
    variable: variable ?? null,
    ...(lockedBy !== undefined && { lockedBy }),
    isSecret: place.isSecret,
  }
}

const KIND_OF_TYPE: Readonly<Record<string, (typeof KINDS)[number]>> = {
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
  array: 'list',
}
