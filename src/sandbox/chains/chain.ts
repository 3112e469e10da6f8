import type { FastifyBaseLogger } from 'fastify'

import type { Clock } from '../../base/clock.ts'
import { errors } from '../../base/errors.ts'
import type { Reply } from '../../outbound/outbound.ts'
import type { ChainAccounts } from './accounts.ts'
import { createConnections, type Connection } from './connection.ts'
import { NodeError, type NodeClient } from './node.ts'

/** After a change: how often a block is mined, and the state is stored. */
const TICK_MS = 1_000
/** The state is stored for at most this share of the time: anvil answers nobody meanwhile. */
const STORING_SHARE = 20

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

// What changes a chain, in the body of a request.
const CHANGES = /"method"\s*:\s*"(?:eth_send|anvil_|evm_|hardhat_)/

/** @param onChange called after each change, also by other means than `call` */
export function createLocalChain(options: {
  name: string
  chainId: number
  /** The folder of its files. */
  folder: string
  accounts: ChainAccounts
  clock: Clock
  log: FastifyBaseLogger
  onChange: () => void
}): LocalChain {
  const { name, chainId, clock, log, onChange } = options
  const connections = createConnections(options)
  let depth = 6
  let connecting: Promise<Connection> | undefined
  let stopping = new AbortController()
  let settling: Promise<void> | undefined
  let isClosed = false
  let isChanged = false
  let storeAt = 0

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
      const connection = await connections.open()
      if (connection.isNew) isChanged = true
      void watch(connection)
      return connection
    } catch (error) {
      const { message } = error as Error
      log.error(`the chain ${name} of the sandbox has no node: ${message}`)
      throw errors.unavailable({
        message: `The chain ${name} of the sandbox has no node: ${message}.`,
        cause: error,
      })
    }
  }

  /** Gives up a node that ends by itself, or by a reset of another server. */
  async function watch(connection: Connection): Promise<void> {
    if (!connection.ended) return
    await connection.ended
    const current = connecting
    if (!current || (await current.catch(() => undefined)) !== connection) return
    drop(current)
    log.warn(`the node of the chain ${name} of the sandbox has ended: the next call starts it again`)
    stopping.abort()
    await settling
    stopping = new AbortController()
    await connection.release()
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

  async function store(connection: Connection): Promise<void> {
    isChanged = false
    const startedAt = clock.elapsed()
    try {
      await connections.store(connection)
    } catch (error) {
      isChanged = true
      throw error
    }
    storeAt = startedAt + (clock.elapsed() - startedAt) * STORING_SHARE
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
    const current = connect()
    const { client, ended } = await current
    try {
      return await work(client)
    } catch (error) {
      // The other server may have ended, and its node with it.
      if (!ended && !(error instanceof NodeError)) drop(current)
      throw error
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
      if (reply.kind === 'answered' || (await current).ended) return reply
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
      await connections.remove()
    },
    async close() {
      isClosed = true
      await disconnect(true)
    },
  }
}
