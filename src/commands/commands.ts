import { audit } from './audit.ts'
import { backup } from './backup.ts'
import { can } from './can.ts'
import { check } from './check.ts'
import type { Command } from './command.ts'
import { createCompletion } from './completion.ts'
import { config } from './config.ts'
import { dev } from './dev.ts'
import { documents } from './documents.ts'
import { doctor } from './doctor.ts'
import { init } from './init.ts'
import { jobs } from './jobs.ts'
import { logs } from './logs.ts'
import { key } from './key.ts'
import { pay } from './pay.ts'
import { schedule } from './schedule.ts'
import { secret } from './secret.ts'
import { start } from './start.ts'
import { template } from './template.ts'
import { transaction } from './transaction.ts'
import { types } from './types.ts'
import { user } from './user.ts'
import { version } from './version.ts'

/** The commands by their names, in the order of the help. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  init,
  start,
  dev,
  check,
  config,
  doctor,
  user,
  key,
  can,
  jobs,
  logs,
  audit,
  schedule,
  pay,
  transaction,
  documents,
  backup,
  secret,
  template,
  types,
  completion: createCompletion(() => COMMANDS),
  version,
}
