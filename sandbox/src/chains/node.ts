import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { arch, cwd, platform } from 'node:process'

import { createOutbound, jsonOf, type Reply } from '../../../server/src/outbound/outbound.ts'

const START_MS = 10_000
const CALL_MS = 30_000
// A state with its history is one string in an answer.
const MAX_BYTES = 512 * 1_048_576
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

/** Runs its arguments as its own process, which is killed with its process group once standard input ends. */
const WATCHDOG = 'exec 3<&0 </dev/null; (cat <&3 >/dev/null 2>&1; kill -9 0) & exec 3<&-; exec "$@"'

export type NodeOptions = {
  chainId: number
  /** Default: any free one. */
  port?: number
  /** Addresses that own 10,000 coins each. */
  funded?: readonly string[]
  /** Of how many blocks the state is kept, for reorganisations and for calls at old blocks. Default: 128, as geth does. */
  states?: number
  /** Further arguments of anvil. */
  arguments?: readonly (string | number)[]
}

/** A JSON-RPC call that the node answered with an error. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number

  constructor(method: string, { code, message }: { code: number; message: string }) {
    super(`${method}: ${message}`)
    this.code = code
  }
}

export type NodeCall = readonly [method: string, params?: readonly unknown[]]

/** The JSON-RPC of a node. */
export type NodeClient = {
  readonly url: string
  /**
   * Calls a method.
   *
   * @throws NodeError if the node refuses
   */
  readonly call: (method: string, params?: readonly unknown[]) => Promise<unknown>
  /** Makes several calls at once, and returns their results in this order. */
  readonly batch: (calls: readonly NodeCall[]) => Promise<unknown[]>
  /** Sends the body of a request as it is. */
  readonly send: (body: string) => Promise<Reply>
  /** Closes idle connections. */
  readonly disconnect: () => void
}

/** A local EVM node. */
export type LocalNode = NodeClient & {
  readonly pid: number
  readonly port: number
  /** Resolves once the process has ended, for whatever reason. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

const FUNDS = `0x${(10_000n * 10n ** 18n).toString(16)}`

/** The calls that give addresses 10,000 coins each. */
export const fundingCalls = (addresses: readonly string[]): NodeCall[] =>
  addresses.map((address) => ['anvil_setBalance', [address, FUNDS]])

/**
 * Starts a node (anvil) that mines a block for each transaction. It ends with this process, even if that is killed.
 *
 * @throws Error if there is no anvil for this platform, or if it does not start
 */
export async function startNode(options: NodeOptions): Promise<LocalNode> {
  const { chainId, port: wantedPort = 0, funded = [], states = 128, arguments: more = [] } = options
  const args = ['--host', '127.0.0.1', '--port', wantedPort, '--chain-id', chainId, '--accounts', 0]
  // A number of states in memory; without it anvil writes them to a folder below the user's home.
  args.push('--prune-history', states, '--no-request-size-limit', ...more)
  const child = spawnWatched(anvilPath(), args.map(String))
  const { promise: end, resolve } = Promise.withResolvers<void>()
  child.once('error', () => resolve())
  child.once('exit', () => {
    // If the node has ended by itself, its watchdog is left.
    endGroup(child)
    resolve()
  })
  try {
    const port = await portOf(child)
    const client = createNodeClient(`http://127.0.0.1:${port}`)
    await client.batch([['anvil_setLoggingEnabled', [false]], ...fundingCalls(funded)])
    return {
      ...client,
      pid: child.pid!,
      port,
      ended: end,
      async close() {
        client.disconnect()
        child.ref()
        endGroup(child)
        await end
      },
    }
  } catch (error) {
    endGroup(child)
    throw error
  }
}

type Answer = { id: number; result?: unknown; error?: { code: number; message: string } }

/** The client of a node that runs at an address of this machine. */
export function createNodeClient(url: string): NodeClient {
  const outbound = createOutbound({
    name: 'the node',
    keepAlive: true,
    limitMs: CALL_MS,
    maxBytes: MAX_BYTES,
  })
  const headers = { 'content-type': 'application/json' }

  async function batch(calls: readonly NodeCall[]): Promise<unknown[]> {
    if (calls.length === 0) return []
    const [[first]] = calls as [NodeCall]
    const requests = calls.map(([method, params = []], id) => ({ jsonrpc: '2.0', id, method, params }))
    const reply = await outbound.call(url, { json: requests })
    if (reply.kind !== 'answered') throw new Error(`${first}: ${reply.reason}`)
    const answers = jsonOf(reply) as Answer[] | undefined
    if (!Array.isArray(answers)) throw new Error(`${first}: the node answered ${reply.status} without JSON`)
    const byId = new Map(answers.map((one) => [one.id, one]))
    return calls.map(([method], id) => {
      const { error, result } = byId.get(id) ?? {}
      if (error) throw new NodeError(method, error)
      return result
    })
  }

  return {
    url,
    batch,
    call: async (method, params = []) => (await batch([[method, params]]))[0],
    send: (body) => outbound.call(url, { body, headers }),
    disconnect: outbound.close,
  }
}

/** The program in the package of this platform; the package that it belongs to would start it by another process. */
function anvilPath(): string {
  const name = `@foundry-rs/anvil-${platform}-${ARCHITECTURES[arch] ?? arch}`
  const program = `${name}/bin/anvil${platform === 'win32' ? '.exe' : ''}`
  // Installed beside Sixwire, or by the application if Sixwire is elsewhere.
  for (const place of [import.meta.url, join(cwd(), 'package.json')])
    try {
      // The platform's package is a dependency of the one that has a name for all.
      const whole = createRequire(place).resolve('@foundry-rs/anvil/package.json')
      return createRequire(whole).resolve(program)
    } catch {
      // Not from there.
    }
  throw new Error(
    'anvil is not installed, which runs the local chains: run "npm install --save-dev @foundry-rs/anvil", or set the RPC address of a node',
  )
}

/**
 * Runs a program in a process group of its own: a signal of the terminal must not end it before its state is stored. Its
 * standard input ends with this process, however that ends, and its watchdog then kills the group.
 */
function spawnWatched(program: string, args: readonly string[]): ChildProcess {
  const child =
    platform === 'win32'
      ? spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
      : spawn('/bin/sh', ['-c', WATCHDOG, 'sh', program, ...args], { stdio: 'pipe', detached: true })
  child.unref()
  return child
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  child.stdin?.destroy()
  if (platform === 'win32') child.kill('SIGKILL')
  else
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // Nobody of the group is left.
    }
}

/** The port that the node says it listens at. From then on its output is read and dropped. */
async function portOf(child: ChildProcess): Promise<number> {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const readText = (text: string): void => {
    output += text
    const [, port] = /Listening on \S+:(\d+)/.exec(output) ?? []
    if (port !== undefined) resolve(Number(port))
  }
  child.stdout!.setEncoding('utf8').on('data', readText)
  child.stderr!.setEncoding('utf8').on('data', readText)
  child.once('error', reject)
  child.once('exit', () => reject(new Error(`the node ended at once: ${output.slice(-500).trim()}`)))
  const timer = setTimeout(() => reject(new Error('the node did not start in time')), START_MS)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.removeListener('data', readText)
      stream.resume()
      ;(stream as unknown as { unref?: () => void }).unref?.()
    }
    ;(child.stdin as unknown as { unref?: () => void } | null)?.unref?.()
  }
}
