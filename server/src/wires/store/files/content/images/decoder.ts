import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

import { moduleAddress } from '../../../../../base/asset.ts'
import { errors, type ApiError } from '../../../../../base/errors.ts'
import type { Logger } from '../../../../../base/logger.ts'
import { storeErrors } from '../../../errors.ts'
import { frameReader, frameStart } from './frames.ts'
import { IMAGE_FORMATS, type ImageFormat } from './image-formats.ts'
import type { ImageSource } from './image-source.ts'
import type { ImageAnswer, ImageSummary, ImageTask, Resizing } from './image-tasks.ts'
import { release } from './release.ts'

const CHANNEL = 3
/** How long the process may take until it is ready. */
const START_MS = 30_000
/** How long a task may take, once the bytes are there. libvips has a limit of its own, which not all of its readers look at. */
const TASK_MS = 15_000
/** How long it waits for the next image. */
const IDLE_MS = 10_000
/** If it holds more than this after a task, the next image gets a new process. */
const IDLE_GROWTH_MAX_BYTES = 25e6
const RETRY_SECONDS = 5
const LIMITS = { messageBytes: 16_384, attachedBytes: 128 * 1024 * 1024 }
/** The only variables that the process inherits: the others may be secrets. */
const INHERITED = ['LD_LIBRARY_PATH', 'NODE_COMPILE_CACHE', 'SystemRoot']
/** So that it gives back what it has freed. */
const MEMORY_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
  NODE_OPTIONS: '--max-semi-space-size=1',
}
/** Of a ThumbHash in Base64. */
const PREVIEW_LETTERS_MAX = 44
/** The signals by which a program ends that has crashed. */
const FAULTS: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP']

type Log = { log: Pick<Logger, 'warn'> }
type Answered = { message: ImageAnswer; bytes: Buffer }
type DecoderProcess = ReturnType<typeof startProcess>

/** What is done with one image at a time. */
export type Decoding = {
  /**
   * Resizes an image without enlarging it; turns it as its EXIF orientation says, and leaves out its metadata. Of an animation,
   * the first image. Too many pixels for AVIF or WebP become JPEG, or PNG if they may be transparent.
   *
   * @param contentType one of `RESIZABLE`
   * @throws IMAGE_UNREADABLE, IMAGE_TOO_LARGE; UNAVAILABLE if `sharp` cannot be loaded, or its process is killed; what reading
   * the source throws
   */
  resize(
    source: ImageSource,
    contentType: string,
    resizing: Resizing,
    format: ImageFormat,
  ): Promise<{ bytes: Buffer; format: ImageFormat }>
  /**
   * What the record of an image says of it.
   *
   * @param contentType one of `RESIZABLE`
   * @throws as `resize`
   */
  summarize(source: ImageSource, contentType: string): Promise<ImageSummary>
}

/**
 * Decodes images in a process of its own: what libvips takes of memory goes back to the system, and a fault in it ends no
 * server. The first image starts the process, which ends when none has come for some seconds.
 */
export function createDecoder({ log }: Log): Decoding {
  let current: DecoderProcess | undefined
  let idle: NodeJS.Timeout | undefined

  function end(): void {
    current?.kill()
    current = undefined
  }

  async function perform(task: ImageTask, source: ImageSource): Promise<Answered> {
    clearTimeout(idle)
    if (current?.hasEnded()) current = undefined
    try {
      current ??= startProcess({ log })
      const answered = await current.perform(task, source)
      if (answered.message.grownBytes > IDLE_GROWTH_MAX_BYTES) end()
      return answered
    } catch (error) {
      end()
      throw error
    } finally {
      idle = setTimeout(end, IDLE_MS).unref()
    }
  }

  return {
    async resize(source, contentType, resizing, format) {
      const { message, bytes } = await perform({ kind: 'resize', contentType, resizing, format }, source)
      if (message.kind !== 'resize' || !IMAGE_FORMATS.includes(message.format)) throw errorOf(message)
      return { bytes, format: message.format }
    },
    async summarize(source, contentType) {
      const { message } = await perform({ kind: 'summarize', contentType }, source)
      if (message.kind !== 'summarize' || !isSummary(message.summary)) throw errorOf(message)
      return message.summary
    },
  }
}

/**
 * Starts the process. It does not keep the server running, and ends with it.
 *
 * @throws UNAVAILABLE
 */
