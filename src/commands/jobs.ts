import { StartError } from '../base/start-error.ts'
import { dropJob, listJobs, retryJobs } from '../kernel/jobs/job-list.ts'
import { UsageError, type Command } from './command.ts'
import { table, withApp } from './with-app.ts'

const SHOWN = 50
const ERROR_CHARACTERS = 80

export const jobs: Command = {
  summary: 'List background jobs, retry or drop those that failed',
  usage: 'sixwire jobs list [--failed] [--kind KIND] [--json] | retry ID | retry --kind KIND | drop ID',
  help: `list             the jobs that are not done, failed ones first   [--limit ${SHOWN}]
                 --failed shows only those, --kind only those of one kind,
                 --json prints an array with their payloads
retry ID         makes a failed job ready again, with all its attempts
retry --kind K   does so with all failed jobs of a kind
drop ID          deletes a job that is not running; its work is never done

A running server sees the change within two seconds.`,
  takesWords: true,
  options: {
    failed: { type: 'boolean' },
    json: { type: 'boolean' },
    kind: { type: 'string' },
    limit: { type: 'string' },
  },
  async run([action, id, ...more], options) {
    const {
      kind,
      failed,
      json,
      limit = String(SHOWN),
    } = options as {
      kind?: string
      failed?: boolean
      json?: boolean
      limit?: string
    }
    if (action === undefined) throw new UsageError('say what to do')
    if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is too much`)
    if (action === 'list' && id === undefined) {
      if (!/^[1-9]\d{0,8}$/.test(limit)) throw new UsageError('--limit takes a whole number of at least 1')
      return withApp(async ({ db }) => {
        const listed = await listJobs(db, { kind, failed: failed === true, limit: Number(limit) })
        console.log(
          json
            ? JSON.stringify(listed, null, 2)
            : table(
                ['ID', 'KIND', 'STATE', 'ATTEMPTS', 'RUN AT', 'ERROR'],
                listed.map((job) => [
                  job.id,
                  job.kind,
                  job.state,
                  String(job.attempts),
                  job.runAt,
                  (job.error ?? '').replaceAll(/\s+/g, ' ').slice(0, ERROR_CHARACTERS),
                ]),
              ),
        )
        return 0
      })
    }
    if (failed || json || options['limit'] !== undefined)
      throw new UsageError('--failed, --json and --limit are for list')
    if (action === 'retry' && (id === undefined) !== (kind === undefined))
      return withApp(async ({ db }) => {
        const retried = await retryJobs(db, id === undefined ? { kind: kind! } : { id }, Date.now())
        if (retried.length === 0)
          throw new StartError(
            id === undefined ? `no job of the kind ${kind} has failed` : `${id} is no failed job`,
          )
        console.log(`${retried.length === 1 ? '1 job is' : `${retried.length} jobs are`} ready again`)
        return 0
      })
    if (action === 'drop' && id !== undefined && kind === undefined)
      return withApp(async ({ db }) => {
        const outcome = await dropJob(db, id, Date.now())
        if (outcome !== 'dropped') throw new StartError(NOT_DROPPED[outcome](id))
        console.log(`${id} is dropped`)
        return 0
      })
    if (action === 'retry') throw new UsageError('retry takes an ID or --kind KIND')
    if (action === 'drop') throw new UsageError('drop takes an ID')
    throw new UsageError(`"${[action, id].filter(Boolean).join(' ')}" is not known`)
  },
}

const NOT_DROPPED = {
  running: (id: string) => `${id} is running: try again when it is not`,
  recurring: (id: string) => `${id} recurs: it can't be dropped`,
  unknown: (id: string) => `there is no job ${id}`,
}
