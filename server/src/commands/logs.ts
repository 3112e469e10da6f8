import { FAULT_STATES } from '../wires/core/request-log/faults.ts'
import { oneOf } from '../kernel/config/fields.ts'
import { COMMAND_LINE } from '../http/actor.ts'
import { defineAction, UsageError, type CommandGroup } from './command.ts'
import { JSON_OPTION, PAGE_OPTIONS } from './option.ts'
import { print, table } from './print.ts'
import { withApp } from './with-app.ts'

const MESSAGE_CHARACTERS = 80
const STATE = oneOf(FAULT_STATES)

const short = (text: string): string => text.slice(0, MESSAGE_CHARACTERS)

export const logs: CommandGroup = {
  summary: 'List requests, problems and faults of all servers',
  actions: {
    list: defineAction({
      summary: 'List requests, warnings and errors, newest first',
      options: {
        status: { value: 'STATUS', description: 'only those with a status, or a class of them: 404, 5xx' },
        request: { value: 'ID', description: 'only those of one request' },
        caller: { value: 'ID', description: 'only those of one user or service key' },
        search: { value: 'TEXT', description: 'only those with it in the path, the code or the message' },
        limit: PAGE_OPTIONS.limit,
        ...JSON_OPTION,
      },
      run: ({ options: { json, status, request, caller, search, limit } }) => {
        if (status !== undefined && !/^[1-5](xx|\d\d)$/.test(status))
          throw new UsageError(`--status: "${status}" is no status like 404 or 5xx`)
        return withApp(async ({ logs: operations }) => {
          const filter = { status, requestId: request, caller, q: search }
          const { entries, omitted } = await operations.list(filter, { limit, offset: 0, before: undefined })
          print(json, { entries, omitted }, () =>
            table(
              ['AT', 'STATUS', 'MS', 'WHAT', 'REQUEST'],
              entries.map((one) => [
                one.at,
                String(one.status ?? one.level ?? ''),
                one.ms === undefined ? '' : one.ms.toFixed(1),
                short(one.kind === 'request' ? `${one.method} ${one.path}` : (one.message ?? '')),
                one.requestId ?? '',
              ]),
            ),
          )
          return 0
        })
      },
    }),
    faults: defineAction({
      summary: 'List unexpected errors by the place that threw them',
      options: {
        state: { value: 'STATE', description: 'only those that are open or resolved' },
        limit: PAGE_OPTIONS.limit,
        ...JSON_OPTION,
      },
      details: 'With --json they have the stack of the last occurrence.',
      run: ({ options: { json, state, limit } }) => {
        if (!STATE.fits(state ?? 'open')) throw new UsageError(`--state: "${state}" is not ${STATE.takes}`)
        return withApp(async ({ logs: operations }) => {
          const { faults } = await operations.faults({ state: state as 'open' | undefined, limit })
          print(json, faults, () =>
            table(
              ['ID', 'TIMES', 'LAST', 'STATE', 'ERROR', 'PLACE'],
              faults.map((one) => [
                one._id,
                String(one.count),
                one.lastAt,
                one.state,
                short(`${one.name}: ${one.message}`),
                one.place ?? '',
              ]),
            ),
          )
          return 0
        })
      },
    }),
    resolve: defineAction({
      summary: 'Mark a fault as resolved, until it happens again',
      words: ['ID'],
      run: ({ words: [id] }) =>
        withApp(async ({ logs: operations }) => {
          const { name, place } = await operations.resolve(id, COMMAND_LINE)
          console.log(`${name}${place === undefined ? '' : ` at ${place}`} is resolved`)
          return 0
        }),
    }),
  },
}
