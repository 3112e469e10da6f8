import { isError } from '../../../../client/src/index.ts'
import { confirm } from '../../parts/dialog.tsx'
import { six } from '../../parts/session.ts'
import { toast } from '../../parts/toast.tsx'
import type { ShownJob } from './jobs.ts'

/** Retries those that have failed, and says how many could not be. */
export async function retryJobs(marked: readonly ShownJob[], done: () => void): Promise<void> {
  const ready = marked.filter((job) => job.canRetry)
  const refused = await each(ready, (id) => six.call('POST /core/jobs/:id/retry', { params: { id } }))
  say('ready again', ready.length - refused, marked.length)
  done()
}

/** Discards those that may be, once their number was typed. */
export function discardJobs(marked: readonly ShownJob[], done: () => void): void {
  const discardable = marked.filter((job) => job.canDiscard)
  const count = discardable.length
  confirm({
    title: count === 1 ? 'Discard this job?' : `Discard ${count} jobs?`,
    children: <p>Their work will not be done. This can’t be undone.</p>,
    verb: 'Discard',
    ...(count > 1 && { type: String(count) }),
    act: async () => {
      const refused = await each(discardable, (id) => six.call('DELETE /core/jobs/:id', { params: { id } }))
      say('discarded', count - refused, marked.length)
      done()
    },
  })
}

/** One after the other; what another reader or a server was faster with is counted. */
async function each(jobs: readonly ShownJob[], act: (id: string) => Promise<unknown>): Promise<number> {
  let refused = 0
  for (const { _id } of jobs)
    try {
      await act(_id)
    } catch (error) {
      if (!isError(error, 'CONFLICT') && !isError(error, 'NOT_FOUND')) throw error
      refused++
    }
  return refused
}

const say = (what: string, count: number, of: number): void =>
  toast(count === of ? `${count} ${what}.` : `${count} of ${of} ${what}: the others can’t be.`)
