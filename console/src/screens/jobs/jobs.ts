import { queryValue } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import type { Tone } from '../../parts/text.tsx'

export const STATES = ['failed', 'ready', 'running', 'waiting'] as const

export const TONES: Readonly<Record<ShownJob['state'], Tone>> = {
  failed: 'bad',
  running: 'good',
  ready: 'plain',
  waiting: 'warning',
}

/** The filters of the address. */
export function filterOf() {
  const state = STATES.find((one) => one === queryValue('state'))
  return { kind: queryValue('kind'), state, error: queryValue('error') }
}

/** Loads a page of the jobs that the filters find. */
export const loadJobs = async ({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) => {
  const { jobs, nextCursor } = await six.call('GET /core/jobs', {
    query: { ...filterOf(), total: 'none', limit: 100, cursor },
    signal,
  })
  return { rows: jobs, nextCursor }
}

export type ShownJob = Awaited<ReturnType<typeof loadJobs>>['rows'][number]

export const attemptsOf = ({ attempts, attemptsMax }: ShownJob): string =>
  attemptsMax === undefined ? String(attempts) : `${attempts} of ${attemptsMax}`
