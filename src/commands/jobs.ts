import { StartError } from '../base/start-error.ts'
import { dropJob, listJobs, retryJobs } from '../kernel/jobs/job-list.ts'
import { defineAction, UsageError, type CommandGroup } from './command.ts'
import { JSON_OPTION, PAGE_OPTIONS } from './option.ts'
import { print, table } from './print.ts'
import { withApp } from './with-app.ts'

const ERROR_CHARACTERS = 80

export const jobs: CommandGroup = {
  summary: 'List background jobs, retry or drop those that failed',
  actions: {
    list: defineAction({
      summary: 'List the jobs that are not done, failed ones first',
      options: {
        failed: { description: 'only failed ones' },
        kind: { value: 'KIND', description: 'only those of one kind' },
        limit: PAGE_OPTIONS.limit,
        ...JSON_OPTION,
      },
      details: 'With --json they have their payloads.',
      run: ({ options: { json, ...filter } }) =>
        withApp(async ({ db }) => {
          const listed = await listJobs(db, filter)
          print(json, listed, () =>
            table(
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
        }),
    }),
    retry: defineAction({
      summary: 'Make failed jobs ready again, with all their attempts',
      words: ['[ID]'],
      options: { kind: { value: 'KIND', description: 'all failed jobs of a kind, instead of ID' } },
      async run({ words: [id], options: { kind } }) {
        if ((id === undefined) === (kind === undefined))
          throw new UsageError('it takes an ID, or --kind KIND')
        return withApp(async ({ db }) => {
          const retried = await retryJobs(db, id === undefined ? { kind: kind! } : { id }, Date.now())
          if (retried.length === 0)
            throw new StartError(
              id === undefined ? `no job of the kind ${kind} has failed` : `${id} is no failed job`,
            )
          console.log(`${retried.length === 1 ? '1 job is' : `${retried.length} jobs are`} ready again`)
          return 0
        })
      },
    }),
    drop: defineAction({
      summary: 'Delete a job that is not running; its work is never done',
      words: ['ID'],
      run: ({ words: [id] }) =>
        withApp(async ({ db }) => {
          const outcome = await dropJob(db, id, Date.now())
          if (outcome !== 'dropped') throw new StartError(NOT_DROPPED[outcome](id))
          console.log(`${id} is dropped`)
          return 0
        }),
    }),
  },
  details: 'A running server sees the change within two seconds.',
}

const NOT_DROPPED = {
  running: (id: string) => `${id} is running: try again when it is not`,
  recurring: (id: string) => `${id} recurs: it can't be dropped`,
  unknown: (id: string) => `there is no job ${id}`,
}
