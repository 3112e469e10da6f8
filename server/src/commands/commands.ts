import type { Command } from './command.ts'

/** What loads each command, by their names in the order of the help: a start does not load the others. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./init.ts')).init,
  start: async () => (await import('./start.ts')).start,
  dev: async () => (await import('./dev.ts')).dev,
  check: async () => (await import('./check.ts')).check,
  config: async () => (await import('./config.ts')).config,
  doctor: async () => (await import('./doctor.ts')).doctor,
  user: async () => (await import('./user.ts')).user,
  key: async () => (await import('./key.ts')).key,
  can: async () => (await import('./can.ts')).can,
  jobs: async () => (await import('./jobs.ts')).jobs,
  logs: async () => (await import('./logs.ts')).logs,
  audit: async () => (await import('./audit.ts')).audit,
  schedule: async () => (await import('./schedule.ts')).schedule,
  pay: async () => (await import('./pay.ts')).pay,
  transaction: async () => (await import('./transaction.ts')).transaction,
  collections: async () => (await import('./collections.ts')).collections,
  documents: async () => (await import('./documents.ts')).documents,
  files: async () => (await import('./files.ts')).files,
  import: async () => (await import('./import.ts')).importCommand,
  backup: async () => (await import('./backup.ts')).backup,
  archive: async () => (await import('./archive.ts')).archive,
  unarchive: async () => (await import('./unarchive.ts')).unarchive,
  export: async () => (await import('./export.ts')).exportCommand,
  move: async () => (await import('./move.ts')).move,
  secret: async () => (await import('./secret.ts')).secret,
  template: async () => (await import('./template.ts')).template,
  types: async () => (await import('./types.ts')).types,
  completion: async () => (await import('./completion.ts')).createCompletion(loadCommands),
  version: async () => (await import('./version.ts')).version,
}

/** All commands by their names, in the order of the help. */
export async function loadCommands(): Promise<Readonly<Record<string, Command>>> {
  const loaded = Object.entries(COMMANDS).map(async ([name, load]) => [name, await load()] as const)
  return Object.fromEntries(await Promise.all(loaded))
}
