import { ApiError } from '../../../../base/errors.ts'
import type { CallOrigin } from '../../../../http/event-log.ts'
import { authErrors } from '../../errors.ts'
import type { Passkeys, PasskeyPurpose } from '../passkeys/passkeys.ts'
import type { Lock } from '../../accounts/lock.ts'
import type { UserRow } from '../../accounts/user.ts'
import type { FactorProof } from '../../factors/factor.ts'
import type { RecoveryCodes } from '../../factors/recovery-codes.ts'
import type { Totp } from '../../factors/totp.ts'
import type { TrustedDevices } from '../../sessions/trusted-devices.ts'

/** A second factor as it is sent: exactly one of them. */
export type FactorInput = {
  code?: string | undefined
  recoveryCode?: string | undefined
  passkey?: object | undefined
  deviceToken?: string | undefined
}

/** What verifies second factors. */
export type FactorVerifiers = {
  lock: Lock
  passkeys: Passkeys
  totp: Totp
  recoveryCodes: RecoveryCodes
  devices: TrustedDevices
}

/**
 * What wrong codes after a sign-in without a password are counted by: wrong passwords of strangers must not keep out the owner
 * who has signed in with a link.
 */
export const codeLockKey = ({ id }: Pick<UserRow, 'id'>): string => `second factor ${id}`

/**
 * Verifies a second factor of an account. Codes can be guessed, so wrong ones are counted; passkeys cannot, so the owner of a
 * locked address can still use one.
 *
 * @param lockKey what wrong codes are counted by: default the account's address, together with wrong passwords
 * @param purpose what a passkey has to be asked for
 * @throws INVALID_CODE, INVALID_PASSKEY, ACCOUNT_LOCKED
 */
export async function verifyFactor(
  verifiers: FactorVerifiers,
  user: UserRow,
  input: FactorInput,
  {
    purpose,
    origin,
    lockKey = user.email_key,
  }: { purpose: PasskeyPurpose; origin: CallOrigin; lockKey?: string },
): Promise<FactorProof> {
  const { passkey, deviceToken } = input
  const failed = (error: ApiError): ApiError => {
    origin.record('second-factor-failed', { account: user.id, reason: error.code })
    return error
  }
  if (passkey !== undefined) {
    const proof = await verifiers.passkeys.prove(passkey, purpose, user.id)
    if (!proof) throw failed(authErrors.invalid_passkey())
    return proof
  }
  if (deviceToken !== undefined) {
    const proof = await verifiers.devices.prove(user, deviceToken)
    if (!proof) throw failed(authErrors.invalid_code({ message: 'This device is not trusted any more.' }))
    return proof
  }
  const proof = await verifiers.lock
    .attempt(lockKey, ({ isLast }) => verifyCode(verifiers, user, input, isLast ? origin : undefined))
    .catch((error: unknown) => {
      throw error instanceof ApiError ? failed(error) : error
    })
  if (!proof) throw failed(authErrors.invalid_code())
  return proof
}

/** @param origin of the attempt that locks the address if it fails */
async function verifyCode(
  { totp, recoveryCodes, lock }: FactorVerifiers,
  { id }: UserRow,
  { code, recoveryCode }: FactorInput,
  origin: CallOrigin | undefined,
): Promise<FactorProof | undefined> {
  const proof = code === undefined ? await recoveryCodes.prove(id, recoveryCode!) : await totp.prove(id, code)
  if (!proof && origin) await lock.recordLock(id, origin)
  return proof
}