function spawnProcess(): { child: ChildProcess; channel: Socket } {
  const module = fileURLToPath(moduleAddress('wires/store/files/content/images/decoder-process'))
  try {
    // The program in one file runs the module as Node does: see scripts/build/one-file.cjs.
    const child = spawn(process.execPath, [module], {
      env: { ...inherited(), ...MEMORY_ENVIRONMENT },
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    })
    child.on('error', () => {}) // Handled in startProcess: an error without a listener would end the server.
    // If no file descriptor is free, there are no pipes.
    const channel = (child.stdio as ChildProcess['stdio'] | undefined)?.[CHANNEL] as Socket | undefined
    if (!channel) throw new Error('the process that decodes images got no pipe')
    child.unref()
    channel.unref()
    return { child, channel }
  } catch (error) {
    throw errors.unavailable({ retryAfter: RETRY_SECONDS, cause: error })
  }
}

function startProcess({ log }: Log) {
  const { child, channel } = spawnProcess()
  let answered = pendingAnswer()
  let isReady = false
  let isOver = false

  function fail(error: ApiError): void {
    if (!isOver) log.warn({ err: error }, 'the process that decodes images has failed')
    answered.reject(error)
  }

  const read = frameReader(LIMITS, (message, bytes) => {
    const { resolve } = answered
    answered = pendingAnswer()
    resolve({ message: message as ImageAnswer, bytes })
  })
  channel.on('error', () => {}) // The process has ended: its event `close` tells why.
  channel.on('data', (piece: Buffer) => {
    try {
      read(piece)
    } catch (error) {
      fail(errors.unavailable({ cause: error }))
    }
  })
  child.once('error', (error) => fail(errors.unavailable({ retryAfter: RETRY_SECONDS, cause: error })))
  child.once('close', (code, signal) => {
    fail(endError(signal ?? code, isReady))
    isOver = true
  })

  /** An answer, or the end of the process if it takes too long. */
  function within(ms: number, answer: Promise<Answered>, late: () => ApiError): Promise<Answered> {
    const timer = setTimeout(() => fail(late()), ms).unref()
    return answer.finally(() => clearTimeout(timer))
  }

  async function start(): Promise<void> {
    const late = () => errors.unavailable({ retryAfter: RETRY_SECONDS })
    const { message } = await within(START_MS, answered.promise, late)
    if (message.kind !== 'ready') throw errorOf(message)
    isReady = true
  }

  const ready = start()

  return {
    hasEnded: () => isOver,
    async perform(task: ImageTask, source: ImageSource): Promise<Answered> {
      await ready
      // The answer may come before all bytes are sent.
      const { promise } = answered
      await send(channel, task, source)
      return within(TASK_MS, promise, () => storeErrors.image_too_large())
    },
    kill(): void {
      isOver = true
      child.kill('SIGKILL')
    },
  }
}

const inherited = (): NodeJS.ProcessEnv =>
  Object.fromEntries(INHERITED.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])))

/** A promise that may be rejected while nothing waits for it. */
function pendingAnswer() {
  const pending = Promise.withResolvers<Answered>()
  pending.promise.catch(() => {})
  return pending
}

/**
 * Sends a task with the bytes of its image. If the process ends meanwhile, this resolves: the end tells why.
 *
 * @throws IMAGE_UNREADABLE if the source has not as many bytes as it says; what reading it throws
 */
async function send(channel: Socket, task: ImageTask, { size, open }: ImageSource): Promise<void> {
  const stream = await open()
  await write(channel, frameStart(task, size))
  let missing = size
  for await (const piece of stream as AsyncIterable<Buffer>) {
    missing -= piece.length
    if (missing < 0 || channel.destroyed) break
    await write(channel, piece)
    // Nothing else uses these bytes.
    release(piece)
  }
  if (missing !== 0 && !channel.destroyed) throw storeErrors.image_unreadable()
}

const write = (channel: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => channel.destroy(), TASK_MS).unref()
    channel.write(bytes, () => {
      clearTimeout(timer)
      resolve()
    })
  })

/** A crash is caused by the image; any other end of the process may not be. */
function endError(by: NodeJS.Signals | number | null, isReady: boolean): ApiError {
  const cause = new Error(`the process that decodes images ended by ${by}`)
  return isReady && FAULTS.includes(by)
    ? storeErrors.image_unreadable({ cause })
    : errors.unavailable({ retryAfter: RETRY_SECONDS, cause })
}

const FAILURES = {
  IMAGE_TOO_LARGE: storeErrors.image_too_large,
  IMAGE_UNREADABLE: storeErrors.image_unreadable,
  UNAVAILABLE: errors.unavailable,
}

/** The error of an answer. Any other unexpected answer is a fault: a hostile image may have taken over the process. */
const errorOf = (answer: ImageAnswer): Error =>
  answer.kind === 'failure'
    ? FAILURES[answer.code]({ message: answer.message, cause: new Error(answer.reason) })
    : new Error('the process that decodes images did not answer what it was asked for')

const isSummary = ({ width, height, preview }: ImageSummary): boolean =>
  [width, height].every(Number.isInteger) &&
  typeof preview === 'string' &&
  preview.length <= PREVIEW_LETTERS_MAX
