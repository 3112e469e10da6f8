// The main module of the process that decodes images: decoder.ts starts it and sends it the tasks.
import { writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { ApiError } from '../../../../../base/errors.ts'
import { storeErrors } from '../../../errors.ts'
import { loadSharp, resize, summarize, type Sharp } from './decode.ts'
import { frameReader, frameStart } from './frames.ts'
import { LARGEST_IMAGE_BYTES } from './image-source.ts'
import type { FailureCode, ImageAnswer, ImageOutcome, ImageTask } from './image-tasks.ts'
import { release } from './release.ts'

const CHANNEL = 3
const PIECE_BYTES = 65_536
const LIMITS = { messageBytes: 4096, attachedBytes: LARGEST_IMAGE_BYTES }
/** How much memory an image may take, its bytes and the result included. With 25 MB of this process and 200 of a server it is less than 400. */
const MEMORY_MAX_BYTES = 150e6
const WATCH_MS = 10
/** libvips may report one error for each row. */
const REASON_MAX = 1000

type Result = { outcome: ImageOutcome; bytes?: Buffer }

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The resident memory of the process before its first image. */
let ownBytes = 0
const grownBytes = (): number => process.memoryUsage.rss() - ownBytes

/** Ends at once: a regular exit waits for the threads of libvips. */
const end = (): void => void process.kill(process.pid, 'SIGKILL')

async function answer({ outcome, bytes = Buffer.alloc(0) }: Result): Promise<void> {
  const message: ImageAnswer = { ...outcome, grownBytes: grownBytes() - bytes.length }
  channel.write(frameStart(message, bytes.length))
  await new Promise<void>((resolve) => channel.write(bytes, () => resolve()))
}

/** The answer for an error of the API. @throws any other error */
function failureOf(error: unknown): Result {
  if (!(error instanceof ApiError)) throw error
  const { code, message, cause } = error
  const reason = (cause instanceof Error ? cause.message : message).slice(0, REASON_MAX)
  return { outcome: { kind: 'failure', code: code as FailureCode, message, reason } }
}

async function perform(sharp: Sharp, task: ImageTask, source: Buffer): Promise<Result> {
  const { kind, contentType } = task
  if (kind === 'summarize') return { outcome: { kind, summary: await summarize(sharp, source, contentType) } }
  const { bytes, format } = await resize(sharp, source, contentType, task.resizing, task.format)
  return { outcome: { kind, format }, bytes }
}

async function run(task: ImageTask, source: Buffer): Promise<void> {
  const watch = setInterval(() => {
    if (grownBytes() < MEMORY_MAX_BYTES) return
    clearInterval(watch)
    void answer(failureOf(tooMuchMemory())).then(end)
  }, WATCH_MS)
  const result = await perform(await loaded, task, source).catch(failureOf)
  clearInterval(watch)
  release(source)
  collectGarbage()
  await answer(result)
}

const tooMuchMemory = (): ApiError =>
  storeErrors.image_too_large({
    message: `This image takes more than ${MEMORY_MAX_BYTES / 1e6} MB of memory: resize it before you upload it.`,
  })

/** If memory is short, the kernel ends this process and not the server. */
function raiseOomScore(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // There is no such file on this system.
  }
}

async function start(): Promise<void> {
  try {
    await loaded
    ownBytes = process.memoryUsage.rss()
    await answer({ outcome: { kind: 'ready' } })
  } catch (error) {
    await answer(failureOf(error))
  }
  // A regular exit would do this, but this process is killed.
  flushCompileCache()
}

const read = frameReader(LIMITS, (task, source) => void run(task as ImageTask, source))
const channel = new Socket({
  fd: CHANNEL,
  onread: {
    buffer: Buffer.allocUnsafeSlow(PIECE_BYTES),
    callback(count, buffer) {
      read(Buffer.from(buffer.buffer, buffer.byteOffset, count))
      return true
    },
  },
})
channel.on('error', () => {}) // The server has exited: `close` follows.
channel.on('close', end)
// Ctrl-C and service managers send these signals to this process too. It ignores them: the server may still need it for requests
// that it finishes, and closes the channel when it exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
raiseOomScore()
const loaded = loadSharp()
void start()
