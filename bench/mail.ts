import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Bench } from './bench.ts'
import { posts } from './load.ts'
import { median } from './statistics.ts'

const run = promisify(execFile)
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Mails accepted a second; the ratio is the median of the pairs. */
export type MailResult = {
  connections: number
  bare: number
  subject: number
  ratio: number
  ratios: number[]
}

const CONNECTIONS = 16
/** More than the connections, so that none of them waits for somebody to bring the next mail. */
const CALLERS = 32
const BODY = JSON.stringify({
  to: 'somebody@example.com',
  subject: 'A mail of the bench',
  body: '<p>A few words, as a shop would send them.</p>',
  text: 'A few words, as a shop would send them.',
})

/** A mail server that takes everything. */
export async function startSink(): Promise<{ url: string; stop(): void }> {
  const child = spawn(process.execPath, [path('./smtp-sink.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const stop = () => child.kill('SIGKILL')
  process.on('exit', stop)
  const [port] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  return { url: `smtp://127.0.0.1:${port.trim()}`, stop }
}

async function bareRound(url: string, seconds: number): Promise<number> {
  const words = [path('./mail-floor.ts'), url, ...[CONNECTIONS, CALLERS, seconds].map(String)]
  const { stdout } = await run(process.execPath, words)
  return Number(stdout) / seconds
}

/** How many mails a second through SMTP, each kept before it is sent and logged after, against nodemailer alone. */
export async function runMail(bench: Bench, faults: string[]): Promise<MailResult> {
  const { rounds, seconds } = bench.options
  const requests = posts(bench.folder, '/messaging/email', [BODY])
  const sink = await startSink()
  // The policy of a laptop: an account of the bench may write to anybody, and as often as it likes.
  const server = await bench.open('sixwire', 'mail', {
    policy: 'open',
    environment: {
      SIXWIRE_WIRES: 'core,messaging,auth,store',
      SMTP_URL: `${sink.url}?maxConnections=${CONNECTIONS}&maxMessages=1000000`,
      MAIL_FROM: 'bench@example.com',
    },
    prepare: (folder) =>
      writeFileSync(
        join(folder, 'sixwire.config.ts'),
        `export default { messaging: { limit: '1000000/min' } }\n`,
      ),
  })
  const pairs: { bare: number; subject: number }[] = []
  async function subjectRound(): Promise<number> {
    const { perSecond, failed } = await bench.load.run(server, requests, CALLERS)
    if (failed > 0) faults.push(`mail: ${failed} of the mails failed`)
    return perSecond
  }
  bench.note('mail: warming up')
  await bareRound(sink.url, 1)
  await subjectRound()
  for (let round = 1; round <= rounds; round++) {
    bench.note(`mail: round ${round} of ${rounds}`)
    pairs.push({ bare: await bareRound(sink.url, seconds), subject: await subjectRound() })
  }
  await server.stop()
  sink.stop()
  const ratios = pairs.map(({ bare, subject }) => subject / bare)
  return {
    connections: CONNECTIONS,
    bare: median(pairs.map(({ bare }) => bare)),
    subject: median(pairs.map(({ subject }) => subject)),
    ratio: median(ratios),
    ratios,
  }
}
