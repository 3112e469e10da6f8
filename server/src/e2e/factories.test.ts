import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { factoryFaults } from '../../../scripts/factories.ts'

test('npm run check finds factories of other shapes than (context, nouns, options), and endpoints outside of routes.ts', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sixwire-factories-'))
  t.after(() => rm(root, { recursive: true }))
  for (const [file, text] of [
    ['baskets.ts', 'export function createBaskets({ db }: Context, nouns: Nouns, options: Options) {}\n'],
    ['queue.ts', 'export const createQueue = (size: number): Queue => ({ size })\n'],
    [
      'insert.ts',
      'export async function createBasket(db: Database, id: string) {}\nexport function parse(a: A, b: B) {}\n',
    ],
    ['lines.ts', 'export function createLines(db: Database, size: number) {}\n'],
    ['prices.ts', 'export const openPrices = (options: Options, { db, clock: now }: Context) => ({})\n'],
    ['basket-endpoints.ts', 'export const basketEndpoints = ({ baskets }: Parts) => ({})\n'],
    ['index.ts', "import { basketEndpoints } from './basket-endpoints.ts'\n"],
    ['routes.ts', "import { basketEndpoints } from './basket-endpoints.ts'\n"],
  ] as const)
    await writeFile(join(root, file), text)
  assert.deepEqual(
    factoryFaults(root, '*.ts').map((line) => line.replace(/: take objects.*/, '')),
    [
      'lines.ts: createLines(x, x)',
      'prices.ts: openPrices takes db later than first: it belongs to the context',
      'prices.ts: openPrices takes clock later than first: it belongs to the context',
      'index.ts: makes basketEndpoints: only the routes.ts of a wire does',
    ],
  )
})
