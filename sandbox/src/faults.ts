import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { Type } from '../../server/src/base/schema.ts'
import type { Static } from 'typebox'

import { invalid } from '../../server/src/base/errors.ts'
import { pointerTo } from '../../server/src/base/json-pointer.ts'
import { parseJson } from '../../server/src/base/json.ts'
import { sql } from '../../server/src/db/sql.ts'
import { readerOf } from './reader.ts'
import type { StandInsContext } from '../../server/src/kernel/wire/stand-ins.ts'

const DELAY_MAX_MS = 60_000

const faultSchema = Type.Object({
  delayMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: DELAY_MAX_MS, description: 'Milliseconds before it answers.' }),
  ),
  error: Type.Optional(
    Type.Integer({
      minimum: 400,
      maximum: 599,
      description: 'The HTTP status, or SMTP code, that it answers instead of doing anything.',
    }),
  ),
  loseAnswer: Type.Optional(
    Type.Boolean({
      description: 'It does what it is asked, and closes the connection instead of answering.',
    }),
  ),
  callback: Type.Optional(
    Type.Enum(['lost', 'doubled', 'late', 'held'], {
      description:
        'What happens to its webhook or callback. A webhook that is held is sent or dropped by hand.',
    }),
  ),
  times: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'For how many calls it is in force; without it until it is removed.',
    }),
  ),
})

/** A fault that is injected into a provider; no field is set by default. */
export type ProviderFault = Static<typeof faultSchema>

/**
 * Makes the function that reads a fault from a request's body. `canHold`: whether the provider's webhooks are in the log.
 *
 * @throws VALIDATION_ERROR with the path of each fault, also for a name that means nothing: it would do nothing
 */
export function createFaultReader(): (body: unknown, canHold: boolean) => ProviderFault {
  const readBody = readerOf('body', faultSchema)
  const names = Object.keys(faultSchema.properties)
  return (body, canHold) => {
    const fault = readBody(body)
    const unknown = Object.keys(fault).filter((name) => !names.includes(name))
    if (unknown.length > 0)
      throw invalid(
        ...unknown.map((name) => ({
          path: pointerTo('/body', name),
          message: `means nothing here: there are ${names.join(', ')}`,
        })),
      )
    if (fault.callback === 'held' && !canHold)
      throw invalid({
        path: '/body/callback',
        message: 'must not be held: only webhooks of payments can be, as the log shows them',
      })
    return fault
  }
}

export type Faults = {
  /** What is in force for a provider's next call, once its delay is over or the signal aborts; counts that call. */
  next(provider: string, signal?: AbortSignal): Promise<ProviderFault>
  /** All faults in force, by provider. */
  all(): Promise<Record<string, ProviderFault>>
  /** Replaces the fault of a provider; an empty one removes it. */
  set(provider: string, fault: ProviderFault): Promise<void>
  reset(): Promise<void>
}

export function createFaults({ db, clock }: Pick<StandInsContext, 'db' | 'clock'>): Faults {
  const faultOf = (text: string): ProviderFault => parseJson(text) as ProviderFault
  return {
    async next(provider, signal) {
      const [row] = await db.write<{ fault: string }>(sql`
        update sandbox_faults set calls = calls + 1
        where provider = ${provider} and (times is null or calls < times)
        returning fault`)
      const fault = row ? faultOf(row.fault) : {}
      if (fault.delayMs !== undefined) await clock.sleep(fault.delayMs, signal && { signal })
      return fault
    },
    async all() {
      const rows = await db.all<{ provider: string; fault: string }>(
        sql`select provider, fault from sandbox_faults where times is null or calls < times order by provider`,
      )
      return Object.fromEntries(rows.map(({ provider, fault }) => [provider, faultOf(fault)]))
    },
    async set(provider, fault) {
      await db.batch([
        sql`delete from sandbox_faults where provider = ${provider}`,
        ...(Object.keys(fault).length === 0
          ? []
          : [
              sql`insert into sandbox_faults (provider, fault, times, calls)
                  values (${provider}, ${JSON.stringify(fault)}, ${fault.times ?? null}, 0)`,
            ]),
      ])
    },
    async reset() {
      await db.write(sql`delete from sandbox_faults`)
    },
  }
}

/** A handler of a call; its result is the answer. */
export type FaultyHandler = (
  request: FastifyRequest,
  reply: FastifyReply,
  fault: ProviderFault,
) => Promise<unknown>

/**
 * Makes a handler of HTTP calls that injects the fault of its provider.
 *
 * @param refuse answers a status as the provider does, or throws such an error
 */
export const faulty =
  (
    faults: Faults,
    provider: string,
    refuse: (status: number, reply: FastifyReply) => unknown,
    handle: FaultyHandler,
  ): RouteHandlerMethod =>
  async (request, reply) => {
    const fault = await faults.next(provider)
    if (fault.error !== undefined) return refuse(fault.error, reply)
    const answer = await handle(request, reply, fault)
    if (!fault.loseAnswer) return answer
    reply.hijack()
    request.raw.socket.destroy()
  }
