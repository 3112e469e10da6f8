/** What can prove a second factor of an account. */
export type SecondFactorKind = 'passkey' | 'totp' | 'recovery-code'

/** Of SECOND_FACTOR_REQUIRED: the sign-in that goes on with a second factor. */
export type ChallengeDetails = {
  challenge: string
  factors: SecondFactorKind[]
  /** ISO 8601, UTC. */
  expiresAt?: string
}

/** The details of an error, by its code. */
export type CallErrorDetails<Code> = Code extends 'SECOND_FACTOR_REQUIRED'
  ? ChallengeDetails
  : Record<string, unknown> | undefined

type ServerError = { code?: string; message?: string; details?: object }

/**
 * An error that the server answered.
 *
 * @example
 * try {
 *   await six.call('POST /auth/login', { body })
 * } catch (error) {
 *   if (isError(error, 'RATE_LIMITED')) await wait(error.headers.get('retry-after'))
 *   else throw error
 * }
 */
export class CallError<Code extends string = string> extends Error {
  override name = 'CallError'
  /** The route that was called: `POST /auth/login`. */
  declare readonly route: string
  /** The HTTP status. */
  declare readonly status: number
  /** The code of the error, such as `NOT_FOUND`; `UNKNOWN` if the answer is not the server's own. */
  declare readonly code: Code
  declare readonly details: CallErrorDetails<Code>
  declare readonly headers: Headers
  constructor(route: string, response: Response, error: ServerError) {
    super(error.message ?? `The server answered ${response.status}.`)
    this.route = route
    this.status = response.status
    this.code = (error.code ?? 'UNKNOWN') as Code
    this.details = error.details as CallErrorDetails<Code>
    this.headers = response.headers
  }
}

/** The error of an answer; its code is UNKNOWN if something between client and server answered. */
export async function readError(route: string, response: Response): Promise<CallError> {
  const text = await response.text()
  let error: unknown
  try {
    ;({ error } = JSON.parse(text) as { error?: unknown })
  } catch {}
  return new CallError(route, response, Object(error) as ServerError)
}

/**
 * Whether a value is an error that the server answered, with this code if one is given. `isError` of a client takes the codes
 * of its routes only.
 *
 * @example
 * if (isError(error, 'EMAIL_TAKEN')) show('This address has an account already.')
 */
export const isError = <Code extends string = string>(
  error: unknown,
  code?: Code,
): error is CallError<Code> =>
  // Not `instanceof`: an application may have a second copy of the client.
  error instanceof Error &&
  error.name === 'CallError' &&
  (code === undefined || (error as CallError).code === code)
