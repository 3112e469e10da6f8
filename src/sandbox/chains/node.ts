import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:process'

import { createOutbound, jsonOf } from '../../outbound/outbound.ts'

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
  /** Further arguments of anvil. */
  arguments?: readonly string[]
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

/** A local EVM node. */
export type Node = {
  readonly pid: number
  readonly port: number
  readonly url: string
  /**
   * Calls a method by JSON-RPC.
   *
   * @throws NodeError if the node refuses
   */
  readonly call: (method: string, params?: readonly unknown[]) => Promise<unknown>
  /** Resolves once the process has ended, for whatever reason. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Client of a node that runs already. */
export type NodeClient = Pick<Node, 'url' | 'call'> & { close: () => void }

const FUNDS = `0x${(10_000n * 10n ** 18n).toString(16)}`

/**
 * Starts a node (anvil) that mines a block for each transaction. It ends with this process, even if that is killed.
 *
 * @throws Error if there is no anvil for this platform, or if it does not start
 */
export async function startNode(options: NodeOptions): Promise<Node> {
  const { chainId, port: wantedPort = 0, funded = [], arguments: more = [] } = options
  const args = ['--host', '127.0.0.1', '--port', wantedPort, '--chain-id', chainId, '--accounts', 0, ...more]
  const child = spawnWatched(anvilPath(), args.map(String))
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  child.once('error', () => resolve())
  child.once('exit', () => {
    // If the node has ended by itself, its watchdog is left.
    endGroup(child)
    resolve()
  })
  try {
    const port = await portOf(child)
    const { url, call, close: closeClient } = createNodeClient(`http://127.0.0.1:${port}`)
    await call('anvil_setLoggingEnabled', [false])
    await Promise.all(funded.map((address) => call('anvil_setBalance', [address, FUNDS])))
    return {
      pid: child.pid!,
      port,
      url,
      call,
      ended,
      async close() {
        closeClient()
        child.ref()
        endGroup(child)
        await ended
      },
    }
  } catch (error) {
    endGroup(child)
    throw error
  }
}

/** A client of a node at an address of this machine. */
export function createNodeClient(url: string): NodeClient {
  const outbound = createOutbound({
    name: 'the node',
    keepAlive: true,
    limitMs: CALL_MS,
    maxBytes: MAX_BYTES,
  })
  return {
    url,
    close: outbound.close,
    async call(method, params = []) {
      const reply = await outbound.call(url, { json: { jsonrpc: '2.0', id: 1, method, params } })
      if (reply.kind !== 'answered') throw new Error(`${method}: ${reply.reason}`)
      const answer = jsonOf(reply) as
        | { result?: unknown; error?: { code: number; message: string } }
        | undefined
      if (answer?.error) throw new NodeError(method, answer.error)
      if (answer === undefined) throw new Error(`${method}: the node answered ${reply.status} without JSON`)
      return answer.result
    },
  }
}

/** The program in the package of this platform; the package that it belongs to would start it by another process. */
function anvilPath(): string {
  const name = `@foundry-rs/anvil-${platform}-${ARCHITECTURES[arch] ?? arch}`
  // The platform's package is a dependency of the one that Sixwire names.
  const own = createRequire(import.meta.url)
  const require = createRequire(own.resolve('@foundry-rs/anvil/package.json'))
  try {
    return require.resolve(`${name}/bin/anvil${platform === 'win32' ? '.exe' : ''}`)
  } catch {
    throw new Error(
      `there is no ${name}: install the optional dependencies, or set the RPC address of a node`,
    )
  }
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
  const read = (text: string): void => {
    output += text
    const [, port] = /Listening on \S+:(\d+)/.exec(output) ?? []
    if (port !== undefined) resolve(Number(port))
  }
  child.stdout!.setEncoding('utf8').on('data', read)
  child.stderr!.setEncoding('utf8').on('data', read)
  child.once('error', reject)
  child.once('exit', () => reject(new Error(`the node ended at once: ${output.slice(-500).trim()}`)))
  const timer = setTimeout(() => reject(new Error('the node did not start in time')), START_MS)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.removeListener('data', read)
      stream.resume()
      ;(stream as unknown as { unref?: () => void }).unref?.()
    }
    ;(child.stdin as unknown as { unref?: () => void } | null)?.unref?.()
  }
}
