// Writes the table of limits in docs/operations.md, from the routes.
//
//   node scripts/limits-table.ts
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createApp } from '../server/src/app.ts'
import { DESCRIPTION_LIMIT, limitOf, type LimitOfRoute } from '../server/src/http/limits.ts'
import { DESCRIPTION } from '../server/src/http/openapi.ts'
import type { RouteGroup, RouteSpec } from '../server/src/http/route.ts'

export const PAGE = new URL('../docs/operations.md', import.meta.url)

const BEGIN = '<!-- limits: made by npm run reference -->\n'
const END = '<!-- end of limits -->'

type Row = LimitOfRoute & { key: string; who: string; shared: string | undefined }

/** For whom calls are counted. */
function countedPer({ access, limit }: RouteSpec, { counted }: LimitOfRoute): string {
  if (access === 'public') return 'client address'
  if (limit === undefined) return 'client address, without a token'
  if (access === 'optional') return 'user or client address'
  return counted.includes('key') ? 'user or service key' : 'user'
}

function rowsOf(groups: readonly RouteGroup[]): Row[] {
  const routes = groups.flatMap((group) => group.routes)
  const names = Map.groupBy(routes, ({ spec }) => limitOf(spec)?.name)
  const described = DESCRIPTION.map(({ method, path }): Row => ({
    key: `${method} ${path}`,
    rate: DESCRIPTION_LIMIT,
    name: undefined,
    countedIn: 'process',
    always: false,
    counted: ['stranger'],
    who: 'client address',
    shared: 'description',
  }))
  const own = routes.flatMap(({ key, spec }): Row[] => {
    const limit = limitOf(spec)
    if (!limit) return []
    const shared = names.get(limit.name)!.length > 1 ? limit.name : undefined
    return [{ ...limit, key, who: countedPer(spec, limit), shared }]
  })
  return [...own, ...described]
}

const WHO = [
  'user',
  'user or service key',
  'user or client address',
  'client address',
  'client address, without a token',
]
const callsAnHour = ({ rate }: Row): number =>
  Number(rate.split('/', 1)[0]) * (rate.endsWith('hour') ? 1 : 60)

/** The table: limits of users first, the lowest first. Routes of one row are counted apart unless it says otherwise. */
export function limitsTable(groups: readonly RouteGroup[]): string {
  const rows = Map.groupBy(rowsOf(groups), ({ who, rate, countedIn, shared }) =>
    JSON.stringify([who, rate, countedIn, shared]),
  )
  const lines = [...rows.values()]
    .toSorted(([a], [b]) => WHO.indexOf(a!.who) - WHO.indexOf(b!.who) || callsAnHour(a!) - callsAnHour(b!))
    .map((equal) => {
      const { rate, who, countedIn, shared } = equal[0]!
      const keys = equal.map(({ key }) => `\`${key}\``).join(', ')
      const calls = rate.replace('/hour', ' an hour').replace('/min', ' a minute')
      const where = countedIn === 'database' ? 'all replicas' : 'each process'
      return `| ${keys}${shared === undefined ? '' : ', together'} | ${calls} | ${who} | ${where} |`
    })
  return ['| routes | calls | of each | counted by |', '|---|---|---|---|', ...lines].join('\n')
}

/** The page with the table in its place. */
export function withTable(page: string, table: string): string {
  const [before, rest] = page.split(BEGIN)
  const [, after] = rest?.split(END) ?? []
  if (after === undefined) throw new Error(`docs/operations.md: "${BEGIN.trim()}" and "${END}" are missing`)
  return `${before}${BEGIN}${table}\n${END}${after}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = await mkdtemp(join(tmpdir(), 'sixwire-limits-'))
  const environment = { PORT: '0', LOG_LEVEL: 'silent', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder }
  const app = await createApp({ folder, environment })
  try {
    await writeFile(PAGE, withTable(await readFile(PAGE, 'utf8'), limitsTable(app.routes)))
  } finally {
    await app.close()
    await rm(folder, { recursive: true })
  }
}
