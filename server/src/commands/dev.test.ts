import assert from 'node:assert/strict'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { Ending } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { applicationFolder, startProgram, type Program } from '../testing/program.ts'

describe('sixwire dev', () => {
  const APPLICATION = {
    'sixwire.config.ts': `
import { defineConfig } from 'sixwire'
import { greeting } from './greeting/index.ts'
export default defineConfig({ name: 'first name', wires: [greeting()] })
`,
    'greeting/index.ts': `
import { defineWire, route, Type } from 'sixwire'
import { word } from './words/word.ts'
export const greeting = defineWire({
  name: 'greeting',
  setup: () => ({
    service: undefined,
    routes: [
      route('GET /greeting', { summary: 'Greet', access: 'public', reply: { 200: Type.Object({ word: Type.String() }) } },
        () => ({ word: word + (process.env['ENDING'] ?? '') })),
    ] as const,
  }),
})
`,
    'greeting/words/word.ts': `export const word: string = 'one'\n`,
  }

  /** What these tests read of the answers. */
  type Answer = { word?: string; name?: string; ready?: boolean }

  async function startDev(t: Ending) {
    const folder = await applicationFolder(t, APPLICATION)
    // One port for all starts, so between them another program could take it.
    const port = String(await freePort())
    // The environment names a port that only root may open.
    const environment = { PORT: '1', SIXWIRE_WIRES: 'core,greeting', SIXWIRE_SANDBOX: 'off' }
    const program = startProgram(t, ['dev', '--port', port], { folder, environment })
    const url = `http://127.0.0.1:${port}`
    /** Asks until the server answers so: it is away while it restarts. */
    async function until(path: string, holds: (body: Answer) => boolean): Promise<void> {
      for (;;) {
        const body = await fetch(url + path).then(
          (response) => response.json() as Promise<Answer>,
          () => undefined,
        )
        if (body !== undefined && holds(body)) return
        await delay(20)
      }
    }
    return {
      folder,
      program,
      url,
      until,
      write: (name: string, text: string) => writeFile(join(folder, name), text),
    }
  }

  /** Ends it and waits until nobody listens any more. */
  async function assertEnds(program: Program, url: string, signal: NodeJS.Signals): Promise<void> {
    program.signal(signal)
    assert.equal(await program.ended, 0, program.errors())
    await assert.rejects(fetch(url), 'no server is left')
  }

  test('restarts for every file that is saved, in whatever way', async (t) => {
    const { folder, program, url, until, write } = await startDev(t)
    const word = join(folder, 'greeting/words/word.ts')
    const says = (expected: string) => until('/greeting', (body) => body.word === expected)
    await says('one')

    await write('greeting/words/word.ts', `export const word: string = 'two'\n`)
    await says('two')
    // Many editors put a new file in the place of the old one.
    for (const next of ['three', 'four']) {
      await writeFile(`${word}~`, `export const word: string = '${next}'\n`)
      await rename(`${word}~`, word)
      await says(next)
    }
    await write('greeting/index.ts', APPLICATION['greeting/index.ts'].replace('word +', `'[' + word +`))
    await says('[four')
    await write('sixwire.config.ts', APPLICATION['sixwire.config.ts'].replace('first name', 'second name'))
    await until('/info', (body) => body.name === 'second name')
    await write('.env', 'ENDING=!\n')
    await says('[four!')
    await write('.env', 'ENDING=?\n')
    await says('[four?')

    await write('greeting/words/word.ts', `export const word: string = ((\n`)
    await program.until(/the server has ended \(1\); it starts again when a file changes/)
    assert.match(program.errors(), /sixwire: sixwire\.config\.ts: SyntaxError: /)
    await write('greeting/words/word.ts', `export const word: string = 'five'\n`)
    await says('[five?')
    await assertEnds(program, url, 'SIGINT')
  })

  test('ends with its server by SIGTERM, and while nothing runs', async (t) => {
    const { program, url, until } = await startDev(t)
    await until('/ready', (body) => body.ready === true)
    await assertEnds(program, url, 'SIGTERM')
    const broken = await startDev(t)
    await broken.write('sixwire.config.ts', 'export default {')
    await broken.program.until(/the server has ended/)
    await assertEnds(broken.program, broken.url, 'SIGINT')
  })

  test('leaves no server behind when it is killed', async (t) => {
    const { program, url, until } = await startDev(t)
    await until('/ready', (body) => body.ready === true)
    program.signal('SIGKILL')
    for (;;) {
      const gone = await fetch(`${url}/ready`).then(
        () => false,
        () => true,
      )
      if (gone) return
      await delay(20)
    }
  })
})
