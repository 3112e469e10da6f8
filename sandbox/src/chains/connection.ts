import { randomInt } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { Logger } from '../../../server/src/base/logger.ts'
import type { ChainAccounts } from './accounts.ts'
import { setUpCalls } from './contracts.ts'
import { tryLock } from '../../../server/src/db/file-lock.ts'
import {
  createNodeClient,
  fundingCalls,
  NodeError,
  startNode,
  type LocalNode,
  type NodeClient,
} from './node.ts'
import { createStateFile } from './state-file.ts'

/** For another server that starts its node, or is about to end. */
const TRIES = 200
const TRY_MS = 50
/** The first block of a chain is up to so many seconds older than the chain, so that no two chains have the same one. */
const GENESIS_AGES = 1_000_000
const SET_UP_GAS = 3_000_000n
const SET_UP_FEE = 10n ** 10n

/** The node that a server uses: its own, or that of another server with the same folder. */
export type Connection = {
  client: NodeClient
  /** Whether the chain has contents that are not stored yet. */
  isNew: boolean
  /** Resolves if this server's own node ends; undefined for the node of another server. */
  ended: Promise<void> | undefined
  /** Ends the node if it is this server's own. */
  release(): Promise<void>
}

export type Connections = {
  /** Starts the node with what is stored, unless another server runs it. @throws Error if neither is possible */
  open(): Promise<Connection>
  store(connection: Connection): Promise<void>
  /** Deletes what is stored, once no server runs the node: it is ended if one does. */
  remove(): Promise<void>
}

/** Where servers with the same folder find the node of the one that has the lock. */
type Address = { port: number; pid: number; genesis: string }

type ConnectionOptions = {
  readonly name: string
  readonly chainId: number
  readonly folder: string
  readonly accounts: ChainAccounts
  readonly log: Logger
}

type ConnectionContext = ConnectionOptions & { readonly states: ReturnType<typeof createStateFile> }

/** The node of a chain in a folder: of all servers with this folder, one runs it. */
export function createConnections(options: ConnectionOptions): Connections {
  const { name, log } = options
  const states = createStateFile({
    file: file(options, 'state'),
    onDamaged: (path) =>
      log.warn(`the file ${path} is damaged: the chain ${name} of the sandbox goes on with an older state`),
  })
  const context: ConnectionContext = { ...options, states }

  return {
    open: () =>
      whileLocked(context, async (unlock) => {
        if (!unlock) return findShared(context)
        return openOwn(context, unlock).catch((error: unknown) => {
          unlock()
          throw error
        })
      }),
    async store({ client }) {
      const dump = (await client.call('anvil_dumpState', [true])) as string
      const { timestamp } = await genesisOf(client)
      await context.states.write({ genesisTime: Number(timestamp), dump: Buffer.from(dump.slice(2), 'hex') })
    },
    async remove() {
      await whileLocked(context, async (unlock) => {
        if (unlock) {
          await context.states.remove()
          unlock()
          return true
        }
        // The other server notices that its node has ended, and unlocks.
        const address = await readAddress(context)
        if (address) endNode(address.pid)
        return undefined
      })
    },
  }
}

const file = (context: ConnectionOptions, extension: string): string =>
  join(context.folder, `${context.name}.${extension}`)

/** Calls until there is a result: with the function that unlocks, if no other server has the lock. */
async function whileLocked<T>(
  context: ConnectionContext,
  work: (unlock: (() => void) | undefined) => Promise<T | undefined>,
): Promise<T> {
  await mkdir(context.folder, { recursive: true, mode: 0o700 })
  for (let tries = 0; tries < TRIES; tries++) {
    const result = await work(tryLock(file(context, 'lock')))
    if (result !== undefined) return result
    await delay(TRY_MS)
  }
  throw new Error('another server runs it, and it does not answer')
}

async function openOwn(context: ConnectionContext, unlock: () => void): Promise<Connection> {
  const node =
    (await startStored(context)) ?? (await startAt(context, Date.now() / 1000 - randomInt(GENESIS_AGES)))
  try {
    const isNew = !(await isSetUp(context, node))
    if (isNew) await setUp(context, node)
    await writeAddress(context, node)
    return {
      client: node,
      isNew,
      ended: node.ended,
      async release() {
        await node.close()
        unlock()
      },
    }
  } catch (error) {
    await node.close()
    throw error
  }
}

/** Starts a node whose first block has this time, and whose own time is the real one. */
async function startAt(context: ConnectionContext, genesisTime: number): Promise<LocalNode> {
  const node = await startNode({
    chainId: context.chainId,
    arguments: ['--timestamp', Math.floor(genesisTime)],
  })
  await node.call('evm_setTime', [Math.floor(Date.now() / 1000)])
  return node
}

/** Starts a node with the newest state that is good; undefined if there is none. */
async function startStored(context: ConnectionContext): Promise<LocalNode | undefined> {
  for await (const { state, file: path } of context.states.read()) {
    // A state has the first block of each node that it was loaded into: another one would show either of them.
    const node = await startAt(context, state.genesisTime)
    try {
      await node.call('anvil_loadState', [`0x${state.dump.toString('hex')}`])
      return node
    } catch (error) {
      await node.close()
      if (!(error instanceof NodeError)) throw error
      context.log.warn(
        `the node of the chain ${context.name} of the sandbox can't read ${path}: ${error.message}`,
      )
    }
  }
  return undefined
}

/** A chain has other accounts once the secret has changed. */
async function isSetUp(context: ConnectionContext, node: LocalNode): Promise<boolean> {
  const { forwarder } = context.accounts.contracts(context.name)
  return (await node.call('eth_getCode', [forwarder, 'latest'])) !== '0x'
}

async function setUp(context: ConnectionContext, node: LocalNode): Promise<void> {
  const deployer = context.accounts.deployer(context.name)
  const holders = context.accounts.funded.map(({ address }) => address)
  const raw = await Promise.all(
    setUpCalls(context.accounts.contracts(context.name).erc20, holders).map((call, nonce) =>
      deployer.signTransaction({
        ...call,
        chainId: context.chainId,
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
}

async function writeAddress(context: ConnectionContext, node: LocalNode): Promise<void> {
  const address: Address = { port: node.port, pid: node.pid, genesis: (await genesisOf(node)).hash }
  const temporary = file(context, `node.${process.pid}.tmp`)
  await writeFile(temporary, JSON.stringify(address), { mode: 0o600 })
  await rename(temporary, file(context, 'node'))
}

async function readAddress(context: ConnectionContext): Promise<Address | undefined> {
  try {
    const address = JSON.parse(await readFile(file(context, 'node'), 'utf8')) as Address
    const client = createNodeClient(`http://127.0.0.1:${address.port}`)
    const isIt = (await genesisOf(client)).hash === address.genesis
    client.disconnect()
    return isIt ? address : undefined
  } catch {
    return undefined
  }
}

/** The node of another server; undefined if none answers. */
async function findShared(context: ConnectionContext): Promise<Connection | undefined> {
  const address = await readAddress(context)
  if (!address) return undefined
  const client = createNodeClient(`http://127.0.0.1:${address.port}`)
  return { client, isNew: false, ended: undefined, release: async () => client.disconnect() }
}

const genesisOf = async (client: NodeClient): Promise<{ hash: string; timestamp: string }> =>
  (await client.call('eth_getBlockByNumber', ['0x0', false])) as { hash: string; timestamp: string }

function endNode(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
