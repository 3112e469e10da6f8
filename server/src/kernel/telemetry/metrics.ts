import type { Metric, MetricObject, Registry } from 'prom-client'

import { once } from '../../base/once.ts'
import { NO_SIBLINGS, type Siblings } from '../../base/siblings.ts'
import { errors } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { within } from '../../base/within.ts'
import type { RecordEvent } from '../../http/event-log.ts'
import type { AnswerRecord } from '../../http/answer-record.ts'

// A scrape must not wait for a database or a node that is unavailable.
const READ_LIMIT_MS = 2_000
const NAME = /^[a-z][a-z\d]*(_[a-z\d]+)+$/
const LABEL = /^[a-z][a-z\d]*(_[a-z\d]+)*$/
/** Prometheus adds these to the name of a histogram. */
const HISTOGRAM_SUFFIXES = ['_bucket', '_sum', '_count']
/** Those of Node are registered once they are needed, long after the start. */
const OTHERS = /^(http_request_|process_|nodejs_)/
/** Gauges of the library that are named as counters are; those without `_total` say the same by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]
const REFUSALS: readonly string[] = [
  errors.rate_limited.code,
  errors.too_many_concurrent.code,
  errors.too_many_streams.code,
  errors.unavailable.code,
]
const REQUESTS = 'http_request_duration_seconds'
const COUNTED = ['counter', 'histogram']
/** What workers ask each other for. */
const TOPIC = 'metrics'

type Labels<L extends string> = Readonly<Record<L, string>>
type Sample<L extends string> = { labels: Labels<L>; value: number }
type Event = Parameters<RecordEvent>

/**
 * What a metric is. Values of labels are few and from the code: never an id, an address or a text of a caller.
 *
 * @see https://prometheus.io/docs/practices/naming/
 */
export type MetricDefinition<L extends string> = {
  /** With the unit at its end: `_seconds`, `_bytes`; that of a counter ends in `_total`. */
  name: string
  help: string
  labels: readonly L[]
}

type OfProcess = 'sum' | 'max'

/** Declares the metrics of a wire, in its setup. */
export type WireMetrics = {
  /**
   * A counter of this process since its start; returns the function that adds one.
   *
   * @param definition `known` are labels that are answered as 0 until they count: an alert with `increase` does not see the first
   *   event of a series that begins with it
   * @throws StartError for a name that is in use
   */
  counter<const L extends string>(
    definition: MetricDefinition<L> & { known?: readonly Labels<L>[] },
  ): (labels: Labels<L>) => void
  /**
   * A counter of what is recorded of accounts: see `record` of a call.
   *
   * @param events the labels of each event that counts, by its name
   */
  eventCounter<const L extends string>(
    definition: MetricDefinition<L>,
    events: Readonly<Record<string, (ids: Event[1]) => Labels<L>>>,
  ): void
  /**
   * A gauge that is read at each scrape: one indexed query at most. It is left out of the answer if that takes longer than
   * 2 seconds or fails.
   *
   * @param definition `ofProcess` if each process has a figure of its own: how the answer puts those of several workers
   *   together. Without it the figure is from the database, and one of them reads it for all
   */
  gauge<const L extends string>(
    definition: MetricDefinition<L> & { ofProcess?: OfProcess },
    read: () => Promise<readonly Sample<L>[]>,
  ): void
  /**
   * How often values lie below each of some bounds, of this process since its start; returns the function that records a
   * value.
   *
   * @param definition `buckets` are the bounds, ascending, in the unit of the name
   */
  histogram<const L extends string>(
    definition: MetricDefinition<L> & { buckets: readonly number[] },
  ): (labels: Labels<L>, value: number) => void
}

/** The server's figures in the text format of Prometheus. */
export type Metrics = WireMetrics & {
  observe(answer: AnswerRecord): void
  countEvent: RecordEvent
  /** All metrics but those of Node. */
  declared(): readonly DeclaredMetric[]
  /** Of all workers. */
  read(): Promise<{ text: string; contentType: string }>
  /** From now on the siblings are answered what this process has counted. */
  join(): void
}

/** A metric that is declared, and its type. */
export type DeclaredMetric = MetricDefinition<string> & { type: 'counter' | 'gauge' | 'histogram' }

type RecordValue = (labels: Labels<string>, value: number) => void

type Declared =
  | (DeclaredMetric & {
      type: 'counter' | 'gauge'
      ofProcess?: OfProcess
      read: () => Promise<readonly Sample<string>[]>
    })
  | (DeclaredMetric & { type: 'histogram'; buckets: readonly number[]; read: () => readonly Distribution[] })

/** How many values of some labels lie at or below each bucket and above the one before; the last are above all. */
type Distribution = { readonly labels: Labels<string>; readonly counts: number[]; sum: number }

