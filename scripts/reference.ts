// Writes docs/reference.md: every route, error code, setting and metric, from the code that they are in.
//
//   node scripts/reference.ts
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createApp, type App } from '../server/src/app.ts'
import type { ErrorKind } from '../server/src/base/errors.ts'
import { limitOf } from '../server/src/http/limits.ts'
import { errorsOf } from '../server/src/http/openapi-errors.ts'
import type { Route, RouteGroup } from '../server/src/http/route.ts'
import { frameVariables } from '../server/src/kernel/config/config.ts'
import { schemaAt } from '../server/src/kernel/config/option-path.ts'
import { configuredWires } from '../server/src/wires.ts'

const ROOT = new URL('../', import.meta.url)
export const PAGE = new URL('docs/reference.md', ROOT)

const INTRODUCTION = `# Reference

Every route, error code, setting and metric. This page is made from the code by \`npm run reference\`; a test
fails if it is not current.`

/** A heading and the lines of a table under it. */
function section(title: string, text: string, head: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [`## ${title}`, text, [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')].join(
    '\n\n',
  )
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``)

type Fields = { properties?: Record<string, object>; required?: readonly string[] }

/** The fields of a body or a query: an optional one ends in `?`. */
function fieldsOf(schema: unknown): string {
  const { properties = {}, required = [] } = (schema ?? {}) as Fields
  return Object.entries(properties)
    .map(([name, field]) => code(required.includes(name) && !('default' in field) ? name : `${name}?`))
    .join(', ')
}

function bodyOf({ spec: { body } }: Route): string {
  if (body === undefined) return ''
  if (body.kind === 'raw' || body.kind === 'stream') return 'bytes'
  if (body.kind !== 'multipart') {
    const { properties, additionalProperties } = body.schema as { properties?: object } & Record<
      string,
      unknown
    >
    return properties === undefined || additionalProperties === true ? 'any fields' : fieldsOf(body.schema)
  }
  const file = code(body.file.required ? body.file.field : `${body.file.field}?`)
  return `multipart: ${[file, fieldsOf(body.fields)].filter(Boolean).join(', ')}`
}

function routeRow(route: Route): string[] {
  const { summary, access, scope, query } = route.spec
  return [
    code(`${route.method} ${route.path}`),
    summary,
    scope === undefined ? access : `${access}, or a key with ${code(scope)}`,
    bodyOf(route) || fieldsOf(query),
    limitOf(route.spec)?.rate ?? '',
  ]
}

const routesOf = (groups: readonly RouteGroup[]): string =>
  section(
    'Routes',
    `Fields are those of the body, or of the query where there is no body; one that ends in \`?\` is optional.
\`/docs\` has their types, and an example of each call. Limits are per client address or user, if
\`SIXWIRE_RATE_LIMITS\` is \`on\`.`,
    ['route', '', 'access', 'fields', 'limit'],
    groups.flatMap(({ routes }) => routes.map(routeRow)),
  )

const isErrorKind = (value: unknown): value is ErrorKind =>
  typeof value === 'function' && 'code' in value && 'status' in value

/** All errors of all tables: whatever module calls `defineErrors` exports its table. */
async function errorKinds(): Promise<ErrorKind[]> {
  const files = globSync('{server,sandbox}/src/**/*.ts', { cwd: fileURLToPath(ROOT) }).filter(
    (file) => !/\.(test|fixture|long)\.ts$|^server\/src\/testing\//.test(file),
  )
  const kinds: ErrorKind[] = []
  for (const file of files.toSorted()) {
    if (!(await readFile(new URL(file, ROOT), 'utf8')).includes('= defineErrors(')) continue
    const exported = (await import(new URL(file, ROOT).href)) as Record<string, unknown>
    const found = Object.values(exported).flatMap((table) =>
      typeof table === 'object' && table !== null ? Object.values(table).filter(isErrorKind) : [],
    )
    if (found.length === 0) throw new Error(`${file}: export the table of defineErrors`)
    kinds.push(...found)
  }
  return kinds
}

async function errorCodes(groups: readonly RouteGroup[]): Promise<string> {
  const wiresOf = (name: string): string =>
    groups
      .filter(({ routes }) => routes.some((one) => errorsOf(one).some((kind) => kind.code === name)))
      .map(({ wire }) => wire)
      .join(', ')
  const byCode = Map.groupBy(await errorKinds(), (kind) => kind.code)
  const rows = [...byCode].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return section(
    'Error codes',
    `Every error is \`{"error": {"code", "message", "details?"}}\`. A message may say more than the one here: what
is wrong in this request, and what to do.`,
    ['code', 'status', 'message', 'wires'],
    rows.map(([name, kinds]) => [
      code(name),
      [...new Set(kinds.map(({ status }) => String(status)))].join(', '),
      [...new Set(kinds.map(({ message }) => message))].join(' '),
      wiresOf(name),
    ]),
  )
}

function settings(): string {
  const ofFrame = Object.entries(frameVariables).map(
    ([name, { option = '', description, default: fallback = '' }]) => [
      code(name),
      code(option),
      fallback,
      description,
    ],
  )
  const ofWires = configuredWires({}).flatMap(({ name, variables, optionsSchema }) =>
    Object.entries(variables).map(([variable, path]) => {
      const { description, default: fallback } = schemaAt(optionsSchema, path) as {
        description?: string
        default?: string | number | object
      }
      if (description === undefined)
        throw new Error(`${variable}: the option ${name}.${path} has no description`)
      const written = typeof fallback === 'object' ? '' : `${fallback ?? ''}`
      return [code(variable), code(`${name}.${path}`), written, description]
    }),
  )
  return section(
    'Settings',
    `An environment variable takes precedence over the option of \`sixwire.config.ts\`, and that over the default.
Options without a variable are on the pages of the wires.`,
    ['variable', 'option', 'default', ''],
    [...ofFrame, ...ofWires],
  )
}

const metrics = (app: App): string =>
  section(
    'Metrics',
    `\`GET /metrics\` has these, and those of the process and of Node (\`process_…\`, \`nodejs_…\`). Counters and
histograms are of the process that answers; gauges that are read from the database are the same on each replica.`,
    ['metric', 'type', ''],
    app
      .metrics()
      .map(({ name, type, help, labels }) => [
        code(labels.length === 0 ? name : `${name}{${labels.join()}}`),
        type,
        help,
      ]),
  )

/** The text of the page. */
export async function referencePage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sixwire-reference-'))
  const environment = { PORT: '0', LOG_LEVEL: 'silent', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder }
  const app = await createApp({ folder, environment })
  try {
    const parts = [INTRODUCTION, routesOf(app.routes), await errorCodes(app.routes), settings(), metrics(app)]
    return `${parts.join('\n\n')}\n`
  } finally {
    await app.close()
    await rm(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(PAGE, await referencePage())
