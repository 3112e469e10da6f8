import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

import type { Ending } from './engines.ts'

type Reply = string | ((socket: Socket) => string | undefined)

const USUAL: Record<string, string | undefined> = {
  greeting: '220 here',
  EHLO: '250 here',
  DATA: '354 go',
  '.': '250 taken',
  content: undefined,
}

/**
 * Starts a server that replies line by line, for faults that a real SMTP server can't be told to make.
 *
 * @param replies what replaces the usual reply to a command, as the `greeting`, to a line of the `content`, or to
 * its end, `.`; a function may do something to the connection instead
 */
export async function startScriptedSmtp(
  ending: Ending,
  replies: Record<string, Reply> = {},
): Promise<{ lines: string[]; url: string }> {
  const sockets = new Set<Socket>()
  const lines: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let rest = ''
    let inContent = false
    function answer(step: string): void {
      const scripted = replies[step] ?? (step in USUAL ? USUAL[step] : '250 ok')
      const reply = typeof scripted === 'function' ? scripted(socket) : scripted
      if (step === '.') inContent = false
      if (step === 'DATA') inContent = reply?.startsWith('354') ?? false
      if (reply !== undefined && !socket.destroyed) socket.write(`${reply}\r\n`)
    }
    answer('greeting')
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\r\n')
      rest = parts.pop()!
      for (const line of parts) {
        lines.push(line)
        if (inContent) answer(line === '.' ? '.' : 'content')
        else answer(/^[A-Z]+/.exec(line)?.[0] ?? '')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { lines, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
