import assert from 'node:assert/strict'
import { test } from 'node:test'

import { testClock } from '../../../../testing/clock.ts'
import { issueCertificate } from '../../../../testing/certificate-chain.ts'
import { createCertificates } from './paypal-certificate.ts'
import { rootsOf } from './paypal-chain.ts'
import { INTERMEDIATE_PEM, intermediate, ROOT_PEM, signer } from '../paypal.fixture.ts'

/** The certificate that PayPal's host would have, made out to a name. */
async function certificateFor(commonName: string, address: string) {
  const pem =
    issueCertificate({ subject: { ...signer, commonName }, issuer: intermediate }) + INTERMEDIATE_PEM
  const certificates = createCertificates({
    fetch: async () => ({ kind: 'answered', status: 200, headers: {}, body: Buffer.from(pem) }),
    apiBase: new URL('https://api-m.paypal.com'),
    roots: rootsOf(() => [ROOT_PEM]),
    clock: testClock(),
  })
  const found = await certificates.get(certificates.addressOf(address)!)
  assert.ok(found)
  let isTrusted = true
  await found.confirm(async () => void (isTrusted = false))
  return { isTrusted }
}

const PAYPALS = 'https://api.paypal.com/v1/notifications/certs/CERT-1'

test("a certificate from PayPal's hosts is trusted if it is made out to PayPal", async () => {
  for (const [name, isTrusted] of [
    ['messageverificationcerts.paypal.com', true],
    ['messageverificationcerts.sandbox.paypal.com', true],
    ['api.paypal.com', true],
    ['evil.example', false],
    ['paypal.com.evil.example', false],
    ['', false],
  ] as const)
    assert.equal((await certificateFor(name, PAYPALS)).isTrusted, isTrusted, name)
})

test("the roots of Node vouch for none of a test's certificates", async () => {
  const { getCACertificates } = await import('node:tls')
  const roots = rootsOf(() => getCACertificates('default'))
  const { X509Certificate } = await import('node:crypto')
  const leaf = new X509Certificate(issueCertificate({ subject: signer, issuer: intermediate }))
  assert.equal(roots.vouchFor(leaf, [new X509Certificate(INTERMEDIATE_PEM)], Date.now()), false)
  // They can be read, and each is issued by itself.
  const own = getCACertificates('default')
    .map((pem) => new X509Certificate(pem))
    .filter((root) => root.validToDate.getTime() > Date.now())
  assert.ok(own.length > 50)
  assert.ok(own.every((root) => roots.vouchFor(root, [], Date.now())))
})
