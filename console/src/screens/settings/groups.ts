import type { Api } from '../../../../client/src/index.ts'

export type ConsoleSettings = Api['GET /core/settings']['reply']
export type ConsoleOption = ConsoleSettings['options'][number]

/** Options that are set together. */
export type OptionGroup = { readonly name: string; readonly options: readonly ConsoleOption[] }

/** A group in words: its title, what it is for, and the section that it is in. */
type Words = readonly [section: string, title: string, about: string]

const WORDS: Readonly<Record<string, Words>> = {
  general: ['Application', 'General', 'Its name and colour, and the addresses under which it is reached'],
  'messaging.smtp': ['Messages', 'Email', 'The mail server that sends your mails'],
  'messaging.twilio': ['Messages', 'SMS and WhatsApp', 'Your account at Twilio'],
  messaging: [
    'Messages',
    'Messages in general',
    'Their default language, how many a user may send, how long they are kept',
  ],
  'pay.stripe': ['Payments', 'Stripe', 'Cards, through your account at Stripe'],
  'pay.paypal': ['Payments', 'PayPal', 'Wallet orders, through your account at PayPal'],
  'pay.onchain': ['Payments', 'Payments on chains', 'How long a request can be paid'],
  pay: ['Payments', 'Return addresses', 'The hosts to which buyers are sent back'],
  auth: [
    'Accounts',
    'Sign-up and sessions',
    'Who may create an account, second factors, how long a sign-in lasts',
  ],
  'auth.local': ['Accounts', 'Passwords', 'Their length, and when an address is locked'],
  'auth.idpa': ['Accounts', 'Google', 'Sign in with Google, or another OpenID Connect provider'],
  'auth.idpb': ['Accounts', 'GitHub', 'Sign in with GitHub'],
  store: ['Files and data', 'Uploads', 'The largest file'],
  'store.s3': [
    'Files and data',
    'Bucket (S3)',
    'Where files and backups are kept, if not in a folder of the server',
  ],
  'store.backups': ['Files and data', 'Backups', 'How often one is made, and how many are kept'],
  'store.quota': ['Files and data', 'Quotas', 'How much users may store'],
  'store.files': ['Files and data', 'Photos', 'What is removed from them'],
  'store.changes': ['Files and data', 'Live changes', 'How long they are kept for those who were away'],
  onchain: ['Chains', 'Chains in general', 'The default chain, and where metadata of NFTs is'],
  'onchain.chains.ethereum': ['Chains', 'Ethereum', 'Its nodes'],
  'onchain.chains.arbitrum': ['Chains', 'Arbitrum', 'Its nodes'],
  'onchain.chains.base': ['Chains', 'Base', 'Its nodes'],
}

/** Identity providers that have names of their own. */
export const PROVIDERS = 'auth.providers.'

export function wordsOf(group: string): Words {
  if (group.startsWith(PROVIDERS))
    return ['Accounts', group.slice(PROVIDERS.length), 'Sign in with this identity provider']
  return WORDS[group] ?? ['Your wires', group, '']
}

/** The groups by their sections, in the order of the words above. */
export function sectionsOf({
  options,
}: ConsoleSettings): [section: string, groups: readonly OptionGroup[]][] {
  // Webhooks and texts of mails have screens of their own.
  const shown = options.filter(
    ({ kind, group }) => kind !== 'webhook' && !group.startsWith('messaging.texts.'),
  )
  const groups = [...Map.groupBy(shown, ({ group }) => group)].map(([name, own]) => ({
    name,
    options: own,
  }))
  const places = Object.keys(WORDS)
  const placeOf = ({ name }: OptionGroup): number =>
    (places.indexOf(name) + places.length + 1) % (places.length + 1)
  const ordered = groups.toSorted((a, b) => placeOf(a) - placeOf(b))
  return [...Map.groupBy(ordered, ({ name }) => wordsOf(name)[0])]
}

/** Where a group is set, in a word or two. */
export function stateOf({ options }: OptionGroup): { tone: 'good' | 'plain'; text: string } {
  if (options.some(({ source }) => source === 'console')) return { tone: 'good', text: 'set here' }
  const locked = options.find(({ lockedBy }) => lockedBy !== undefined)
  if (locked) return { tone: 'good', text: `set by ${locked.lockedBy}` }
  if (options.some(({ source }) => source === 'sandbox')) return { tone: 'plain', text: 'sandbox' }
  return options.every(({ value }) => value === null)
    ? { tone: 'plain', text: 'not set' }
    : { tone: 'plain', text: 'default' }
}

/** A name of an option as words: of `secretAccessKey` it is `Secret access key`. */
export function labelOf({ option }: Pick<ConsoleOption, 'option'>): string {
  const words = option
    .split('.')
    .at(-1)!
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/\b(url|id|sid|sms|rpc)\b/g, (name) => name.toUpperCase())
  return words[0]!.toUpperCase() + words.slice(1)
}
