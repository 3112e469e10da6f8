// Apart from the other test of it: the types of all packages take the compiler a quarter of a minute.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startNode } from '../testing/program.ts'
import { initiated } from './init.fixture.ts'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

test('what sixwire init writes type-checks, with the declarations of all packages', async (t) => {
  const { folder } = await initiated(t)
  const compiler = startNode(t, [TSC, '--project', join(folder, 'tsconfig.json')], { folder })
  assert.equal(await compiler.ended, 0, compiler.output())
})
