import { CallError } from '../../client/src/index.ts'

const { root: path = '', app = '', unused = '' } = document.documentElement.dataset

/** The path of the sandbox. */
export const root = path

/** The address of the application's own pages, or of their stand-in. */
export const appUrl = app

const names = unused.split(' ')

/** Whether a real provider is configured instead of this stand-in, so that nothing arrives here. */
export const isUnused = (name: string): boolean => names.includes(name)

/** The address of the application's own routes. */
export const serverUrl = location.origin + root.replace(/\/sandbox$/, '')

/** Shell commands that put a user's token into TOKEN. */
export const SIGN_IN = `TOKEN=$(curl -s ${serverUrl}/auth/login \\
  -H 'content-type: application/json' \\
  -d '{"email": "you@example.com", "password": "correct horse battery"}' |
  grep -o '"token":"[^"]*' | cut -d'"' -f4)`

/**
 * Calls `/sandbox/api`.
 *
 * @param address below `/sandbox/api`
 * @throws CallError; TypeError without an answer
 */
export async function ask<T>(method: string, address: string, body?: unknown): Promise<T> {
  const response = await fetch(`${root}/api${address}`, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  const answer: unknown = await response.json().catch(() => ({}))
  if (response.ok) return answer as T
  throw new CallError(`${method} ${address}`, response, errorOf(answer as ErrorAnswer))
}

type ServerError = { code?: string; message?: string; details?: object }
type ErrorAnswer = { error?: ServerError; message?: string; details?: { description?: string }[] }

/** An error in this server's form, Stripe's or PayPal's. */
const errorOf = ({ error, details, message }: ErrorAnswer): ServerError => {
  const words = details?.[0]?.description ?? message
  return error ?? (words === undefined ? {} : { message: words })
}
