import { isoTime, type Clock } from '../../base/clock.ts'
import { newId } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import { StartError } from '../../base/start-error.ts'
import type { Step, StepWith } from '../../db/database.ts'
import { sql, type Sql, type SqlScalar } from '../../db/sql.ts'
import type { JobKind } from '../jobs/job.ts'
import { insertDeliveriesSql, insertedJobsSql, type EventSource } from './delivery-rows.ts'
import { matches, patternFault } from './event-types.ts'
import type { WebhookEndpoint } from './webhook-option.ts'

/** What is published of the records of one table. */
export type EventDefinition<Verb extends string, Row> = {
  /** What can happen to a record: the last word of the types. */
  readonly verbs: readonly Verb[]
  readonly table: Sql
  /** The columns of which the body is made; `id` is the record. Write a column that can exceed 2^53 in `texts`. */
  readonly columns: readonly (keyof Row & string)[]
  /** Those of the columns that come as text, whatever they are. */
  readonly texts?: readonly (keyof Row & string)[]
  /** The `data` of the body: the record as the API shows it to an administrator, and no secret. */
  readonly data: (row: Row, verb: Verb) => object
}

/** Publishes what happens to the records of one table. */
export type RecordEvents<Verb extends string> = {
  /**
   * The steps that publish an event for each record that meets a condition: for the batch that changes them, behind the
   * change and what belongs to it, so that a change that is rolled back is not published. None if no webhook takes the type.
   *
   * @param options.once an expression of the table's columns: an event with the same text is published once. Without it, each
   *   call publishes; then a change that may find no row must roll the batch back
   */
  publishSql(verb: Verb, where: Sql, options?: { once?: Sql }): readonly Step[]
}

/** An event whose data its publisher has. */
export type PublishedEvent = {
  /** Such as `store.projects.created`. */
  readonly type: string
  /** Events of one record are delivered in their order. */
  readonly record: string
  /** The `data` of the body, as the API shows it to an administrator. */
  readonly data: object
  /** An event with the same text is published once, however often its steps run. */
  readonly once: string
  /** The account that the record belongs to, whose deletion erases the event. */
  readonly owner?: string
}

/** Publishes changes of state to the webhooks of the configuration. */
export type Events = {
  /**
   * Declares what is published of one table, in the setup of a wire.
   *
   * @param object the wire and the object: `pay.transaction`
   * @example
   * const changes = events.define('shop.order', {
   *   verbs: ['created', 'shipped'],
   *   table: sql.literal('shop_orders'),
   *   columns: ['id', 'number', 'shipped_at'],
   *   data: ({ id, number }: OrderRow) => ({ _id: id, number }),
   * })
   * await db.batch([shipSql(id), ...changes.publishSql('shipped', sql`id = ${id}`)])
   */
  define<const Verb extends string, Row>(
    object: string,
    definition: EventDefinition<Verb, Row>,
  ): RecordEvents<Verb>
  /** Declares types whose data their publisher has; `*` in one of them is any name: `store.*.created`. */
  declare(types: readonly string[]): void
  /** Whether a webhook takes events of this type. */
  takes(type: string): boolean
  /** The steps that publish an event, for the batch that changes the record; none if no webhook takes its type. */
  publishSql(event: PublishedEvent): readonly Step[]
}

/** Where nothing is published, such as in a command. */
export const NO_EVENTS: Events = {
  define: () => ({ publishSql: () => [] }),
  declare: () => undefined,
  takes: () => false,
  publishSql: () => [],
}

/** Adds the jobs that deliver events of a webhook. */
export type DeliveryJobs = ReadonlyMap<string, Pick<JobKind<unknown>, 'enqueueEachSql'>>

export type EventBook = Events & {
  /** All types that are declared. */
  types(): readonly string[]
  /**
   * @param absent the wires that are not loaded: their events are not known
   * @throws StartError with a pattern of a webhook that no event has
   */
  check(absent: readonly string[]): void
  /** The body of an event, as it is sent. @throws if this process does not know its type */
  bodyOf(event: { type: string; source: string; createdAt: number }): string
}

/** @param jobs by the names of the webhooks */
export function createEvents(
  { clock, jobs }: { clock: Clock; jobs: DeliveryJobs },
  { webhooks }: { webhooks: readonly WebhookEndpoint[] },
): EventBook {
  const dataOf = new Map<string, (row: never) => object>()
  const types: string[] = []

  const takersOf = (type: string): readonly WebhookEndpoint[] =>
    webhooks.filter(({ events }) => events.some((pattern) => matches(pattern, type)))

  function stepsFor(takers: readonly WebhookEndpoint[], type: string, source: EventSource): Step[] {
    const now = clock.now()
    const batch = newId(now)
    const names = takers.map(({ name }) => name)
    return [
      insertDeliveriesSql(source, { batch, type, webhooks: names, now }),
      ...names.map((name): StepWith => jobs.get(name)!.enqueueEachSql(insertedJobsSql(batch, name))),
    ]
  }

  return {
    define(object, { verbs, table, columns, texts = [], data }) {
      const ownTypes = verbs.map((verb) => `${object}.${verb}`)
      types.push(...ownTypes)
      for (const verb of verbs) dataOf.set(`${object}.${verb}`, (row) => data(row, verb))
      const source = jsonRowSql(columns, texts)
      return {
        publishSql(verb, where, { once } = {}) {
          const type = `${object}.${verb}`
          const takers = takersOf(type)
          if (takers.length === 0) return []
          return stepsFor(takers, type, { table, where, record: sql.literal('id'), source, once })
        },
      }
    },

    declare: (declared) => void types.push(...declared),
    takes: (type) => takersOf(type).length > 0,

    publishSql({ type, record, data, once, owner }) {
      const takers = takersOf(type)
      if (takers.length === 0) return []
      const text = (value: SqlScalar): Sql => sql`cast(${value} as text)`
      return stepsFor(takers, type, {
        table: sql.literal('(select 1 as one) only_one'),
        where: sql.literal('true'),
        record: text(record),
        source: text(JSON.stringify(data)),
        once: text(once),
        owner: owner === undefined ? undefined : text(owner),
      })
    },

    types: () => types,

    check(absent) {
      for (const [at, { events }] of webhooks.entries())
        for (const pattern of events) {
          if (absent.includes(pattern.split('.')[0]!)) continue
          const fault = patternFault(pattern, types)
          if (fault !== undefined) throw new StartError(`webhooks[${at}].events: ${fault}`)
        }
    },

    bodyOf({ type, source, createdAt }) {
      const isKnown = types.some((declared) => matches(type, declared))
      if (!isKnown) throw new Error(`this server does not know events of the type ${type}`)
      const row = parseJson(source)
      const data = dataOf.get(type)?.(row as never) ?? row
      return JSON.stringify({ type, timestamp: isoTime(createdAt), data })
    },
  }
}

/** The columns as a JSON object. */
function jsonRowSql(columns: readonly string[], texts: readonly string[]): Sql {
  const pairs = columns.map((name) => `'${name}', ${texts.includes(name) ? `cast(${name} as text)` : name}`)
  return sql`${sql.either({
    sqlite: sql.literal(`json_object(${pairs.join(', ')})`),
    postgres: sql.literal(`cast(json_build_object(${pairs.join(', ')}) as text)`),
  })}`
}
