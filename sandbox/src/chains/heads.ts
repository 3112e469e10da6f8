import { sql } from '../../../server/src/db/sql.ts'
import type { LocalChain } from './chain.ts'
import type { StandInContext } from '../stand-in.ts'

export type Heads = {
  /** Stores the latest block of a chain, sometime soon. */
  changed(chain: LocalChain): void
  /** Differs whenever a chain has another latest block. */
  version(): Promise<unknown>
  forget(): Promise<void>
  /** Resolves when nothing is being stored. */
  settled(): Promise<void>
}

/** The latest blocks of the chains in the database, where the event streams of all servers see that they change. */
export function createHeads({ db, log }: Pick<StandInContext, 'db' | 'log'>): Heads {
  const underWay = new Map<string, { isStale: boolean; work: Promise<void> }>()

  async function record(chain: LocalChain): Promise<void> {
    const block = (await chain.call('eth_getBlockByNumber', ['latest', false])) as {
      number: string
      hash: string
    }
    const head = `${Number(block.number)} ${block.hash}`
    await db.write(sql`insert into sandbox_chains (name, head) values (${chain.name}, ${head})
      on conflict (name) do update set head = excluded.head where sandbox_chains.head <> excluded.head`)
  }

  return {
    changed(chain) {
      const running = underWay.get(chain.name)
      if (running) {
        running.isStale = true
        return
      }
      const one = { isStale: true, work: Promise.resolve() }
      underWay.set(chain.name, one)
      one.work = (async () => {
        try {
          while (one.isStale) {
            one.isStale = false
            await record(chain)
          }
        } catch (error) {
          log.debug(`the head of the chain ${chain.name} could not be read: ${(error as Error).message}`)
        } finally {
          underWay.delete(chain.name)
        }
      })()
    },
    version: () => db.all(sql`select name, head from sandbox_chains order by name`),
    async forget() {
      await db.write(sql`delete from sandbox_chains`)
    },
    async settled() {
      await Promise.all(Array.from(underWay.values(), ({ work }) => work))
    },
  }
}
