import { randomInt } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { FastifyBaseLogger } from 'fastify'

import type { Clock } from '../../base/clock.ts'
import { errors } from '../../base/errors.ts'
import type { Reply } from '../../outbound/outbound.ts'
import type { Accounts } from './accounts.ts'
import { setUpCalls } from './contracts.ts'
import { tryLock } from './lock.ts'
import { createNodeClient, fundingCalls, NodeError, startNode, type Node, type NodeClient } from './node.ts'
import { createStateFile } from './state-file.ts'

/** After a change: how often a block is mined, and the state is stored. */
const TICK_MS = 1_000
/** The state is stored for at most this share of the time: anvil answers nobody meanwhile. */
const STORING_SHARE = 20
const SHARED_TRIES = 200
const SHARED_TRY_MS = 50
const SET_UP_GAS = 3_000_000n
const SET_UP_FEE = 10n ** 10n

/** A chain of the sandbox: a node that is started by the first call. */
export type LocalChain = {
  readonly name: string
  readonly chainId: number
  /** Whether this server has used its node. */
  isRunning(): boolean
  /** How deep blocks with transactions get by themselves. */
  setDepth(blocks: number): void
  /** Passes the body of a request on to the node. */
  forward(body: string): Promise<Reply>
  /** @throws NodeError if the node refuses */
  readonly call: NodeClient['call']
  readonly batch: NodeClient['batch']
  /** Ends the node and deletes the chain; the next call starts another one. */
  reset(): Promise<void>
  /** Stores the chain and ends the node. */
  close(): Promise<void>
}

/** The node that a server uses: its own, or that of another server with the same folder. */
type Connection = { client: NodeClient; own: Node | undefined; release: () => Promise<void> }

/** Where servers with the same folder find the node of the one that has the lock. */
type Address = { port: number; pid: number; genesis: string }

// What changes a chain, in the body of a request.
const CHANGES = /"method"\s*:\s*"(?:eth_send|anvil_|evm_|hardhat_)/

