import { exportJWK, generateKeyPair, type JWK } from 'jose'

const keys = new Map<string, Promise<JWK>>()

async function make(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }
}

/** A private key for RS256. A process makes each once: that takes longer than a sign-in with it. */
export const rsaKey = (kid: string): Promise<JWK> => keys.getOrInsertComputed(kid, make)
