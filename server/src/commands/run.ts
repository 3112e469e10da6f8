import { didYouMean } from '../base/did-you-mean.ts'
import { ApiError } from '../base/errors.ts'
import { StartError } from '../base/start-error.ts'
import { asksForHelp, readArguments } from './arguments.ts'
import { isGroup, noSuchAction, UsageError, type Command } from './command.ts'
import { COMMANDS, loadCommands } from './commands.ts'
import { processEnvironment, readEnvironment } from './environment.ts'
import { helpOf, overview, usageText } from './help.ts'

const loadCommand = async (name: string): Promise<Command | undefined> =>
  Object.hasOwn(COMMANDS, name) ? COMMANDS[name]!() : undefined

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
  const [first = 'help', ...others] = words
  const isHelp = ['help', '--help', '-h'].includes(first)
  const [name, ...rest] = isHelp ? [...others, '--help'] : [first, ...others]
  if (name === undefined || name === '--help') {
    console.log(overview(await loadCommands()))
    return 0
  }
  const command = await loadCommand(['--version', '-v'].includes(name) ? 'version' : name)
  if (!command) return unknownCommand(name)
  const called = calledOf(name, command, rest)
  try {
    return await runCalled(called)
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`sixwire ${called.path}: ${error.message}\n\n${usageText(called.path, called.command)}`)
      return 2
    }
    if (!(error instanceof StartError) && !(error instanceof ApiError)) throw error
    console.error(`sixwire: ${error.message}`)
    return 1
  }
}

type Called = { path: string; command: Command; args: readonly string[] }

/** The command, or the action of it that is named, with the words that name it. */
function calledOf(name: string, command: Command, rest: readonly string[]): Called {
  const [action = '', ...args] = rest
  return isGroup(command) && Object.hasOwn(command.actions, action)
    ? { path: `${name} ${action}`, command: command.actions[action]!, args }
    : { path: name, command, args: rest }
}

async function runCalled({ path, command, args }: Called): Promise<number> {
  const [first = ''] = args
  if (asksForHelp(isGroup(command) ? [first] : args)) {
    console.log(helpOf(path, command))
    return 0
  }
  if (isGroup(command)) throw noSuchAction(command, args[0])
  const { words, options } = readArguments(args, command)
  const environment = command.ignoresEnvironmentFile ? processEnvironment() : readEnvironment(process.cwd())
  return command.run({ words, options, environment })
}
