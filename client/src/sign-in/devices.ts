import type { AnsweredSignIn } from '../session.ts'
import { itemOf, type Item } from './item.ts'
import type { AuthOwner } from './owner.ts'

type Device = { user: string; email: string; token: string }

// A challenge takes five attempts, of which the user needs some.
const TRIED_MAX = 2
const KEPT_MAX = 10

/** The tokens by which this device is trusted, one for each account, the newest first. */
export class Devices {
  readonly #item: Item | undefined

  constructor(owner: AuthOwner) {
    this.#item = itemOf(owner, 'devices')
  }

  /** Keeps the token of a device, if the answer has one. */
  async keep({ user, deviceToken }: AnsweredSignIn): Promise<void> {
    if (!deviceToken) return
    const others = (await this.#read()).filter((one) => one.user !== user._id)
    await this.#write([{ user: user._id, email: user.email, token: deviceToken }, ...others])
  }

  async forget(tokens: readonly string[]): Promise<void> {
    await this.#write((await this.#read()).filter(({ token }) => !tokens.includes(token)))
  }

  /** The tokens to try: a challenge does not tell whose it is, so without an address several may be. */
  async candidates(email: string | undefined): Promise<string[]> {
    const same = (one: Device) => !email || one.email.toLowerCase() === email.trim().toLowerCase()
    return (await this.#read())
      .filter(same)
      .slice(0, TRIED_MAX)
      .map(({ token }) => token)
  }

  async #read(): Promise<Device[]> {
    try {
      return JSON.parse((await this.#item?.read()) ?? '[]') as Device[]
    } catch {
      return []
    }
  }

  async #write(devices: readonly Device[]): Promise<void> {
    await this.#item?.write(JSON.stringify(devices.slice(0, KEPT_MAX)))
  }
}
