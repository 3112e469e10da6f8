import { parseArgs } from 'node:util'

import { didYouMean } from '../base/did-you-mean.ts'
import { StartError } from '../base/start-error.ts'
import { UsageError, type CommandAction, type CommandCall } from './command.ts'
import type { Option, Options } from './option.ts'

const HELP = ['--help', '-h']

export const asksForHelp = (args: readonly string[]): boolean => args.some((one) => HELP.includes(one))

/**
 * Reads what follows a command's name.
 *
 * @throws UsageError with the argument that is missing, unknown or does not fit
 */
export function readArguments(
  args: readonly string[],
  { words = [], options = {} }: CommandAction,
): Pick<CommandCall, 'words' | 'options'> {
  const { tokens, values, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries(Object.entries(options).map(([name, one]) => [name, parserOf(one)])),
    allowPositionals: true,
    // Its own checks stop at the first fault, and their lines speak of the parser.
    strict: false,
    tokens: true,
  })
  for (const token of tokens) if (token.kind === 'option') checkOption(token, options)
  const missing = words.find((word, at) => at >= positionals.length && !word.startsWith('['))
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
  if (positionals.length > words.length && !words.at(-1)?.endsWith('…'))
    throw new UsageError(`"${positionals.slice(words.length).join(' ')}" is too much`)
  return { words: positionals, options: valuesOf(values, options) as CommandCall['options'] }
}

const parserOf = ({ value, multiple = false }: Option) => ({
  type: value === undefined ? ('boolean' as const) : ('string' as const),
  multiple,
})

/** @throws UsageError if there is no such option, its value is missing, or it takes none */
function checkOption(
  {
    name,
    rawName,
    value,
    inlineValue,
  }: { name: string; rawName: string; value?: string | undefined; inlineValue?: boolean | undefined },
  options: Options,
): void {
  if (!Object.hasOwn(options, name)) {
    const names = Object.keys(options).map((one) => `--${one}`)
    throw new UsageError(`there is no option ${rawName}${didYouMean(rawName, names)}`)
  }
  const { value: placeholder } = options[name]!
  if (placeholder === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`)
  // The next option is no value; one that begins with -- is written --name=value.
  if (placeholder !== undefined && (value === undefined || (!inlineValue && value.startsWith('--'))))
    throw new UsageError(`${rawName} takes a value: ${rawName} ${placeholder}`)
}

function valuesOf(given: Record<string, unknown>, options: Options): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { value, multiple, default: standard, read }]) => {
      if (value === undefined) return [name, given[name] === true]
      const texts = [given[name] ?? standard ?? []].flat() as string[]
      const values = texts.map((text) => (read ? readValue(() => read(text, `--${name}`)) : text))
      return [name, multiple ? values : values[0]]
    }),
  )
}

/** The parsers of settings throw as for a setting. */
function readValue(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    throw error instanceof StartError ? new UsageError(error.message, { cause: error }) : error
  }
}
