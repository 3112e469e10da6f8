import { type Agent, request } from 'node:http'

export type Answer = { status: number; body: unknown }

type Sent = { token?: string; body?: string; agent?: Agent }

/**
 * One request of the bench's own, apart from the load.
 *
 * @param call method and path, such as `GET /health`
 */
export function ask(base: string, call: string, { token, body, agent }: Sent = {}): Promise<Answer> {
  const [method, path] = call.split(' ') as [string, string]
  const headers: Record<string, string | number> = {}
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`
  if (body !== undefined) {
    headers['content-type'] = 'application/json'
    headers['content-length'] = Buffer.byteLength(body)
  }
  return new Promise((resolve, reject) => {
    const sent = request(base + path, { method, headers, agent: agent ?? false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) as unknown }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Like `ask`, for an answer that is needed: throws where it is not 2xx. */
export async function askFor<T>(base: string, call: string, sent: Sent = {}): Promise<T> {
  const { status, body } = await ask(base, call, sent)
  if (status < 200 || status > 299)
    throw new Error(`${call} at ${base} answered ${status}: ${JSON.stringify(body)}`)
  return body as T
}
