import { credentialJson, parseOptions, type WebAuthn, type WebAuthnOptions } from './web-authn.ts'

// Options are valid for 5 minutes, and a page of a sign-in is open for longer.
const RENEW_MS = 240_000

/** Asks the browser for passkeys: once at a time, because a browser refuses a second request. */
export class Ceremonies {
  #running: AbortController | undefined

  /**
   * Asks for a credential, and aborts what is asked already.
   *
   * @param load reads the options
   * @param mediation `conditional` waits until the user takes one from the suggestions of an input, however long that is
   * @returns its JSON
   * @throws what the browser throws; AbortError after a newer request
   */
  async ask(
    method: 'create' | 'get',
    load: () => Promise<unknown>,
    { signal, mediation }: { signal?: AbortSignal | undefined; mediation?: 'conditional' | undefined } = {},
  ): Promise<object> {
    const webAuthn = globalThis as unknown as WebAuthn
    const can = webAuthn.PublicKeyCredential
    if (!can || (mediation && !(await can.isConditionalMediationAvailable?.())))
      throw new DOMException('This browser has no passkeys, or does not suggest them.', 'NotSupportedError')
    this.#running?.abort()
    const controller = new AbortController()
    this.#running = controller
    const abort = () => controller.abort(signal!.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
    try {
      for (;;) {
        const { options } = (await load()) as { options: WebAuthnOptions }
        const request = new AbortController()
        const stop = () => request.abort(controller.signal.reason)
        if (controller.signal.aborted) stop()
        controller.signal.addEventListener('abort', stop)
        const timer = mediation && setTimeout(() => request.abort(), RENEW_MS)
        try {
          const credential = await webAuthn.navigator.credentials[method]({
            publicKey: parseOptions(webAuthn, method, options),
            signal: request.signal,
            ...(mediation && { mediation }),
          })
          return credentialJson(credential!)
        } catch (error) {
          if (!request.signal.aborted || controller.signal.aborted) throw error
        } finally {
          clearTimeout(timer)
        }
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      if (this.#running === controller) this.#running = undefined
    }
  }
}
