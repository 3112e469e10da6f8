import { loadEnvFile } from 'node:process'
import { parseArgs } from 'node:util'

import { didYouMean } from '../base/did-you-mean.ts'
import { ApiError } from '../base/errors.ts'
import { StartError } from '../base/start-error.ts'
import { backup } from './backup.ts'
import { check } from './check.ts'
import { UsageError, type Command } from './command.ts'
import { dev } from './dev.ts'
import { jobs } from './jobs.ts'
import { key } from './key.ts'
import { pay } from './pay.ts'
import { secret } from './secret.ts'
import { start } from './start.ts'
import { template } from './template.ts'
import { transaction } from './transaction.ts'
import { types } from './types.ts'
import { user } from './user.ts'
import { version } from './version.ts'

const COMMANDS: Record<string, Command> = {
  start,
  dev,
  check,
  user,
  key,
  jobs,
  pay,
  transaction,
  backup,
  secret,
  template,
  types,
  version,
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length)) + 2
  return [
    'sixwire: a complete backend from one command',
    '',
    'Usage: sixwire <command> [options]',
    '',
    'Commands:',
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`),
    '',
    'sixwire <command> --help tells more of a command.',
    'Settings come from the environment, a .env file and sixwire.config.ts, in this order;',
    'without any, the server runs on a SQLite database in ./data.',
  ].join('\n')
}

const helpOf = (command: Command): string =>
  [command.summary, '', `Usage: ${command.usage}`, '', command.help].join('\n')

const commandNamed = (name: string): Command | undefined =>
  Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined

function unknownCommand(name: string): number {
  const names = Object.keys(COMMANDS)
  console.error(
    `sixwire: there is no command "${name}". The commands are ${names.join(', ')}${didYouMean(name, names) || '.'}`,
  )
  return 2
}

/**
 * Runs what the words of a command line say.
 *
 * @returns the exit code: 0 done, 1 it failed, 2 the words make no command
 */
export async function runCommand(words: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = words
  if (name === 'help' || name === '--help' || name === '-h') {
    const [about] = rest
    const command = about === undefined ? undefined : commandNamed(about)
    if (about !== undefined && !command) return unknownCommand(about)
    console.log(command ? helpOf(command) : overview())
    return 0
  }
  const command = commandNamed(name === '--version' || name === '-v' ? 'version' : name)
  if (!command) return unknownCommand(name)
  try {
    const { values, positionals } = parseArgs({
      args: rest,
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    if (values.help) {
      console.log(helpOf(command))
      return 0
    }
    if (!command.takesWords && positionals.length > 0)
      throw new UsageError(`"${positionals.join(' ')}" is too much`)
    // The server that `dev` runs reads the file itself, as it is then.
    if (command !== dev) readEnvironmentFile()
    return await command.run(positionals, values)
  } catch (error) {
    if (
      error instanceof UsageError ||
      (error as { code?: string } | null)?.code?.startsWith('ERR_PARSE_ARGS')
    ) {
      const [why] = (error as Error).message.split('\n', 1)
      console.error(`sixwire ${name}: ${why}\n\nUsage: ${command.usage}`)
      return 2
    }
    if (!(error instanceof StartError) && !(error instanceof ApiError)) throw error
    console.error(`sixwire: ${error.message}`)
    return 1
  }
}

/** Takes what is in `.env` into the environment, which wins over it. */
function readEnvironmentFile(): void {
  try {
    loadEnvFile('.env')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new StartError(`.env can't be read: ${(error as Error).message}`)
  }
}
