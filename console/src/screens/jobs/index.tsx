import { confirm } from '../../parts/dialog.tsx'
import { List } from '../../parts/list.tsx'
import { messageOf, useLoad } from '../../parts/load.tsx'
import { place } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { JobPane } from './job.tsx'
import { attemptsOf, filterOf, loadJobs, STATES, TONES, type ShownJob } from './jobs.ts'
import { discardJobs, retryJobs } from './marked.tsx'

/** Background jobs by kind and state: why they failed, and what to do about it. */
export default function Jobs() {
  const counts = useLoad((signal) => six.call('GET /core/jobs/counts', { signal }), [place.value])
  const { kind, state, error } = filterOf()
  const all = counts.value?.counts ?? []
  const ofKind = all.filter((one) => kind === undefined || one.kind === kind)
  const failed = sumOf(ofKind.filter((one) => one.state === 'failed'))
  const kinds = [...new Set([...all.map((one) => one.kind), ...(kind === undefined ? [] : [kind])])]
  return (
    <List<ShownJob>
      title="Jobs"
      at={['jobs']}
      idOf={({ _id }) => _id}
      nameOf={(job) => `${job.kind}, ${job.state}`}
      load={loadJobs}
      canBeLive
      filters={[
        {
          kind: 'choice',
          name: 'state',
          label: 'State',
          options: STATES.map((one) => [one, `${one} (${sumOf(ofKind.filter((of) => of.state === one))})`]),
        },
        {
          kind: 'choice',
          name: 'kind',
          label: 'Kind',
          options: kinds.map((one) => [one, `${one} (${sumOf(all.filter((of) => of.kind === one))})`]),
        },
        { kind: 'search', name: 'error', label: 'Part of the error' },
      ]}
      columns={[
        { name: 'kind', title: 'Kind', order: ({ kind }) => kind, cell: (job) => <Text>{job.kind}</Text> },
        {
          name: 'state',
          title: 'State',
          order: ({ state }) => state,
          cell: (job) => <Badge tone={TONES[job.state]}>{job.state}</Badge>,
          width: '92px',
        },
        {
          name: 'attempts',
          title: 'Attempts',
          order: ({ attempts }) => attempts,
          cell: attemptsOf,
          width: '92px',
          isMinor: true,
        },
        {
          name: 'error',
          title: 'Error',
          order: ({ error }) => error,
          cell: (job) => <Text>{job.error ?? ''}</Text>,
          isMinor: true,
        },
        {
          name: 'at',
          title: 'When',
          order: (job) => job.failedAt ?? job.startedAt ?? job.runAt,
          cell: (job) => <Time at={job.failedAt ?? job.startedAt ?? job.runAt} />,
          width: '125px',
        },
      ]}
      buttons={(again) =>
        failed > 0 &&
        (state === undefined || state === 'failed') && (
          <button
            type="button"
            class="small"
            disabled={!canWrite.value}
            onClick={() => void retryAll({ kind, error }, again)}
          >
            Retry all failed…
          </button>
        )
      }
      actions={(marked, done) => (
        <>
          <button
            type="button"
            class="small"
            disabled={!canWrite.value || !marked.some((job) => job.canRetry)}
            onClick={() => void retryJobs(marked, done)}
          >
            Retry
          </button>
          <button
            type="button"
            class="small dangerous"
            disabled={!canWrite.value || !marked.some((job) => job.canDiscard)}
            onClick={() => discardJobs(marked, done)}
          >
            Discard…
          </button>
        </>
      )}
      empty={<p>No job is waiting or running, and none has failed.</p>}
      pane={(id, job, again) => <JobPane key={id} id={id} job={job} again={again} />}
    />
  )
}

const sumOf = (counts: readonly { count: number }[]): number =>
  counts.reduce((sum, { count }) => sum + count, 0)

/** Asks for the exact number first. */
async function retryAll(filter: { kind: string | undefined; error: string | undefined }, again: () => void) {
  const query = { ...filter, state: 'failed', limit: 1 } as const
  const { total = 0 } = await six
    .call('GET /core/jobs', { query })
    .catch((error: unknown) => (toast(messageOf(error), { tone: 'bad' }), { total: 0 }))
  if (total === 0) return
  confirm({
    title: `Retry ${total} failed ${total === 1 ? 'job' : 'jobs'}?`,
    children: (
      <p>
        {filter.kind === undefined ? 'Jobs of every kind' : <Text>{`Jobs of the kind ${filter.kind}`}</Text>}
        {filter.error !== undefined && <Text>{` whose error has “${filter.error}”`}</Text>} have all their
        attempts again.
      </p>
    ),
    verb: 'Retry all',
    ...(total > 1 && { type: String(total) }),
    act: async () => {
      const { count } = await six.call('POST /core/jobs/retry', { body: { filter } })
      toast(`${count} ${count === 1 ? 'job is' : 'jobs are'} ready again.`)
      again()
    },
  })
}
