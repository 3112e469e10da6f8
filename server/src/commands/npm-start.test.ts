// `npm start` and `npm run dev`: npm passes signals on to the shell that it starts, and to nobody behind it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { freePort } from '../testing/free-port.ts'
import { applicationFolder } from '../testing/program.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * Runs a script of ours in a group of processes of its own, as a terminal does.
 *
 * @param application its files, or the folder of one that ran before
 */
async function startNpm(
  t: TestContext,
  script: string,
  application: Record<string, string> | string = {},
  environment: Record<string, string> = {},
) {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const text = scripts[script]!.replaceAll('server/bin/sixwire.js', join(ROOT, 'server/bin/sixwire.js'))
  const folder =
    typeof application === 'string'
      ? application
      : await applicationFolder(t, {
          'package.json': JSON.stringify({ type: 'module', scripts: { [script]: text } }),
          ...application,
        })
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const npm = spawn('npm', ['run', script], {
    cwd: folder,
    env: {
      // As in our own folder, where npm finds the Node that it has installed.
      PATH: `${dirname(process.execPath)}${delimiter}${PATH}`,
      HOME,
      TMPDIR,
      // With the cache of compiled modules a process starts in a third of the time.
      NODE_COMPILE_CACHE,
      npm_config_update_notifier: 'false',
      PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const ended = once(npm, 'exit')
  const closed = once(npm, 'close')
  function signalGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-npm.pid!, signal)
    } catch {
      // No process of the group is left.
    }
  }
  t.after(async () => {
    signalGroup('SIGKILL')
    await closed
  })
  let output = ''
  async function until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(output)
      if (found) return found
      const next = await Promise.race([once(npm.stdout, 'data'), closed.then(() => undefined)])
      if (next === undefined)
        throw new Error(`npm ended before it printed ${pattern}. It printed:\n${output}`)
    }
  }
  npm.stdout.setEncoding('utf8').on('data', (text: string) => void (output += text))
  const [, port] = await until(/runs at http:\/\/localhost:(\d+)/)
  return {
    url: `http://127.0.0.1:${port}`,
    folder,
    until,
    /** The exit code of npm, or the signal that ended it. */
    ended: ended.then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals),
    /** To npm alone, as from a supervisor. */
    signal: (signal: NodeJS.Signals) => void npm.kill(signal),
    /** To npm and the server, as Ctrl-C in a terminal. */
    signalGroup,
  }
}

describe(
  'a signal to npm ends the server with it',
  { skip: process.platform === 'win32' && 'there are no signals here' },
  () => {
    for (const script of ['start', 'dev'])
      for (const signal of ['SIGTERM', 'SIGINT'] as const)
        test(`npm run ${script}: ${signal}`, async (t) => {
          const npm = await startNpm(t, script, {}, { SIXWIRE_SANDBOX: 'off' })
          npm.signal(signal)
          assert.equal(await npm.ended, 0)
          await assert.rejects(fetch(npm.url), 'nobody listens any more')
        })

    /** An application with a call that ends when a file called `go-on` is there. */
    async function startSlow(t: TestContext) {
      // Stand-ins are reached by the address of the server, so it is known before.
      const environment = { PORT: String(await freePort()) }
      const files = {
        'sixwire.config.js': `
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { defineWire, route, Type } from 'sixwire'

const slow = defineWire({
  name: 'slow',
  setup: () => ({
    service: undefined,
    routes: [
      route('GET /slow', { summary: 'Take a while', access: 'public', reply: { 200: Type.Object({}) } }, async () => {
        console.log('the slow call has begun')
        while (!existsSync('go-on')) await delay(10)
        return {}
      }),
    ],
  }),
})
export default { wires: [slow()] }
`,
      }
      const npm = await startNpm(t, 'start', files, environment)
      const slow = fetch(`${npm.url}/slow`)
      slow.catch(() => undefined) // where it is cut off
      await npm.until(/the slow call has begun/)
      return { npm, slow, goOn: () => writeFile(join(npm.folder, 'go-on'), '') }
    }
    /** A call of the sandbox's Ethereum. */
    async function rpc(url: string, method: string, ...params: readonly string[]): Promise<unknown> {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'content-type': 'application/json' }
      const answered = await fetch(`${url}/sandbox/chains/ethereum`, { method: 'POST', body, headers })
      return ((await answered.json()) as { result: unknown }).result
    }
    async function draining(url: string): Promise<void> {
      while ((await fetch(`${url}/ready`)).status === 200) continue
    }

    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      test(`one ${signal} to the group, which the server receives from npm as well, lets what is under way finish`, async (t) => {
        const { npm, slow, goOn } = await startSlow(t)
        const coin = ['0x00000000000000000000000000000000000000aa', '0x2a'] as const
        await rpc(npm.url, 'anvil_setBalance', ...coin)
        npm.signalGroup(signal)
        await draining(npm.url)
        await goOn()
        assert.equal((await slow).status, 200)
        assert.equal(await npm.ended, 0)

        // The chain was stored a moment after the signal, not yet when it came.
        const next = await startNpm(t, 'start', npm.folder)
        assert.equal(await rpc(next.url, 'eth_getBalance', coin[0], 'latest'), coin[1])
      })

    test('a second Ctrl-C ends it at once', async (t) => {
      const { npm, slow } = await startSlow(t)
      npm.signalGroup('SIGINT')
      await draining(npm.url)
      // Again and again, as a person would: signals that come at the same moment arrive as one.
      const insisting = setInterval(() => npm.signalGroup('SIGINT'), 50)
      t.after(() => clearInterval(insisting))
      const code = await npm.ended
      clearInterval(insisting)
      assert.notEqual(code, 0)
      await assert.rejects(slow)
    })
  },
)
