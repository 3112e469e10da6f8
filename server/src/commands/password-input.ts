import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Writable, type Readable } from 'node:stream'
import { createInterface } from 'node:readline/promises'

import { StartError } from '../base/start-error.ts'
import { fileFault } from './part-file.ts'

const BYTES_MAX = 4096
const GENERATED_BYTES = 18

/** A password that nobody chose: 24 letters, digits, hyphens and underscores. */
export const newPassword = (): string => randomBytes(GENERATED_BYTES).toString('base64url')

/** What is asked for: a new one twice. */
export type PasswordQuestion = { readonly noun: 'password' | 'passphrase'; readonly isNew: boolean }

const NEW_PASSWORD: PasswordQuestion = { noun: 'password', isNew: true }

/**
 * Reads a password or passphrase: at a terminal it is asked for and not shown, elsewhere it is the only line of the input.
 *
 * @throws StartError if there is none, or more than one line
 */
export async function readPassword(
  input: Readable & { isTTY?: boolean | undefined } = process.stdin,
  output: Writable = process.stderr,
  asked: PasswordQuestion = NEW_PASSWORD,
): Promise<string> {
  const password = input.isTTY ? await ask(input, output, asked) : await readLine(input, asked)
  if (password === '') throw new StartError(`no ${asked.noun}: write it to standard input, as one line`)
  return password
}

/** The option of commands that need a passphrase. */
export const PASSPHRASE_OPTION = {
  'passphrase-file': {
    value: 'FILE',
    description: 'a file with the passphrase; default: standard input, or a question',
  },
} as const

/** A person who has the file can try passphrases without a limit. */
const PASSPHRASE_CHARACTERS_MIN = 12

/**
 * Reads a passphrase from a file, or else as a password is read. It is the same however a system composes its letters.
 *
 * @param isNew whether something will be encrypted with it
 * @throws StartError if there is none, or it is too short for that
 */
export async function readPassphrase(file: string | undefined, isNew: boolean): Promise<string> {
  const asked: PasswordQuestion = { noun: 'passphrase', isNew }
  const input = file === undefined ? process.stdin : createReadStream(file)
  const typed = await readPassword(input, process.stderr, asked).catch((error: unknown) => {
    throw file === undefined ? error : fileFault(error, file)
  })
  const passphrase = typed.normalize('NFC')
  if (isNew && passphrase.length < PASSPHRASE_CHARACTERS_MIN)
    throw new StartError(
      `the passphrase is shorter than ${PASSPHRASE_CHARACTERS_MIN} characters: take a longer one`,
    )
  return passphrase
}

/**
 * Begins to look whether something is piped into the program. It waits for nothing, because a pipe that stays open may be all
 * that there is.
 *
 * @returns whether text has come
 */
export function watchInput(): () => boolean {
  const { stdin } = process
  if (stdin.isTTY) return () => false
  stdin.on('readable', () => undefined)
  stdin.unref?.()
  return () => stdin.readableLength > 0
}

async function readLine(input: Readable, { noun }: PasswordQuestion): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of input) {
    const bytes = Buffer.from(piece as Buffer | string)
    size += bytes.length
    if (size > BYTES_MAX) throw new StartError(`a ${noun} has at most ${BYTES_MAX} bytes`)
    pieces.push(bytes)
  }
  const line = decoded(Buffer.concat(pieces), noun).replace(/\r?\n$/, '')
  if (/[\r\n]/.test(line)) throw new StartError(`a ${noun} is one line`)
  return line
}

/** Bytes that are replaced would make another password than a person types later. */
function decoded(bytes: Buffer, noun: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new StartError(`the ${noun} is not UTF-8`)
  }
}

/** The prompt is seen, what is typed is not: the terminal's own echo is off while readline reads it. */
async function ask(input: Readable, output: Writable, { noun, isNew }: PasswordQuestion): Promise<string> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: hidden, terminal: true })
  // Else a Ctrl-C would leave the question open.
  lines.on('SIGINT', () => lines.close())
  const closed = new Promise<never>((_resolve, reject) =>
    lines.on('close', () => reject(new StartError(`no ${noun}: nothing was changed`))),
  )
  closed.catch(() => undefined)
  const answerTo = async (question: string): Promise<string> => {
    // PasswordQuestion for before it is shown: what comes earlier is lost.
    const line = lines.question('')
    output.write(question)
    const answer = await Promise.race([line, closed])
    output.write('\n')
    return answer
  }
  try {
    const password = await answerTo(noun === 'password' ? 'Password: ' : 'Passphrase: ')
    if (isNew && (await answerTo('Again: ')) !== password)
      throw new StartError(`the ${noun}s are not the same: nothing was changed`)
    return password
  } finally {
    lines.close()
  }
}
