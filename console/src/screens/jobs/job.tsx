import { confirm } from '../../parts/dialog.tsx'
import { messageOf, Problem, Show, useLoad } from '../../parts/load.tsx'
import { go, href, place } from '../../parts/router.tsx'
import { canWrite, six, user } from '../../parts/session.ts'
import { Badge, Facts, Id, Json, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { attemptsOf, TONES, type ShownJob } from './jobs.ts'

/** One job: why it failed, what it works on, and what can be done. */
export function JobPane(props: { id: string; job: ShownJob | undefined; again: () => void }) {
  const { id, again } = props
  // Viewers do not see what it works on, and the row has the rest.
  const isWhole = user.value?.role === 'admin'
  const loaded = useLoad(
    async (signal) => (isWhole ? six.call('GET /core/jobs/:id', { params: { id }, signal }) : undefined),
    [id, props.job],
  )
  const job = loaded.value ?? props.job
  if (!job)
    return (
      <>
        <h2 tabIndex={-1}>Job</h2>
        {isWhole ? (
          <Show of={loaded}>{() => null}</Show>
        ) : (
          <p>This job is not among those that are loaded.</p>
        )}
      </>
    )
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{job.kind}</Text> <Badge tone={TONES[job.state]}>{job.state}</Badge>
      </h2>
      <Facts
        of={[
          ['Id', <Id>{job._id}</Id>],
          job.lane !== undefined && ['Lane', <Text>{job.lane}</Text>],
          ['Attempts', attemptsOf(job)],
          job.runAt !== undefined && ['Due', <Time at={job.runAt} />],
          job.startedAt !== undefined && ['Runs since', <Time at={job.startedAt} />],
          job.failedAt !== undefined && ['Failed', <Time at={job.failedAt} />],
          ['Added', <Time at={job.createdAt} />],
        ]}
      />
      {job.error !== undefined && (
        <div class="notice bad">
          <p>
            <strong>{job.state === 'failed' ? 'It failed for good.' : 'The last attempt failed.'}</strong>{' '}
            <Text>{job.error}</Text>
          </p>
        </div>
      )}
      <Buttons job={job} again={again} />
      {loaded.error !== undefined && <Problem error={loaded.error} again={loaded.again} />}
      {loaded.value && 'payload' in loaded.value && (
        <>
          <h3>What it works on</h3>
          <Json value={loaded.value.payload} label="What it works on, as JSON" />
        </>
      )}
    </>
  )
}

function Buttons({ job, again }: { job: ShownJob; again: () => void }) {
  const params = { id: job._id }
  async function retry(): Promise<void> {
    try {
      await six.call('POST /core/jobs/:id/retry', { params })
      toast('The job is ready again.')
      again()
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    }
  }
  const discard = () =>
    confirm({
      title: 'Discard this job?',
      children: (
        <p>
          The work of <Text>{job.kind}</Text> will not be done. This can’t be undone.
        </p>
      ),
      verb: 'Discard',
      act: async () => {
        await six.call('DELETE /core/jobs/:id', { params })
        toast('The job is discarded.')
        go(href(['jobs'], place.value.query))
        again()
      },
    })
  return (
    <div class="buttons">
      <button
        type="button"
        class="primary"
        disabled={!canWrite.value || !job.canRetry}
        onClick={() => void retry()}
      >
        Retry
      </button>
      <button type="button" class="dangerous" disabled={!canWrite.value || !job.canDiscard} onClick={discard}>
        Discard…
      </button>
    </div>
  )
}
