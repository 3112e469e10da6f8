import { StartError } from '../../base/start-error.ts'
import { damaged } from './archive-format.ts'

/** 128 MiB: https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt */
const WORK_FACTOR = 17

// The messages of `age-encryption`, which has no codes.
const WRONG_PASSPHRASE = /no identity matched/

/**
 * Encrypts with a passphrase, in the age format. What `bytes` throw is thrown where it is read. The key is derived before anything of
 * them is read.
 *
 * @param workFactor the cost of a guess, as the logarithm to base 2 of scrypt's N
 */
export async function encrypted(
  bytes: AsyncIterable<Buffer>,
  passphrase: string,
  workFactor = WORK_FACTOR,
): Promise<AsyncIterable<Uint8Array>> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  encrypter.setPassphrase(passphrase)
  encrypter.setScryptWorkFactor(workFactor)
  return encrypter.encrypt(ReadableStream.from(bytes))
}

/**
 * Decrypts what `encrypted` has made. Each piece is authenticated before it is passed on; that nothing is missing is known at the end.
 *
 * @throws StartError if the passphrase is another one, or bytes were changed or cut off; the error of `bytes` as it is
 */
export async function decrypted(
  bytes: AsyncIterable<Buffer>,
  passphrase: string,
): Promise<AsyncIterable<Buffer>> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  const source: SourceFault = {}
  const stream = await decrypter
    .decrypt(ReadableStream.from(remembering(bytes, source)))
    .catch((error: unknown) => {
      if (source.error) throw source.error
      throw WRONG_PASSPHRASE.test((error as Error).message)
        ? new StartError('the passphrase is not that of the archive')
        : new StartError(
            'this is no archive of an installation: it does not begin as a file that age has encrypted',
          )
    })
  return authenticated(stream, source)
}

/** What the bytes have thrown, as streams may wrap it. */
type SourceFault = { error?: Error }

async function* authenticated(
  stream: ReadableStream<Uint8Array>,
  source: SourceFault,
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of stream) yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
  } catch {
    throw source.error ?? damaged('the file', 'bytes of it were changed, or its end is missing')
  }
}

async function* remembering(bytes: AsyncIterable<Buffer>, source: SourceFault): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    source.error = error as Error
    throw error
  }
}
