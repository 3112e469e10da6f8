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
  declare readonly details: Record<string, unknown> | undefined
  declare readonly headers: Headers
  constructor(
    route: string,
    response: Response,
    error: { code?: string; message?: string; details?: Record<string, unknown> },
  ) {
    super(error.message ?? `The server answered ${response.status}.`)
    this.route = route
    this.status = response.status
    this.code = (error.code ?? 'UNKNOWN') as Code
    this.details = error.details
    this.headers = response.headers
  }
}

/** The error of an answer; empty if something between client and server answered. */
function errorIn(text: string): { code?: string; message?: string; details?: Record<string, unknown> } {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'object' && error !== null ? error : {}
  } catch {
    return {}
  }
}

export const readError = async (route: string, response: Response): Promise<CallError> =>
  new CallError(route, response, errorIn(await response.text()))

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
