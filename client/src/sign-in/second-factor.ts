import type { Auth } from '../auth-types.ts'
import type { CallError } from '../call-error.ts'
import type { AnsweredSignIn, SignedInUser } from '../session.ts'
import type { Ceremonies } from './ceremonies.ts'
import { Devices } from './devices.ts'
import type { AuthOwner, Begin } from './owner.ts'

const ROUTE = 'POST /auth/second-factor'

type Challenged = CallError<'SECOND_FACTOR_REQUIRED'>

const isChallenged = (error: unknown): error is Challenged =>
  (error as Partial<Challenged> | undefined)?.code === 'SECOND_FACTOR_REQUIRED'

/** Sign-ins, which may need a second factor. */
export class SecondFactorStep {
  readonly #owner: AuthOwner
  readonly #ceremonies: Ceremonies
  readonly #devices: Devices

  constructor(owner: AuthOwner, ceremonies: Ceremonies) {
    this.#owner = owner
    this.#ceremonies = ceremonies
    this.#devices = new Devices(owner)
  }

  /**
   * Signs in with credentials. If a second factor is needed, a device that is trusted is one.
   *
   * @throws SECOND_FACTOR_REQUIRED if it is not: `prove` finishes the sign-in
   */
  signIn: Begin = async (key, body) => {
    try {
      return await this.#begin((await this.#owner.call(key, { token: null, body })) as AnsweredSignIn)
    } catch (error) {
      if (!isChallenged(error)) throw error
      return this.resume(error, body)
    }
  }

  /**
   * Finishes a sign-in by a trusted device.
   *
   * @param account.email of the account, if it is known
   * @throws the error itself if this device is not trusted
   */
  async resume(error: Challenged, { email }: { email?: string }): Promise<SignedInUser> {
    const { challenge } = error.details
    const refused: string[] = []
    for (const deviceToken of await this.#devices.candidates(email))
      try {
        return await this.#begin(await this.#send({ challenge, deviceToken }))
      } catch (refusal) {
        if ((refusal as Partial<CallError>).code !== 'INVALID_CODE') break
        refused.push(deviceToken)
      }
    // Without an address they may be trusted for another account.
    if (email) await this.#devices.forget(refused)
    this.#owner.session.failure = error
    throw error
  }

  /** Finishes the sign-in that failed last. */
  prove: Auth['secondFactor'] = async (proof, { trustDevice, challenge } = {}) => {
    const { failure } = this.#owner.session
    challenge ??= isChallenged(failure) ? failure.details.challenge : undefined
    if (challenge === undefined)
      throw new TypeError('No sign-in needs a second factor: sign in first, or give the challenge.')
    const answer = await this.#send({
      challenge,
      ...(await this.#bodyOf(proof, `${ROUTE}/passkey-options`, { token: null, body: { challenge } })),
      ...(trustDevice && { trustDevice }),
    })
    await this.#devices.keep(answer)
    return this.#begin(answer)
  }

  /** Proves again who is signed in. */
  confirm: Auth['confirm'] = async (proof) => {
    const body = await this.#bodyOf(proof, 'POST /auth/confirm/passkey-options', {})
    await this.#owner.call('POST /auth/confirm', { body })
  }

  /** The body of a proof; a passkey is asked of the browser. */
  async #bodyOf(proof: object, key: string, input: object): Promise<object> {
    if (!('passkey' in proof)) return proof
    return { passkey: await this.#ceremonies.ask('get', () => this.#owner.call(key, input)) }
  }

  async #begin({ user, ...tokens }: AnsweredSignIn): Promise<SignedInUser> {
    const { session } = this.#owner
    await session.begin(tokens, user)
    session.failure = undefined
    return user
  }

  async #send(body: object): Promise<AnsweredSignIn> {
    return (await this.#owner.call(ROUTE, { token: null, body })) as AnsweredSignIn
  }
}
