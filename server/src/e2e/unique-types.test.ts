import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { repeatedTypes } from '../../../scripts/unique-types.ts'

test('npm run check finds a type name that two files export', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sixwire-types-'))
  t.after(() => rm(root, { recursive: true }))
  await mkdir(join(root, 'testing'))
  for (const [file, text] of [
    ['one.ts', 'export type Order = { id: string }\nexport class Basket {}\ntype Own = 1\n'],
    ['two.ts', 'export interface Order {}\ntype Own = 2\nexport const Basket = 1\n'],
    ['one.test.ts', 'export type Basket = 1\n'],
    ['testing/app.ts', 'export type Courier = 1\n'],
    ['courier.ts', 'export type Courier = 2\n'],
  ] as const)
    await writeFile(join(root, file), text)
  assert.deepEqual(repeatedTypes(root), [
    ['Courier', ['courier.ts', 'testing/app.ts']],
    ['Order', ['one.ts', 'two.ts']],
  ])
})
