import type { Address } from '../../../base/hex.ts'
import type { Signer } from './signer.ts'

/** Finds the signer of an address; undefined if it knows no such address. */
export type FindSigner = (address: Address) => Promise<Signer | undefined>

/** Every signer of this server by address: of wallets, and of what else has keys, such as the receivers of payments. */
export type Signers = {
  add(find: FindSigner): void
  find: FindSigner
}

export function createSigners(): Signers {
  const finders: FindSigner[] = []
  return {
    add: (find) => void finders.push(find),
    async find(address) {
      for (const find of finders) {
        const signer = await find(address)
        if (signer) return signer
      }
      return undefined
    },
  }
}
