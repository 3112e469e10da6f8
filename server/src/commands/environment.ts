import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

import { StartError } from '../base/start-error.ts'
import { WORKER_VARIABLE } from '../kernel/config/config.ts'
import { port, text } from '../kernel/config/setting-parsers.ts'
import type { Values } from './option.ts'

export type Source = 'command line' | 'environment' | '.env'

/** The variables of this run, and where each is from. */
export type Environment = {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Undefined if the variable is not set, or is empty. */
  sourceOf(variable: string): Source | undefined
}

/** The options that are settings for this run, each with the variable over which it takes precedence. */
const VARIABLES = { port: 'PORT', host: 'HOST' } as const

export const SETTING_OPTIONS = {
  port: { value: 'N', description: 'the port to listen at, instead of PORT; 0 for any free one', read: port },
  host: { value: 'ADDRESS', description: 'the address to listen at, instead of HOST', read: text },
} as const

/**
 * Takes what is in `.env` of a folder into the environment of the process, which takes precedence over it.
 *
 * @throws StartError if there is a file that can't be read
 */
export function readEnvironment(folder: string): Environment {
  const fromFile = new Set<string>()
  for (const [name, value] of Object.entries(readEnvironmentFile(join(folder, '.env')))) {
    if (process.env[name] !== undefined) continue
    process.env[name] = value
    fromFile.add(name)
  }
  return {
    variables: process.env,
    sourceOf(name) {
      if (!process.env[name]) return undefined
      return fromFile.has(name) ? '.env' : 'environment'
    },
  }
}

/** The environment of this process alone. */
export const processEnvironment = (): Environment => ({
  variables: process.env,
  sourceOf: (name) => (process.env[name] ? 'environment' : undefined),
})

/** The numbers of lines that are neither empty, a comment nor the value of a variable: `PORT: 3000`. */
const ignoredLines = (text: string): number[] =>
  text
    // A quoted value may have several lines.
    .replaceAll(/=[ \t]*(["'`])[\s\S]*?\1/g, (value) => `=${value.replaceAll(/[^\n]/g, '')}=`)
    .split('\n')
    .flatMap((line, at) => (/^\s*(#|$)|=/.test(line) ? [] : [at + 1]))

function readEnvironmentFile(file: string): NodeJS.Dict<string> {
  try {
    const text = readFileSync(file, 'utf8')
    // The process that has started a worker has said so.
    for (const line of process.env[WORKER_VARIABLE] === undefined ? ignoredLines(text) : [])
      console.error(`sixwire: line ${line} of .env is ignored: write NAME=value`)
    return parseEnv(text)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new StartError(`.env can't be read: ${(error as Error).message}`)
  }
}

export type SettingValues = Values<typeof SETTING_OPTIONS>

/** The environment with the settings of the command line over it. */
export function withSettings(environment: Environment, options: SettingValues): Environment {
  const given = Object.fromEntries(
    entriesOf(options).map(([name, value]) => [VARIABLES[name], String(value)]),
  )
  return {
    variables: { ...environment.variables, ...given },
    sourceOf: (name) => (Object.hasOwn(given, name) ? 'command line' : environment.sourceOf(name)),
  }
}

/** The same settings as arguments, for a program that takes them. */
export const settingArguments = (options: SettingValues): string[] =>
  entriesOf(options).map(([name, value]) => `--${name}=${value}`)

const entriesOf = (options: SettingValues) =>
  (Object.keys(VARIABLES) as (keyof SettingValues)[]).flatMap((name) =>
    options[name] === undefined ? [] : [[name, options[name]] as const],
  )
