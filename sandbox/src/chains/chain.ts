import type { Logger } from '../../../server/src/base/logger.ts'
import type { Clock } from '../../../server/src/base/clock.ts'
import { errors } from '../../../server/src/base/errors.ts'
import type { Reply } from '../../../server/src/outbound/outbound.ts'
import type { ChainAccounts } from './accounts.ts'
import { createConnections, type Connection, type Connections } from './connection.ts'
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

type LocalChainOptions = {
  readonly name: string
  readonly chainId: number
  /** The folder of its files. */
  readonly folder: string
  readonly accounts: ChainAccounts
  readonly clock: Clock
  readonly log: Logger
  /** Called after each change, also by other means than `call`. */
  readonly onChange: () => void
}

type LocalChainContext = Pick<LocalChainOptions, 'name' | 'clock' | 'log' | 'onChange'> & {
  readonly connections: Connections
  depth: number
  connecting: Promise<Connection> | undefined
  stopping: AbortController
  settling: Promise<void> | undefined
  isClosed: boolean
  isChanged: boolean
  storeAt: number
}

/** Makes a chain of the sandbox, whose node is started by the first call. */
export function createLocalChain(options: LocalChainOptions): LocalChain {
  const { name, chainId, clock, log, onChange } = options
  const local: LocalChainContext = {
    name,
    clock,
    log,
    onChange,
    connections: createConnections(options),
    depth: 6,
    connecting: undefined,
    stopping: new AbortController(),
    settling: undefined,
    isClosed: false,
    isChanged: false,
    storeAt: 0,
  }

  return {
    name,
    chainId,
    isRunning: () => local.connecting !== undefined,
    setDepth: (blocks) => void (local.depth = blocks),
    async forward(body) {
      const isChange = CHANGES.test(body)
      const current = connect(local)
      const reply = await use(local, (client) => client.send(body), isChange)
      if (reply.kind === 'answered' || (await current).ended) return reply
      drop(local, current)
      return reply.kind === 'not-sent' ? use(local, (client) => client.send(body), isChange) : reply
    },
    call: (method, params) =>
      use(local, (client) => client.call(method, params), CHANGES.test(`"method":"${method}"`)),
    batch: (calls) =>
      use(
        local,
        (client) => client.batch(calls),
        calls.some(([method]) => CHANGES.test(`"method":"${method}"`)),
      ),
    async reset() {
      await disconnect(local, false)
      local.isChanged = false
      await local.connections.remove()
    },
    async close() {
      local.isClosed = true
      await disconnect(local, true)
    },
  }
}

const connect = (local: LocalChainContext): Promise<Connection> => {
  if (local.isClosed) throw errors.unavailable()
  if (!local.connecting) {
    const current = open(local)
    local.connecting = current
    current.then(
      () => local.isChanged && changed(local),
      () => drop(local, current),
    )
  }
  return local.connecting
}

function drop(local: LocalChainContext, connection: Promise<Connection>): void {
  if (local.connecting === connection) local.connecting = undefined
}

async function open(local: LocalChainContext): Promise<Connection> {
  try {
    const connection = await local.connections.open()
    if (connection.isNew) local.isChanged = true
    void watch(local, connection)
    return connection
  } catch (error) {
    const { message } = error as Error
    local.log.error(`the chain ${local.name} of the sandbox has no node: ${message}`)
    throw errors.unavailable({
      message: `The chain ${local.name} of the sandbox has no node: ${message}.`,
      cause: error,
    })
  }
}

/** Gives up a node that ends by itself, or by a reset of another server. */
async function watch(local: LocalChainContext, connection: Connection): Promise<void> {
  if (!connection.ended) return
  await connection.ended
  const current = local.connecting
  if (!current || (await current.catch(() => undefined)) !== connection) return
  drop(local, current)
  local.log.warn(
    `the node of the chain ${local.name} of the sandbox has ended: the next call starts it again`,
  )
  local.stopping.abort()
  await local.settling
  local.stopping = new AbortController()
  await connection.release()
}

function changed(local: LocalChainContext): void {
  local.isChanged = true
  local.onChange()
  if (!local.settling && !local.isClosed) settle(local, local.stopping.signal)
}

/** Mines blocks and stores the state, until nothing is left to do. */
function settle(local: LocalChainContext, signal: AbortSignal): void {
  async function run(): Promise<void> {
    for (;;) {
      await local.clock.sleep(TICK_MS, { signal, idle: true })
      const connection = signal.aborted ? undefined : await local.connecting
      if (!connection || signal.aborted) break
      const isDeep = await deepen(local, connection)
      if (local.isChanged && local.clock.elapsed() >= local.storeAt) await store(local, connection)
      if (isDeep && !local.isChanged) break
    }
    local.settling = undefined
  }
  local.settling = run().catch((error: unknown) => {
    local.settling = undefined
    if (!signal.aborted) warnOfStoring(local, error)
  })
}

/** Mines a block unless the last one with transactions is deep enough; whether it is. */
async function deepen(local: LocalChainContext, { client }: Connection): Promise<boolean> {
  const head = Number(await client.call('eth_blockNumber'))
  const last = Array.from({ length: Math.min(local.depth - 1, head + 1) }, (_, at) => head - at)
  const counts = await client.batch(
    last.map((number) => ['eth_getBlockTransactionCountByNumber', [`0x${number.toString(16)}`]]),
  )
  if (counts.every((count) => Number(count) === 0)) return true
  await client.call('anvil_mine', ['0x1'])
  local.isChanged = true
  local.onChange()
  return false
}

async function store(local: LocalChainContext, connection: Connection): Promise<void> {
  local.isChanged = false
  const startedAt = local.clock.elapsed()
  try {
    await local.connections.store(connection)
  } catch (error) {
    local.isChanged = true
    throw error
  }
  local.storeAt = startedAt + (local.clock.elapsed() - startedAt) * STORING_SHARE
}

const warnOfStoring = (local: LocalChainContext, error: unknown): void =>
  local.log.warn(`the chain ${local.name} of the sandbox could not be stored: ${(error as Error).message}`)

/** Ends what `settle` does, and the connection. */
async function disconnect(local: LocalChainContext, isStored: boolean): Promise<void> {
  local.stopping.abort()
  await local.settling
  local.stopping = new AbortController()
  const current = local.connecting
  local.connecting = undefined
  const connection = await current?.catch(() => undefined)
  if (!connection) return
  try {
    if (isStored && local.isChanged) await store(local, connection)
  } catch (error) {
    warnOfStoring(local, error)
  } finally {
    await connection.release()
  }
}

async function use<T>(
  local: LocalChainContext,
  work: (client: NodeClient) => Promise<T>,
  isChange: boolean,
): Promise<T> {
  const current = connect(local)
  const { client, ended } = await current
  try {
    return await work(client)
  } catch (error) {
    // The other server may have ended, and its node with it.
    if (!ended && !(error instanceof NodeError)) drop(local, current)
    throw error
  } finally {
    // Also after a failure: nobody knows what it did.
    if (isChange) changed(local)
  }
}
