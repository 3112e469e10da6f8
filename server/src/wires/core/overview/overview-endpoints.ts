import { platformVersion } from '../../../base/platform-version.ts'
import { Type } from '../../../base/schema.ts'
import { endpoint } from '../../../http/route.ts'
import type { Settings } from '../../../kernel/config/config.ts'
import { DANGERS } from '../../../kernel/wire/screen.ts'
import type { ServerStatus } from '../server-status.ts'
import { HealthFields, type Health } from '../health.ts'
import { readOverview } from './overview.ts'
import { Time } from '../schemas.ts'

const Hour = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When it begins.' }),
  requests: Type.Integer(),
  refusals: Type.Integer({ description: 'Of the requests: with a status of 4xx.' }),
  failures: Type.Integer({ description: 'Of the requests: with a status of 5xx.' }),
  meanMs: Type.Number(),
})

const JobCount = Type.Object({
  kind: Type.String(),
  state: Type.Enum(['ready', 'running', 'waiting', 'failed'], {
    description: 'Those that run are ready, too.',
  }),
  count: Type.Integer(),
})

const FigureFields = Type.Object({
  wire: Type.String(),
  name: Type.String({ examples: ['unverified-accounts'] }),
  title: Type.String(),
  kind: Type.Enum(['count', 'bytes', 'time', 'text']),
  isWarning: Type.Optional(
    Type.Boolean({ description: 'A value above 0, or of a time none, needs attention.' }),
  ),
  value: Type.Union([Type.Number(), Type.String(), Type.Null()]),
})

const Finding = Type.Object({
  check: Type.String({ description: 'The check of sixwire doctor.' }),
  severity: Type.Enum(['warning', 'fault']),
  problem: Type.String(),
  remedy: Type.String(),
  mend: Type.Optional(
    Type.Object(
      {
        label: Type.String({ description: 'The words of its button.' }),
        call: Type.String({ description: 'Method and path.', examples: ['POST /store/backup'] }),
        body: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        asks: Type.Optional(Type.String({ description: 'What is asked before.' })),
        done: Type.String({ description: 'What is said when it is done.' }),
      },
      { description: 'A call that mends it.' },
    ),
  ),
  opens: Type.Optional(
    Type.Object(
      { title: Type.String(), at: Type.String({ examples: ['jobs?state=failed'] }) },
      { description: 'The place of the console where it is mended or looked at.' },
    ),
  ),
})

const OverviewReply = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    platform: Type.String({ description: "Sixwire's version." }),
    production: Type.Boolean(),
    policy: Type.Enum(['open', 'guarded']),
    at: Time,
    health: Type.Object({ status: Type.Enum(['healthy', 'unhealthy']), ...HealthFields }),
    requests: Type.Optional(
      Type.Array(Hour, {
        description: 'The last 24 hours of all replicas, oldest first; the last has not ended.',
      }),
    ),
    jobs: Type.Optional(Type.Array(JobCount)),
    openFaults: Type.Optional(Type.Integer()),
    figures: Type.Array(FigureFields),
    findings: Type.Array(Finding, { description: 'What sixwire doctor finds, faults first.' }),
  },
  { title: 'Overview' },
)

const Setting = Type.Object({
  option: Type.String({ examples: ['pay.stripe.secretKey'] }),
  variable: Type.Union([Type.String(), Type.Null()]),
  value: Type.Unknown({ description: 'Masked if it may be a secret.' }),
  source: Type.String({ description: 'default, environment, .env, the name of a file, sandbox …' }),
})

const FIELD_KINDS = ['text', 'number', 'boolean', 'time', 'email', 'choice', 'json'] as const
const Names = Type.Record(Type.String(), Type.String())

const FormField = Type.Object({
  name: Type.String(),
  in: Type.Enum(['path', 'query', 'body']),
  title: Type.String(),
  kind: Type.Enum(FIELD_KINDS),
  isRequired: Type.Boolean(),
  description: Type.Optional(Type.String()),
  options: Type.Optional(Type.Array(Type.String())),
  minimum: Type.Optional(Type.Number()),
  maximum: Type.Optional(Type.Number()),
  maxLength: Type.Optional(Type.Integer()),
  default: Type.Optional(Type.Unknown()),
})

const ScreenReply = Type.Object(
  {
    wire: Type.String(),
    name: Type.String(),
    title: Type.String(),
    list: Type.String({ examples: ['GET /loyalty/accounts'] }),
    rows: Type.String({ description: 'The field of the answer that has the records.' }),
    key: Type.String({ description: 'The field that identifies a record.' }),
    isPaged: Type.Boolean(),
    filters: Type.Array(FormField),
    columns: Type.Array(
      Type.Object({ field: Type.String(), title: Type.String(), kind: Type.Enum(FIELD_KINDS) }),
    ),
    detail: Type.Optional(Type.Object({ route: Type.String(), from: Names })),
    actions: Type.Array(
      Type.Object({
        route: Type.String(),
        title: Type.String(),
        danger: Type.Enum(DANGERS),
        isOfRecord: Type.Boolean(),
        from: Names,
        fields: Type.Array(FormField),
        isIdempotent: Type.Boolean(),
      }),
    ),
  },
  { title: 'Screen' },
)

/** The endpoints with which a console shows an installation. */
export function overviewEndpoints({
  status,
  settings,
  readHealth,
}: {
  status: ServerStatus
  settings: Settings
  readHealth: () => Promise<Health>
}) {
  const { name, version, production, policy } = settings
  const about = { name, version, platform: platformVersion(), production, policy }
  return {
    overview: endpoint(
      {
        summary: 'Get the state of the installation',
        description:
          'Health, requests, jobs, figures of the wires and what is misconfigured. A part that can’t be read is left out.',
        access: 'operator',
        reply: { 200: OverviewReply },
      },
      async () => ({ ...about, at: status.now(), ...(await readOverview(status, readHealth)) }),
    ),
    config: endpoint(
      {
        summary: 'Get the settings that are in force',
        description:
          'Of this process, with where each is from; secrets are masked. sixwire config shows the same.',
        access: 'operator',
        reply: { 200: Type.Object({ settings: Type.Array(Setting) }, { title: 'SettingsInForce' }) },
      },
      () => ({ settings: [...status.settings()] }),
    ),
    screens: endpoint(
      {
        summary: 'List screens of the wires',
        description: 'The screens that the application’s wires declare for the console.',
        access: 'operator',
        reply: { 200: Type.Object({ screens: Type.Array(ScreenReply) }, { title: 'ScreenList' }) },
      },
      () => ({ screens: [...status.screens()] }),
    ),
  }
}
