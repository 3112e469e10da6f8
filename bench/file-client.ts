import { randomBytes } from 'node:crypto'
import { Agent, request, type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'

/** A server that takes files. */
export type FileServer = { readonly base: string; readonly token: string }

const BOUNDARY = 'bench-of-files-8b1f3a'
const HEAD = Buffer.from(
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="bench.bin"\r\n` +
    `content-type: application/octet-stream\r\n\r\n`,
)
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
/** Random, so that no file system or disk compresses it. */
const BLOCK = randomBytes(1024 * 1024)

function* bytesOf(size: number): Generator<Buffer> {
  yield HEAD
  for (let left = size; left > 0; left -= BLOCK.length) yield BLOCK.subarray(0, Math.min(left, BLOCK.length))
  yield TAIL
}

/** The requests of the bench for files: the same bytes to every server, over at most so many connections. */
export function openFileClient({ base, token }: FileServer, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })

  function call(method: string, path: string, headers: Record<string, string | number> = {}) {
    const sent = request(base + path, {
      method,
      agent,
      headers: { authorization: `Bearer ${token}`, ...headers },
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject)
    })
    return { sent, answered }
  }

  return {
    /** Uploads a file of so many bytes, and answers its id. */
    async upload(size: number): Promise<string> {
      const { sent, answered } = call('POST', '/store/upload', {
        'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
        'content-length': HEAD.length + size + TAIL.length,
      })
      const [response] = await Promise.all([answered, pipeline(bytesOf(size), sent)])
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString()
      if (response.statusCode !== 201) throw new Error(`an upload answered ${response.statusCode}: ${text}`)
      return (JSON.parse(text) as { _id: string })._id
    },

    /** Downloads a file, and answers how many bytes came. */
    async download(id: string): Promise<number> {
      const { sent, answered } = call('GET', `/store/files/${id}/content`)
      sent.end()
      const response = await answered
      let size = 0
      for await (const chunk of response) size += (chunk as Buffer).length
      if (response.statusCode !== 200) throw new Error(`a download answered ${response.statusCode}`)
      return size
    },

    close: () => agent.destroy(),
  }
}

export type FileClient = ReturnType<typeof openFileClient>
