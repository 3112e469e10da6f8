import { StartError } from '../base/start-error.ts'
import type { LoggedEntry } from '../wires/core/audit/audit-log.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { JSON_OPTION, PAGE_OPTIONS } from './option.ts'
import { print, table } from './print.ts'
import { withApp } from './with-app.ts'

const TIME_OPTION = { value: 'TIME', read: readTime } as const

export const audit: CommandGroup = {
  summary: 'List who did what to accounts, keys, money and whole collections',
  actions: {
    list: defineAction({
      summary: 'List the audit log, newest first',
      options: {
        action: { value: 'ACTION', description: 'only this action, or all of a noun, like "user.*"' },
        actor: {
          value: 'ACTOR',
          description: 'the id of a user or a service key; or command, system or stranger',
        },
        target: { value: 'TARGET', description: 'kind and id, like collection:books' },
        since: { ...TIME_OPTION, description: 'at this time or later, like 2026-01-31T12:00:00Z' },
        until: { ...TIME_OPTION, description: 'before this time' },
        ...PAGE_OPTIONS,
        ...JSON_OPTION,
      },
      details: 'With --json they have all fields, with what was before and after.',
      run: ({ options: { json, limit, offset, ...filter } }) =>
        withApp(async ({ audit: log }) => {
          const { entries } = await log.list(filter, { limit, offset, before: undefined })
          print(json, entries, () => table(HEADINGS, entries.map(rowOf)))
          return 0
        }),
    }),
  },
  details: 'Entries are kept as many days as SIXWIRE_AUDIT_DAYS says (365), and nobody can change them.',
}

const HEADINGS = ['TIME', 'ACTION', 'TARGET', 'ACTOR', 'FROM']

const rowOf = ({ createdAt, action, outcome, target, actor, ip }: LoggedEntry): string[] => [
  createdAt,
  outcome === 'denied' ? `${action} (denied)` : action,
  target ?? '',
  actor.id === undefined ? actor.kind : `${actor.kind}:${actor.id}`,
  ip ?? '',
]

function readTime(text: string, name: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time) || time < 0) throw new StartError(`${name} takes a time like 2026-01-31T12:00:00Z`)
  return time
}
