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
      run: ({ options: { json, failed, kind, limit } }) =>
        withApp(async ({ jobs: operations }) => {
          const filter = { kind, ...(failed && { state: 'failed' as const }) }
          const { jobs: listed } = await operations.list(filter, { limit })
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
        return withApp(async ({ jobs: operations }) => {
          const count =
            id === undefined ? await operations.retryAll({ kind }) : (await operations.retry(id), 1)
          console.log(`${count === 1 ? '1 job is' : `${count} jobs are`} ready again`)
          return 0
        })
      },
    }),
    drop: defineAction({
      summary: 'Delete a job that is not running; its work is never done',
      words: ['ID'],
      run: ({ words: [id] }) =>
        withApp(async ({ jobs: operations }) => {
          await operations.discard(id)
          console.log(`${id} is dropped`)
          return 0
        }),
    }),
  },
  details: 'A running server sees the change within two seconds.',
}
