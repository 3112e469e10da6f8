/** What the API calls a payment provider, and what people call it. */
const PROVIDERS: Readonly<Record<string, string>> = {
  cardpay: 'Stripe',
  walletpay: 'PayPal',
  onchain: 'Chains',
}

/** A payment provider by its own name, and by that of the API: `Stripe (cardpay)`. */
export const providerText = (name: string): string =>
  PROVIDERS[name] === undefined ? name : `${PROVIDERS[name]} (${name})`

/** The same where it is read in a table. */
export const Provider = ({ of: name }: { of: string }) => (
  <>
    {PROVIDERS[name]} <span class="soft">{name}</span>
  </>
)

/** What each of Sixwire's own wires, the modules of a server, is for. */
const WIRES: Readonly<Record<string, string>> = {
  core: 'jobs, logs and health',
  auth: 'accounts and sign-in',
  store: 'documents and files',
  pay: 'payments',
  messaging: 'email, SMS and WhatsApp',
  onchain: 'wallets and chains',
}

/** What a wire is for; one that is not Sixwire's own belongs to the application. */
export const wirePurpose = (name: string): string => WIRES[name] ?? 'of your application'

/** Issuers that people know by another name than their host. */
const ISSUERS: Readonly<Record<string, string>> = {
  'accounts.google.com': 'Google',
  'github.com': 'GitHub',
  'appleid.apple.com': 'Apple',
  'login.microsoftonline.com': 'Microsoft',
}

/** What people call the identity provider of an issuer: its own name, else its host. */
export function issuerText(issuer: string): string {
  const host = URL.parse(issuer)?.host ?? issuer
  return ISSUERS[host] ?? host
}