/**
 * Counts from the first event on. The library writes what was counted: it is loaded for the first scrape, so that neither a
 * start nor a request waits for it. Metrics of the process (garbage collection, delays of the event loop) have a constant
 * cost, so they are collected from the first scrape on.
 */
export function createMetrics(siblings: Siblings = NO_SIBLINGS): Metrics {
  const metrics = new Map<string, Declared>()
  const listeners = new Map<string, ((ids: Event[1]) => void)[]>()
  let registry: ReturnType<typeof openRegistry> | undefined
  let missing = 0
  const open = () => (registry ??= openRegistry([...metrics.values()]))

  function declare(metric: Declared): void {
    checkMetric(metric)
    for (const name of namesOf(metric))
      if (metrics.values().some((other) => namesOf(other).includes(name)))
        throw new StartError(`metrics: two metrics are called "${name}"`)
    metrics.set(metric.name, metric)
  }

  function counter({
    known = [],
    ...definition
  }: MetricDefinition<string> & { known?: readonly Labels<string>[] }) {
    const keyOf = keyBy(definition.labels)
    const samples = new Map<string, Sample<string>>(
      known.map((labels) => [keyOf(labels), { labels, value: 0 }]),
    )
    declare({ ...definition, type: 'counter', ofProcess: 'sum', read: async () => [...samples.values()] })
    return (labels: Labels<string>): void => {
      const key = keyOf(labels)
      const sample = samples.get(key) ?? { labels, value: 0 }
      sample.value++
      samples.set(key, sample)
    }
  }

  function histogram(definition: MetricDefinition<string> & { buckets: readonly number[] }): RecordValue {
    const { buckets } = definition
    const keyOf = keyBy(definition.labels)
    const distributions = new Map<string, Distribution>()
    declare({ ...definition, type: 'histogram', read: () => [...distributions.values()] })
    return (labels, value) => {
      const key = keyOf(labels)
      let of = distributions.get(key)
      if (!of) {
        of = { labels, counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 }
        distributions.set(key, of)
      }
      let at = 0
      while (at < buckets.length && value > buckets[at]!) at++
      of.counts[at]!++
      of.sum += value
    }
  }

  const recordRequest = histogram({
    name: REQUESTS,
    help: 'Time from the first byte of a request to the last of its answer',
    labels: ['method', 'path', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
  })

  const countRefused = counter({
    name: 'sixwire_requests_refused_total',
    help: 'Requests that were refused by a limit, or because the server or its database was unavailable, by error code',
    labels: ['code'],
    known: REFUSALS.map((code) => ({ code })),
  })

  const countAll = counter({
    name: 'sixwire_events_total',
    help: 'What happened to accounts, sessions and keys, as in the log, by this process since its start',
    labels: ['event'],
  })

  const gauge: Metrics['gauge'] = (definition, read) =>
    declare({ ...definition, type: 'gauge', read: shared(() => within(READ_LIMIT_MS, read)) })

  gauge(
    {
      name: 'sixwire_workers',
      help: 'Processes of this server, by whether their figures are in this answer: answered or missing, whose counters are as of an earlier answer',
      labels: ['state'],
    },
    async () => [
      { labels: { state: 'answered' }, value: siblings.count - missing },
      { labels: { state: 'missing' }, value: missing },
    ],
  )

  return {
    counter,
    eventCounter(definition, events) {
      const add = counter(definition)
      for (const [event, labelsOf] of Object.entries(events))
        listeners.set(event, [...(listeners.get(event) ?? []), (ids) => add(labelsOf(ids))])
    },
    gauge,
    histogram,
    countEvent(event, ids) {
      countAll({ event })
      for (const listen of listeners.get(event) ?? []) listen(ids)
    },
    declared: () => [...metrics.values()],
    observe({ method, route = '(none)', status, ms, code = '' }) {
      recordRequest({ method, path: route, status: String(status) }, ms / 1000)
      if (REFUSALS.includes(code)) countRefused({ code })
    },
    async read() {
      const { ofProcess, common, contentType } = await open()
      if (siblings.count === 1) {
        const all = [ofProcess, common, await openNodeMetrics()]
        return { text: (await Promise.all(all.map((one) => one.metrics()))).join(''), contentType }
      }
      const others = await siblings.ask(TOPIC)
      missing = others.missing.length
      const figures = await readFigures(ofProcess, siblings)
      const text = await sumOf([figures, ...(others.answers as Figures[]), ...counted(others.missing)])
      return { text: `${text}${await common.metrics()}`, contentType }
    },
    join: () => siblings.on(TOPIC, async () => readFigures((await open()).ofProcess, siblings)),
  }
}

/** What one process has counted and measured. */
type Figures = readonly MetricObject[]

/** Of this process, and what those had counted that it has succeeded. */
async function readFigures(ofProcess: Registry, siblings: Siblings): Promise<Figures> {
  const { AggregatorRegistry } = await import('prom-client')
  const ofNode = await openNodeMetrics()
  const own = [...(await ofProcess.getMetricsAsJSON()), ...(await ofNode.getMetricsAsJSON())]
  const before = counted([siblings.inherited(TOPIC)])
  const all = await AggregatorRegistry.aggregate([own, ...before] as never).getMetricsAsJSON()
  siblings.keep(TOPIC, all)
  return all
}

/** What must not fall when a process ends: a counter that does counts as one that began again, and all of it as new. */
const counted = (all: readonly unknown[]): Figures[] =>
  (all as (Figures | undefined)[]).flatMap((figures) =>
    figures ? [figures.filter(({ type }) => COUNTED.includes(String(type)))] : [],
  )

async function sumOf(all: readonly Figures[]): Promise<string> {
  const { AggregatorRegistry } = await import('prom-client')
  return AggregatorRegistry.aggregate(all as never).metrics()
}

/** Tells the values of labels from others. */
const keyBy =
  (names: readonly string[]) =>
  (labels: Labels<string>): string => {
    let key = ''
    for (const name of names) key += `${labels[name]}\0`
    return key
  }

/** All names of the metric in the answer. */
const namesOf = ({ name, type }: DeclaredMetric): string[] =>
  type === 'histogram' ? [name, ...HISTOGRAM_SUFFIXES.map((suffix) => `${name}${suffix}`)] : [name]

/** @throws StartError if Prometheus would not take the metric, or its name is not as all are */
function checkMetric(metric: Declared): void {
  const { name, help, labels, type } = metric
  if (!NAME.test(name) || (type === 'counter') !== name.endsWith('_total'))
    throw new StartError(
      `metrics: "${name}" can't be the name of a ${type}: it takes lowercase words joined by _, and those of counters end in _total`,
    )
  if (OTHERS.test(name) && name !== REQUESTS)
    throw new StartError(
      `metrics: "${name}" begins like the metrics of requests or of Node: write the name of the wire before it`,
    )
  if (help.trim() === '') throw new StartError(`metrics: "${name}" has no help: write what it counts`)
  const wrong = labels.find((label) => !LABEL.test(label) || (type === 'histogram' && label === 'le'))
  if (wrong !== undefined)
    throw new StartError(
      `metrics: "${name}": "${wrong}" can't be a label: it takes lowercase words joined by _${type === 'histogram' ? ', other than le' : ''}`,
    )
  if (metric.type !== 'histogram') return
  const { buckets } = metric
  if (
    buckets.length === 0 ||
    !buckets.every((bound, at) => Number.isFinite(bound) && !(bound <= buckets[at - 1]!))
  )
    throw new StartError(`metrics: "${name}": buckets are numbers, each above the one before`)
}

/** Scrapes at the same moment share a read. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () =>
    (running ??= read().finally(() => {
      running = undefined
    }))
}

/** A distribution as Prometheus reads it: https://prometheus.io/docs/instrumenting/exposition_formats/#histograms-and-summaries */
function samplesOf(
  { name, buckets }: { name: string; buckets: readonly number[] },
  { labels, counts, sum }: Distribution,
) {
  let count = 0
  const bounds = [...buckets.map(String), '+Inf'].map((le, at) => ({
    metricName: `${name}_bucket`,
    labels: { le, ...labels },
    value: (count += counts[at]!),
  }))
  return [
    ...bounds,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}

async function openRegistry(declared: readonly Declared[]) {
  const { Counter, Gauge, Registry } = await import('prom-client')
  const [ofProcess, common] = [new Registry(), new Registry()]
  for (const one of declared) {
    const { name, help, labels } = one
    const definition = { name, help, labelNames: labels }
    if (one.type === 'histogram') {
      const get = async () => ({
        name,
        help,
        type: 'histogram',
        aggregator: 'sum',
        values: one.read().flatMap((of) => samplesOf(one, of)),
      })
      ofProcess.registerMetric({ name, get } as unknown as Metric)
      continue
    }
    const metric = new (one.type === 'counter' ? Counter : Gauge)({
      ...definition,
      registers: [one.ofProcess ? ofProcess : common],
      aggregator: one.ofProcess ?? 'first',
      async collect() {
        const samples = await one.read().catch(() => [])
        metric.reset()
        // Without labels a metric begins at 0, which would be a figure that nobody read.
        if (labels.length === 0) metric.remove()
        for (const { labels: values, value } of samples) metric.inc(values, value)
      },
    })
  }
  return { ofProcess, common, contentType: common.contentType }
}

/** Of the process, from the first read on: they watch it until it ends, whatever settings change meanwhile. */
const openNodeMetrics = once(async () => {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  // The library leaves it out of sums.
  Object.assign(registry.getSingleMetric('process_start_time_seconds')!, { aggregator: 'min' })
  return registry
})
