import { computed, effect, signal, untracked } from '@preact/signals'

import { place } from '../../console/src/parts/router.tsx'
import { root } from './server.ts'
import { shown, type Part } from './where.ts'

type Refresh = () => Promise<unknown>

const RETRY_MS = 2000
// New mail and messages are always counted; the rest is fetched only while it is shown.
const ALWAYS: readonly Part[] = ['inbox', 'phone']
// What the server calls otherwise, and what is shown in a second part: the faults of webhooks.
const SHOWN_IN: Readonly<Record<string, readonly Part[]>> = {
  cardpay: ['payments'],
  walletpay: ['payments'],
  providers: ['providers', 'webhooks'],
}

const refreshes = new Map<Part, Refresh>()
/** The last request of each part: they run one after the other. */
const asking = new Map<Part, Promise<void>>()
/** The parts whose request failed, each with the timer of its retry. */
const retries = signal<ReadonlyMap<Part, ReturnType<typeof setTimeout>>>(new Map())
const isStreamOpen = signal(true)

/** Whether the server has answered every part's last request. */
export const isAnswered = computed(() => isStreamOpen.value && retries.value.size === 0)

/** How many new things a part has. */
export const counts = signal<Readonly<Partial<Record<Part, number>>>>({})

export const count = (part: Part, number: number): void =>
  void (counts.value = { ...counts.peek(), [part]: number })

function setRetry(part: Part, timer: ReturnType<typeof setTimeout> | undefined): void {
  const next = new Map(retries.peek())
  clearTimeout(next.get(part))
  if (timer === undefined) next.delete(part)
  else next.set(part, timer)
  retries.value = next
}

/** Fetches a part again later. */
export const retry = (part: Part): void => setRetry(part, setTimeout(refresh, RETRY_MS, part))

/** Fetches what a part shows. */
export function refresh(part: Part): Promise<void> {
  const before = asking.get(part)
  const mine = (async () => {
    await before
    const timer = retries.peek().get(part)
    try {
      await refreshes.get(part)!()
    } catch {
      return retry(part)
    }
    // A retry that was scheduled meanwhile stays.
    if (timer !== undefined && retries.peek().get(part) === timer) setRetry(part, undefined)
  })()
  asking.set(part, mine)
  return mine
}

const wanted = (): ReadonlySet<Part> => new Set([...ALWAYS, shown.peek()])

/** Listens to changes. No stream reports a change from before it was open, so everything is fetched then. */
function listen(): void {
  const events = new EventSource(`${root}/api/events`)
  events.addEventListener('open', () => {
    isStreamOpen.value = true
    for (const part of wanted()) void refresh(part)
  })
  events.addEventListener('change', ({ data }: MessageEvent<string>) => {
    for (const part of SHOWN_IN[data] ?? [data as Part]) if (wanted().has(part)) void refresh(part)
  })
  events.addEventListener('error', () => {
    isStreamOpen.value = false
    // It reconnects by itself, but not after an answer such as 503, which a server sends while it starts.
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_MS)
  })
}

/** Keeps all parts as the server has them; a part is fetched when it is shown, too. */
export function start(all: Readonly<Record<Part, Refresh>>): void {
  for (const [part, work] of Object.entries(all)) refreshes.set(part as Part, work)
  let before = place.peek()
  effect(() => {
    const now = place.value
    if (now !== before) untracked(() => void refresh(shown.peek()))
    before = now
  })
  listen()
}
