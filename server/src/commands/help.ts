import { isGroup, type CommandAction, type Command } from './command.ts'
import type { Option, Options } from './option.ts'

const LINE_CHARACTERS = 110

/** What `sixwire help` prints. */
export function overview(commands: Readonly<Record<string, Command>>): string {
  return [
    'sixwire: a complete backend from one command',
    '',
    'Usage: sixwire <command> [options]',
    '',
    'Commands:',
    ...columns(Object.entries(commands).map(([name, { summary }]) => [name, summary])),
    '',
    'sixwire <command> --help tells more of a command.',
    'Settings come from the command line, the environment, a .env file and sixwire.config.ts, in this order;',
    'without any, the server runs on a SQLite database in ./data.',
  ].join('\n')
}

/** One line for each way to call a command: `sixwire user list [EMAIL] [--json]`. */
export const usageOf = (name: string, command: Command): string[] =>
  isGroup(command)
    ? Object.entries(command.actions).flatMap(([action, one]) => usageOf(`${name} ${action}`, one))
    : [['sixwire', name, ...argumentsOf(command)].join(' ')]

export const argumentsOf = ({ words = [], options = {} }: CommandAction): string[] => [
  ...words,
  ...Object.entries(options).map(([option, { value, multiple }]) => {
    const text = value === undefined ? `--${option}` : `--${option} ${value}`
    return `[${text}]${multiple ? ' …' : ''}`
  }),
]

/** The usage for an error and the head of a help. */
export function usageText(name: string, command: Command): string {
  const [first = '', ...others] = usageOf(name, command)
  return [`Usage: ${first}`, ...others.map((line) => `       ${line}`)].flatMap(wrapped).join('\n')
}

/** What `sixwire COMMAND --help` prints. */
export function helpOf(name: string, command: Command): string {
  const parts = [
    command.summary,
    usageText(name, command),
    isGroup(command) ? actionsText(command.actions) : optionLines(command.options ?? {}).join('\n'),
    command.details ?? '',
  ]
  return parts.filter(Boolean).join('\n\n')
}

/** The actions with the options of each, then those that several of them have. */
function actionsText(actions: Readonly<Record<string, CommandAction>>): string {
  const all = Object.values(actions).flatMap(({ options = {} }) => Object.entries(options))
  const isCommon = (one: Option): boolean => all.filter(([, other]) => other === one).length > 1
  const optionsOf = (isWanted: (one: Option) => boolean, options: readonly (readonly [string, Option])[]) =>
    optionLines(Object.fromEntries(options.filter(([, one]) => isWanted(one))))
  const ofActions = Object.entries(actions).map(([name, { summary, words = [], options = {}, details }]) =>
    [
      [name, ...words].join(' '),
      `    ${summary}.`,
      ...(details?.split('\n').map((line) => `    ${line}`) ?? []),
      ...optionsOf((one) => !isCommon(one), Object.entries(options)).map((line) => `  ${line}`),
    ].join('\n'),
  )
  const common = optionsOf(isCommon, all)
  return [...ofActions, ...(common.length > 0 ? [['Options of several:', ...common].join('\n')] : [])].join(
    '\n\n',
  )
}

const optionLines = (options: Options): string[] =>
  columns(
    Object.entries(options).map(([name, { value, description, default: standard }]) => [
      `--${name}${value === undefined ? '' : ` ${value}`}`,
      `${description}${standard === undefined ? '' : ` (default ${standard})`}`,
    ]),
  )

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...rows.map(([first]) => first.length)) + 2
  return rows.map(([first, second]) => `  ${first.padEnd(width)}${second}`)
}

/** A line in several, broken at spaces, with the rest indented. */
function wrapped(line: string): string[] {
  if (line.length <= LINE_CHARACTERS) return [line]
  const at = line.lastIndexOf(' [', LINE_CHARACTERS)
  if (at <= 0) return [line]
  return [line.slice(0, at), ...wrapped(`${' '.repeat(11)}${line.slice(at + 1)}`)]
}
