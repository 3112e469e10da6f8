import { didYouMean } from '../base/did-you-mean.ts'
import type { Environment } from './environment.ts'
import type { Options, Values } from './option.ts'

/** What a command gets for its words: one in brackets may be left out. */
type WordsOf<W extends readonly string[]> = {
  readonly [At in keyof W]: W[At] extends `[${string}]` ? string | undefined : string
}

export type CommandCall<W extends readonly string[] = readonly string[], O extends Options = Options> = {
  words: WordsOf<W>
  options: Values<O>
  environment: Environment
}

/** What `sixwire` does for a command, or for one action of it. */
export type CommandAction<W extends readonly string[] = readonly string[], O extends Options = Options> = {
  summary: string
  /** What it takes beside options: `EMAIL`, `[FOLDER]` if it may be left out, or `FILE…` for one and more, as the last. */
  words?: W
  options?: O
  /** The text below its options in its help. */
  details?: string
  /** Whether it reads no `.env`: it needs no settings, or leaves the file to the program that it runs. */
  ignoresEnvironmentFile?: boolean
  /** Returns the exit code: 0 done, 1 it failed. */
  run(call: CommandCall<W, O>): Promise<number>
}

/** A command whose first word says what to do. */
export type CommandGroup = {
  summary: string
  actions: Readonly<Record<string, CommandAction>>
  /** The text below its actions in its help. */
  details?: string
}
export type Command = CommandAction | CommandGroup

export const isGroup = (command: Command): command is CommandGroup => 'actions' in command

/** Types what an action is called with by the words and options that it declares. */
export const defineAction = <const W extends readonly string[] = [], const O extends Options = {}>(
  action: CommandAction<W, O>,
): CommandAction => action

/** The arguments are not those of a command. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The error for a word in the place of an action. */
export function noSuchAction({ actions }: CommandGroup, word: string | undefined): UsageError {
  const names = Object.keys(actions)
  return new UsageError(
    word === undefined || word.startsWith('-')
      ? `name an action: ${names.join(', ')}`
      : `"${word}" is not an action: use one of ${names.join(', ')}${didYouMean(word, names)}`,
  )
}
