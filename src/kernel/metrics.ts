import { StartError } from '../base/start-error.ts'
import { within } from '../base/within.ts'
import type { RecordEvent } from '../http/event-log.ts'
import type { AnswerRecord } from '../http/server.ts'

// A scrape must not wait for a database or a node that is unavailable.
const READ_LIMIT_MS = 2_000
const NAME = /^[a-z][a-z\d]*(_[a-z\d]+)+$/
/** They are registered once they are needed, long after the start. */
const OTHERS = /^(http_request_|process_|nodejs_)/

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

/** Declares the metrics of a wire, in its setup. */
export type WireMetrics = {
  /** A counter of this process since its start; returns the function that adds one. @throws StartError for a name that is in use */
  counter<const L extends string>(definition: MetricDefinition<L>): (labels: Labels<L>) => void
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
   */
  gauge<const L extends string>(
    definition: MetricDefinition<L>,
    read: () => Promise<readonly Sample<L>[]>,
  ): void
}

/** The server's figures in the text format of Prometheus. */
export type Metrics = WireMetrics & {
  observe(answer: AnswerRecord): void
  countEvent: RecordEvent
  /** All metrics but those of requests and of Node. */
  declared(): readonly DeclaredMetric[]
  read(): Promise<{ text: string; contentType: string }>
}

/** A metric that is declared, and its type. */
export type DeclaredMetric = MetricDefinition<string> & { type: 'counter' | 'gauge' }

type Declared = DeclaredMetric & {
  read: () => Promise<readonly Sample<string>[]>
}

/**
 * Counts answers from the first one on. The first answer also loads the library, so that neither a start nor a command
 * waits for it. Metrics of the process (garbage collection, delays of the event loop) have a constant cost, so they are
 * collected from the first scrape on.
 */
export function createMetrics(): Metrics {
  const declared = new Map<string, Declared>()
  const listeners = new Map<string, ((ids: Event[1]) => void)[]>()
  let registry: ReturnType<typeof openRegistry> | undefined
  let count: ((answer: AnswerRecord) => void) | undefined
  const buffer: AnswerRecord[] = []

  async function open() {
    const metrics = await (registry ??= openRegistry([...declared.values()]))
    for (const answer of buffer.splice(0)) metrics.observe(answer)
    count = metrics.observe
    return metrics
  }

  function declare(metric: Declared): void {
    const { name, type } = metric
    if (!NAME.test(name) || (type === 'counter') !== name.endsWith('_total'))
      throw new StartError(
        `metrics: "${name}" can't be the name of a ${type}: it takes lowercase words joined by _, and those of counters end in _total`,
      )
    if (OTHERS.test(name))
      throw new StartError(
        `metrics: "${name}" begins like the metrics of requests or of Node: write the name of the wire before it`,
      )
    if (declared.has(name)) throw new StartError(`metrics: two metrics are called "${name}"`)
    declared.set(name, metric)
  }

  function counter(definition: MetricDefinition<string>) {
    const samples = new Map<string, Sample<string>>()
    declare({ ...definition, type: 'counter', read: async () => [...samples.values()] })
    return (labels: Labels<string>): void => {
      const key = JSON.stringify(definition.labels.map((label) => labels[label]))
      const sample = samples.get(key) ?? { labels, value: 0 }
      sample.value++
      samples.set(key, sample)
    }
  }

  const countAll = counter({
    name: 'sixwire_events_total',
    help: 'What happened to accounts, sessions and keys, as in the log, by this process since its start',
    labels: ['event'],
  })

  return {
    counter,
    eventCounter(definition, events) {
      const add = counter(definition)
      for (const [event, labelsOf] of Object.entries(events))
        listeners.set(event, [...(listeners.get(event) ?? []), (ids) => add(labelsOf(ids))])
    },
    gauge: (definition, read) =>
      declare({ ...definition, type: 'gauge', read: shared(() => within(READ_LIMIT_MS, read)) }),
    countEvent(event, ids) {
      countAll({ event })
      for (const listen of listeners.get(event) ?? []) listen(ids)
    },
    declared: () => [...declared.values()],
    observe(answer) {
      if (count) return count(answer)
      buffer.push(answer)
      if (buffer.length === 1) void open()
    },
    read: async () => (await open()).read(),
  }
}

/** Scrapes at the same moment share a read. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () =>
    (running ??= read().finally(() => {
      running = undefined
    }))
}

async function openRegistry(declared: readonly Declared[]) {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
    labelNames: ['method', 'path', 'status'] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  })
  for (const { name, help, labels, type, read } of declared) {
    const metric = new (type === 'counter' ? Counter : Gauge)({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        const samples = await read().catch(() => [])
        metric.reset()
        // Without labels a metric begins at 0, which would be a figure that nobody read.
        if (labels.length === 0) metric.remove()
        for (const { labels: values, value } of samples) metric.inc(values, value)
      },
    })
  }
  let isWatching = false
  return {
    observe: ({ method, route = '(none)', status, ms }: AnswerRecord): void =>
      requests.observe({ method, path: route, status }, ms / 1000),
    async read() {
      if (!isWatching) collectDefaultMetrics({ register: registry })
      isWatching = true
      return { text: await registry.metrics(), contentType: registry.contentType }
    },
  }
}
