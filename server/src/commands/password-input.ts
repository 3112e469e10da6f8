import { randomBytes } from 'node:crypto'
import { Writable, type Readable } from 'node:stream'
import { createInterface } from 'node:readline/promises'

import { StartError } from '../base/start-error.ts'

const BYTES_MAX = 4096
const GENERATED_BYTES = 18

/** A password that nobody chose: 24 letters, digits, hyphens and underscores. */
export const newPassword = (): string => randomBytes(GENERATED_BYTES).toString('base64url')

/**
 * Reads a password: at a terminal it is asked for twice and not shown, elsewhere it is the only line of the input.
 *
 * @throws StartError if there is none, or more than one line
 */
export async function readPassword(
  input: Readable & { isTTY?: boolean | undefined } = process.stdin,
  output: Writable = process.stderr,
): Promise<string> {
  const password = input.isTTY ? await ask(input, output) : await readLine(input)
  if (password === '') throw new StartError('no password: write it to standard input, as one line')
  return password
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

async function readLine(input: Readable): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of input) {
    const bytes = Buffer.from(piece as Buffer | string)
    size += bytes.length
    if (size > BYTES_MAX) throw new StartError(`standard input: a password has at most ${BYTES_MAX} bytes`)
    pieces.push(bytes)
  }
  const line = decoded(Buffer.concat(pieces)).replace(/\r?\n$/, '')
  if (/[\r\n]/.test(line)) throw new StartError('standard input: a password is one line')
  return line
}

/** Bytes that are replaced would make another password than a person types later. */
function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new StartError('standard input: this is not UTF-8')
  }
}

/** The prompt is seen, what is typed is not: the terminal's own echo is off while readline reads it. */
async function ask(input: Readable, output: Writable): Promise<string> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: hidden, terminal: true })
  // Else a Ctrl-C would leave the question open.
  lines.on('SIGINT', () => lines.close())
  const closed = new Promise<never>((_resolve, reject) =>
    lines.on('close', () => reject(new StartError('no password: nothing was changed'))),
  )
  closed.catch(() => undefined)
  const answerTo = async (question: string): Promise<string> => {
    // Asked for before it is shown: what comes earlier is lost.
    const line = lines.question('')
    output.write(question)
    const answer = await Promise.race([line, closed])
    output.write('\n')
    return answer
  }
  try {
    const password = await answerTo('Password: ')
    if ((await answerTo('Again: ')) !== password)
      throw new StartError('the passwords are not the same: nothing was changed')
    return password
  } finally {
    lines.close()
  }
}
