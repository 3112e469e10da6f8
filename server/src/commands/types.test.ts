import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { runHere } from '../testing/command.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { applicationFolder } from '../testing/program.ts'

const TSC = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url))
const SHOP = `
import { defineConfig, defineErrors, defineWire, json, route, Type } from 'sixwire'
const { not_enough } = defineErrors({ not_enough: [409, 'There are not enough.'] })
const shop = defineWire({ name: 'shop', setup: () => ({ service: undefined, routes: [
  route(
    'POST /shop/orders',
    {
      summary: 'Order',
      access: 'user',
      idempotent: true,
      body: json(Type.Object({ count: Type.Integer({ default: 1 }) })),
      reply: { 200: Type.Object({ id: Type.String() }) },
      errors: [not_enough],
    },
    () => ({ id: '1' }),
  ),
] }) })
export default defineConfig({ wires: [shop()] })
`
const ORDER = `  /** Order */
  'POST /shop/orders': {
    body: {
      count?: number | undefined
    }
    reply: {
      id: string
    }
    errors: 'NOT_ENOUGH'
    idempotent: true
  }
}
`

test('sixwire types writes the routes of an application, and leaves its database alone', async (t) => {
  const folder = await applicationFolder(t, { 'sixwire.config.ts': SHOP })
  const before = await readdir(folder)
  const environment = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', SIXWIRE_SANDBOX: 'off' }
  const { code, output, errors } = await runHere(['types'], { folder, environment })
  assert.deepEqual([code, errors], [0, ''])
  assert.ok(output.endsWith(ORDER), output.slice(-500))
  assert.match(output, /^ {2}'POST \/auth\/login': \{$/m)
  assert.deepEqual(await readdir(folder), before)

  const written = await runHere(['types', '--output', 'api.ts'], { folder, environment })
  assert.deepEqual(written, { code: 0, output: '', errors: '' })
  assert.equal(await readFile(join(folder, 'api.ts'), 'utf8'), output)
})

const COLLECTIONS = `
import { defineConfig, Type } from 'sixwire'
export default defineConfig({ store: { collections: {
  projects: { schema: Type.Object({ title: Type.String(), price: Type.Optional(Type.Integer()) }) },
  'work-items': { schema: {
    title: 'A piece of work',
    description: 'What is to be done.',
    type: 'object',
    properties: { part: { $ref: '#/$defs/part' }, kind: { type: ['string', 'null'] }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
    required: ['part'],
    $defs: { part: { type: 'object', properties: { name: { type: 'string' }, parts: { type: 'array', items: { $ref: '#/$defs/part' } } } } },
  } },
  free: { schema: {}, files: { photo: {}, 'pages.scan': { max: 5 } } },
  notes: 'owner',
} } })
`
const DOCUMENTS = `
  /** The documents of the collections that have a schema. */
  collections: {
    projects: {
      title: string
      price?: number
    }
    /** What is to be done. */
    'work-items': {
      part: {
        name?: string
        parts?: unknown[]
      }
      kind?: string | null
      tags?: ('a' | 'b')[]
    }
    free: {
      /** The _id of a file. */
      photo?: string | null
    }
  }
  /** The fields of collections that take files. */
  fileFields: {
    free: 'photo' | 'pages.scan'
  }
}
`

test('sixwire types writes the documents of collections that have a schema', async (t) => {
  const folder = await applicationFolder(t, { 'sixwire.config.ts': COLLECTIONS })
  const { code, output, errors } = await runHere(['types'], {
    folder,
    environment: { SIXWIRE_SANDBOX: 'off' },
  })
  assert.deepEqual([code, errors], [0, ''])
  assert.ok(output.endsWith(DOCUMENTS), output.slice(-700))
})

test('sixwire types takes the definitions of files, over which the configuration has precedence', async (t) => {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const folder = await applicationFolder(t, {
    'sixwire.config.ts': COLLECTIONS,
    'definitions/people.json': JSON.stringify({ read: 'public', schema }),
    'definitions/projects.json': JSON.stringify({ schema }),
  })
  const environment = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', SIXWIRE_SANDBOX: 'off' }
  const run = () => runHere(['types', '--collections', 'definitions'], { folder, environment })
  const { code, output, errors } = await run()
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /^ {4}people: \{\n {6}name: string\n {4}\}$/m)
  assert.match(output, /^ {4}projects: \{\n {6}title: string$/m)

  await writeFile(join(folder, 'definitions/people.json'), '{"read": "everybody"}')
  const wrong = await run()
  assert.equal(wrong.code, 1)
  assert.match(wrong.errors, /^sixwire: definitions\/people\.json: read: "everybody" is no audience/)
})

test('they need no other types than those of a browser, under the strictest checks', async (t) => {
  const folder = await temporaryFolder(t)
  const { code } = await runHere(['types', '--output', 'api.ts'], { folder })
  assert.equal(code, 0)
  const compilerOptions = {
    lib: ['es2023', 'dom'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    skipLibCheck: false,
    noEmit: true,
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['api.ts'] }))
  const { stdout } = await promisify(execFile)(TSC, [], { cwd: folder })
  assert.equal(stdout, '')
})

test('a file that cannot be written is one line', async (t) => {
  const folder = await temporaryFolder(t)
  const { code, output, errors } = await runHere(['types', '--output', 'none/api.ts'], { folder })
  assert.deepEqual([code, output], [1, ''])
  assert.match(errors, /^sixwire: --output none\/api\.ts: the file can't be written: ENOENT.*\n$/)
})
