import type { Address, Hex } from '../../../base/hex.ts'
import { isAddressEqual, keccak256, recoverAddress, serializeTransaction } from '../../../base/viem.ts'
import type { Outcome } from '../../../providers/outcome.ts'
import type { Signer } from '../wallets/signer.ts'
import type { Fees } from './fees.ts'

const LIMIT_MS = 10_000
// Half of the order of secp256k1: nodes refuse a signature with a larger `s` (EIP-2).
const MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** A transaction of EIP-1559 before it is signed. */
export type Unsigned = Fees & {
  chainId: number
  nonce: number
  to: Address
  /** Wei. */
  value: bigint
  data: Hex
  gas: bigint
}

/** Signs a transaction; a signature from elsewhere is checked to be of the signer's address. Never rejects. */
export async function signTransaction(
  signer: Signer,
  unsigned: Unsigned,
): Promise<Outcome<{ hash: Hex; raw: Hex }>> {
  const { maxFee, priorityFee, ...fields } = unsigned
  const transaction = {
    ...fields,
    type: 'eip1559' as const,
    maxFeePerGas: maxFee,
    maxPriorityFeePerGas: priorityFee,
  }
  const digest = keccak256(serializeTransaction(transaction))
  const outcome = await signer.sign(digest, LIMIT_MS)
  if (outcome.kind !== 'accepted') return outcome
  const { signature } = outcome
  if (!signer.isLocal && !(await isOf(signer.address, digest, signature)))
    return {
      kind: 'refused',
      reason: `the key store gave a signature that is not of the address ${signer.address}`,
    }
  const raw = serializeTransaction(transaction, signature)
  return { kind: 'accepted', hash: keccak256(raw), raw }
}

async function isOf(
  address: Address,
  hash: Hex,
  signature: { r: Hex; s: Hex; yParity: 0 | 1 },
): Promise<boolean> {
  try {
    return BigInt(signature.s) <= MAX_S && isAddressEqual(await recoverAddress({ hash, signature }), address)
  } catch {
    // No point of the curve.
    return false
  }
}
