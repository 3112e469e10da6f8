import type { Address, Hex } from '../../../base/hex.ts'
import type { Outcome } from '../../../providers/outcome.ts'

/** A key in a key store: the address that it has, and how the store finds it again. */
export type StoredKey = {
  /** In EIP-55 form. */
  address: Address
  /** The encrypted key, or the id of it at a key management service. */
  reference: string
}

/** A signature over secp256k1; `s` is in the lower half of the order (EIP-2). */
export type Signature = { r: Hex; s: Hex; yParity: 0 | 1 }

/** Keeps private keys and signs with them: encrypted in the database, or at a key management service. */
export type KeyStore = {
  /** The name in logs, and of the store in a wallet's row: `local`, `aws-kms`. */
  readonly name: string
  /** Creates a key. Never rejects. */
  create(limitMs: number): Promise<Outcome<{ key: StoredKey }>>
  /** Stores a private key of 32 bytes, checked to be in range. Absent where keys cannot be imported. */
  import?(privateKey: Hex): Promise<StoredKey>
  /** Signs a hash of 32 bytes. Never rejects. */
  sign(key: StoredKey, hash: Hex, limitMs: number): Promise<Outcome<{ signature: Signature }>>
  /** Rejects, with a sentence for the operator, if keys cannot be used. */
  check(): Promise<void>
  /** Resolves when no call is in progress. */
  close(): Promise<void>
}

/** What signs transactions of one address. */
export type Signer = {
  readonly address: Address
  /**
   * Whether this process signs, with a key that is bound to the address. Other signatures are checked, which takes five
   * times as long as signing.
   */
  readonly isLocal?: boolean
  /** Whether the key was created by this server, so that no other program has sent with it. */
  readonly isCreatedHere?: boolean
  sign(hash: Hex, limitMs: number): Promise<Outcome<{ signature: Signature }>>
}