/** @param onChange called after each change, also by other means than `call` */
export function createLocalChain(options: {
  name: string
  chainId: number
  /** The folder of its files. */
  folder: string
  accounts: Accounts
  clock: Clock
  log: FastifyBaseLogger
  onChange: () => void
}): LocalChain {
  const { name, chainId, folder, accounts, clock, log, onChange } = options
  const file = (extension: string): string => join(folder, `${name}.${extension}`)
  const states = createStateFile(file('state'), (path) =>
    log.warn(`the file ${path} is damaged: the chain ${name} of the sandbox goes on with an older state`),
  )
  let depth = 6
  let connecting: Promise<Connection> | undefined
  let stopping = new AbortController()
  let settling: Promise<void> | undefined
  let isClosed = false
  let isChanged = false
  let storeAt = 0

  const makeFolder = () => mkdir(folder, { recursive: true, mode: 0o700 })

  const connect = (): Promise<Connection> => {
    if (isClosed) throw errors.unavailable()
    if (!connecting) {
      const current = open()
      connecting = current
      current.then(
        () => isChanged && changed(),
        () => drop(current),
      )
    }
    return connecting
  }

  function drop(connection: Promise<Connection>): void {
    if (connecting === connection) connecting = undefined
  }

  async function open(): Promise<Connection> {
    try {
      return await openAny()
    } catch (error) {
      const { message } = error as Error
      log.error(`the chain ${name} of the sandbox has no node: ${message}`)
      throw errors.unavailable({
        message: `The chain ${name} of the sandbox has no node: ${message}.`,
        cause: error,
      })
    }
  }

  async function openAny(): Promise<Connection> {
    await makeFolder()
    for (let tries = 0; tries < SHARED_TRIES && !isClosed; tries++) {
      const unlock = tryLock(file('lock'))
      if (unlock)
        return openOwn(unlock).catch((error: unknown) => {
          unlock()
          throw error
        })
      const shared = await findShared()
      if (shared) return shared
      // The other server starts its node, or is about to end.
      await delay(SHARED_TRY_MS)
    }
    throw new Error('another server runs it, and it does not answer')
  }

  async function openOwn(unlock: () => void): Promise<Connection> {
    // A number that no other chain has makes its first block another one, even of the same second.
    const node = await startNode({ chainId, arguments: ['--gas-limit', 30_000_000 + randomInt(1_000_000)] })
    try {
      await load(node)
      if (!(await isSetUp(node))) await setUp(node)
      await writeAddress(node)
    } catch (error) {
      await node.close()
      throw error
    }
    async function release(): Promise<void> {
      await node.close()
      unlock()
    }
    const connection = { client: node, own: node, release }
    void watch(node, connection)
    return connection
  }

  /** Gives up a node that ends by itself, or by a reset of another server. */
  async function watch(node: Node, connection: Connection): Promise<void> {
    await node.ended
    const current = connecting
    if (!current || (await current.catch(() => undefined)) !== connection) return
    drop(current)
    log.warn(`the node of the chain ${name} of the sandbox has ended: the next call starts it again`)
    stopping.abort()
    await settling
    stopping = new AbortController()
    await connection.release()
  }

  /** Loads the newest state that is good. */
  async function load(node: Node): Promise<void> {
    for await (const { state, file: path } of states.read())
      try {
        await node.call('anvil_loadState', [`0x${state.toString('hex')}`])
        return
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        log.warn(`the node of the chain ${name} of the sandbox can't read ${path}: ${error.message}`)
      }
  }

  /** A chain has other accounts once the secret has changed. */
  async function isSetUp(node: Node): Promise<boolean> {
    const { forwarder } = accounts.contracts(name)
    return (await node.call('eth_getCode', [forwarder, 'latest'])) !== '0x'
  }

  async function setUp(node: Node): Promise<void> {
    const deployer = accounts.deployer(name)
    const holders = accounts.funded.map(({ address }) => address)
    const raw = await Promise.all(
      setUpCalls(accounts.contracts(name).erc20, holders).map((call, nonce) =>
        deployer.signTransaction({
          ...call,
          chainId,
          nonce,
          gas: SET_UP_GAS,
          maxFeePerGas: SET_UP_FEE,
          maxPriorityFeePerGas: 1n,
        }),
      ),
    )
    await node.batch([...fundingCalls([deployer.address, ...holders]), ['evm_setAutomine', [false]]])
    for (const one of raw) await node.call('eth_sendRawTransaction', [one])
    // A block takes as many as its gas allows.
    await node.batch([
      ['anvil_mine', ['0x2']],
      ['evm_setAutomine', [true]],
    ])
    isChanged = true
  }

  async function writeAddress(node: Node): Promise<void> {
    const address: Address = { port: node.port, pid: node.pid, genesis: await genesisOf(node) }
    const temporary = file(`node.${process.pid}.tmp`)
    await writeFile(temporary, JSON.stringify(address), { mode: 0o600 })
    await rename(temporary, file('node'))
  }

  async function readAddress(): Promise<Address | undefined> {
    try {
      const address = JSON.parse(await readFile(file('node'), 'utf8')) as Address
      const client = createNodeClient(`http://127.0.0.1:${address.port}`)
      const isIt = (await genesisOf(client)) === address.genesis
      client.disconnect()
      return isIt ? address : undefined
    } catch {
      return undefined
    }
  }

  /** The node of another server; undefined if none answers. */
  async function findShared(): Promise<Connection | undefined> {
    const address = await readAddress()
    if (!address) return undefined
    const client = createNodeClient(`http://127.0.0.1:${address.port}`)
    return { client, own: undefined, release: async () => client.disconnect() }
  }

  function changed(): void {
    isChanged = true
    onChange()
    if (!settling && !isClosed) settle(stopping.signal)
  }

  /** Mines blocks and stores the state, until nothing is left to do. */
  function settle(signal: AbortSignal): void {
    async function run(): Promise<void> {
      for (;;) {
        await clock.sleep(TICK_MS, { signal, idle: true })
        const connection = signal.aborted ? undefined : await connecting
        if (!connection || signal.aborted) break
        const isDeep = await deepen(connection)
        if (isChanged && clock.elapsed() >= storeAt) await store(connection)
        if (isDeep && !isChanged) break
      }
      settling = undefined
    }
    settling = run().catch((error: unknown) => {
      settling = undefined
      if (!signal.aborted) warnOfStoring(error)
    })
  }

  /** Mines a block unless the last one with transactions is deep enough; whether it is. */
  async function deepen({ client }: Connection): Promise<boolean> {
    const head = Number(await client.call('eth_blockNumber'))
    const last = Array.from({ length: Math.min(depth - 1, head + 1) }, (_, at) => head - at)
    const counts = await client.batch(
      last.map((number) => ['eth_getBlockTransactionCountByNumber', [`0x${number.toString(16)}`]]),
    )
    if (counts.every((count) => Number(count) === 0)) return true
    await client.call('anvil_mine', ['0x1'])
    isChanged = true
    onChange()
    return false
  }

  async function store({ client }: Connection): Promise<void> {
    isChanged = false
    const begun = clock.elapsed()
    try {
      const state = (await client.call('anvil_dumpState', [true])) as string
      await states.write(Buffer.from(state.slice(2), 'hex'))
    } catch (error) {
      isChanged = true
      throw error
    }
    storeAt = begun + (clock.elapsed() - begun) * STORING_SHARE
  }

  const warnOfStoring = (error: unknown): void =>
    log.warn(`the chain ${name} of the sandbox could not be stored: ${(error as Error).message}`)

  /** Ends what `settle` does, and the connection. */
  async function disconnect(isStored: boolean): Promise<void> {
    stopping.abort()
    await settling
    stopping = new AbortController()
    const current = connecting
    connecting = undefined
    const connection = await current?.catch(() => undefined)
    if (!connection) return
    try {
      if (isStored && isChanged) await store(connection)
    } catch (error) {
      warnOfStoring(error)
    } finally {
      await connection.release()
    }
  }

  async function use<T>(work: (client: NodeClient) => Promise<T>, isChange: boolean): Promise<T> {
    const { client } = await connect()
    try {
      return await work(client)
    } finally {
      // Also after a failure: nobody knows what it did.
      if (isChange) changed()
    }
  }

  return {
    name,
    chainId,
    isRunning: () => connecting !== undefined,
    setDepth: (blocks) => void (depth = blocks),
    async forward(body) {
      const isChange = CHANGES.test(body)
      const current = connect()
      const reply = await use((client) => client.send(body), isChange)
      if (reply.kind === 'answered' || (await current).own) return reply
      // The other server has ended, and its node with it.
      drop(current)
      return reply.kind === 'not-sent' ? use((client) => client.send(body), isChange) : reply
    },
    call: (method, params) =>
      use((client) => client.call(method, params), CHANGES.test(`"method":"${method}"`)),
    batch: (calls) =>
      use(
        (client) => client.batch(calls),
        calls.some(([method]) => CHANGES.test(`"method":"${method}"`)),
      ),
    async reset() {
      await disconnect(false)
      isChanged = false
      await makeFolder()
      for (let tries = 0; tries < SHARED_TRIES; tries++) {
        const unlock = tryLock(file('lock'))
        if (unlock) {
          await states.remove()
          unlock()
          return
        }
        // The node of another server; that one then notices that it has ended.
        const address = await readAddress()
        if (address) endNode(address.pid)
        await delay(SHARED_TRY_MS)
      }
    },
    async close() {
      isClosed = true
      await disconnect(true)
    },
  }
}

const genesisOf = async (client: NodeClient): Promise<string> => {
  const block = (await client.call('eth_getBlockByNumber', ['0x0', false])) as { hash: string }
  return block.hash
}

function endNode(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
