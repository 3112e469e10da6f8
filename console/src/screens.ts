/*
 * The screens of the console, and how to write one.
 *
 * A screen is a folder `screens/<name>/` whose `index.tsx` exports a component as default, and one line below. It is a chunk of
 * its own, loaded when it is opened first, 8 KB minified at most: `Late` and `openLate` put a pane or a dialog into another. Its
 * sheet, if it needs one, is `screens/<name>/<name>.css` with everything inside `@layer screens { }`.
 *
 *   export default function Keys() {
 *     return (
 *       <List
 *         title="Keys"
 *         at={['keys']}                                   // #/keys, and #/keys/<id> for a pane
 *         columns={[{ name: 'name', title: 'Name', cell: (key) => <Text>{key.name}</Text> }]}
 *         idOf={(key) => key._id}
 *         filters={[{ kind: 'search', name: 'q', label: 'Search keys' }]}       // in the address: ?q=
 *         load={async ({ cursor, signal }) => {
 *           const query = { q: queryValue('q'), cursor, limit: 100 }
 *           const { keys, nextCursor } = await six.call('GET /auth/keys', { query, signal })
 *           return { rows: keys, nextCursor }
 *         }}
 *         empty={<p>No keys yet.</p>}
 *         pane={(id, key, again) => <KeyPane id={id} key={id} again={again} />}
 *       />
 *     )
 *   }
 *
 * What there is in parts/: `List` (table, filters, marks, pane), `useLoad` with `Show` and `Problem` (loading, error, retry),
 * `Form` with `Field`, `Choice`, `Check` (the server's issues at their fields), `confirm` and `openDialog`, `withProof` (asks for
 * the password again if the server wants that), `nameToType` and `InstallationName` (before danger in production), `toast` (with
 * `undo`), `Tabs`, `Text` (strangers' text), `Time`, `Badge`, `Id`, `Copy`, `Facts`, `Json`, `bytes`, `money`, `Link`, `Outside`,
 * `href`, `go`, `setQuery`, `place`, `queryValue`, `announce`, `singleKey`.
 * Calls go through `six` of parts/session.ts, which has the token. Buttons that change something are disabled unless
 * `canWrite.value`. Text of the server is a child of an element, never HTML. A narrow column is `isMinor`.
 * Tests are in console/tests/<name>.test.ts, by `openConsole` and `checkLooks` of server/src/testing/console.ts, `someEngine`.
 * A pane begins with <h2 tabIndex={-1}> and shows <Facts>, <Tabs>, and buttons in <div class="buttons">.
 */
import type { ComponentType } from 'preact'

/** The places of the menu, those that are used most first. On a phone the first four are under the thumb. */
export const AREAS = [
  ['overview', 'Overview'],
  ['data', 'Data'],
  ['people', 'People'],
  ['payments', 'Payments'],
  ['messages', 'Messages'],
  ['chains', 'Chains'],
  ['operation', 'Operation'],
  ['settings', 'Settings'],
] as const

export type AreaName = (typeof AREAS)[number][0]

export type Screen = {
  /** The first part of its address: `users` of #/users. */
  name: string
  title: string
  /** Its place in the menu, where it is a tab beside the others of that place. The first is opened. */
  area: AreaName
  /** What its tab says if the title would repeat the place's name. */
  tab?: string
  /** `g`, then this key, opens it. */
  key: string
  /** Left out of the menu if this wire is not loaded. */
  wire?: string
  /** The filter that the search palette fills: `q`. */
  search?: string
  load: () => Promise<{ default: ComponentType }>
}

export const screens: readonly Screen[] = [
  {
    name: 'overview',
    title: 'Overview',
    area: 'overview',
    key: 'o',
    load: () => import('./screens/overview/index.tsx'),
  },
  {
    name: 'data',
    title: 'Data',
    area: 'data',
    tab: 'Collections',
    key: 'd',
    wire: 'store',
    search: 'q',
    load: () => import('./screens/data/index.tsx'),
  },
  {
    name: 'files',
    title: 'Files',
    area: 'data',
    key: 'f',
    wire: 'store',
    search: 'q',
    load: () => import('./screens/files/index.tsx'),
  },
  {
    name: 'application',
    title: 'Application',
    area: 'data',
    key: 'e',
    load: () => import('./screens/application/index.tsx'),
  },
  {
    name: 'users',
    title: 'Users',
    area: 'people',
    key: 'u',
    search: 'q',
    load: () => import('./screens/users/index.tsx'),
  },
  {
    name: 'payments',
    title: 'Payments',
    area: 'payments',
    key: 'p',
    wire: 'pay',
    search: 'q',
    load: () => import('./screens/payments/index.tsx'),
  },
  {
    name: 'payment-requests',
    title: 'Payment requests',
    area: 'payments',
    tab: 'Requests',
    key: 'q',
    wire: 'pay',
    search: 'address',
    load: () => import('./screens/payment-requests/index.tsx'),
  },
  {
    name: 'payment-events',
    title: 'Payment events',
    area: 'payments',
    tab: 'Events',
    key: 'v',
    wire: 'pay',
    search: 'eventId',
    load: () => import('./screens/payment-events/index.tsx'),
  },
  {
    name: 'messages',
    title: 'Messages',
    area: 'messages',
    key: 'm',
    wire: 'messaging',
    load: () => import('./screens/messages/index.tsx'),
  },
  {
    name: 'templates',
    title: 'Templates',
    area: 'messages',
    key: 't',
    wire: 'messaging',
    load: () => import('./screens/templates/index.tsx'),
  },
  {
    name: 'transactions',
    title: 'Transactions',
    area: 'chains',
    key: 'x',
    wire: 'onchain',
    load: () => import('./screens/transactions/index.tsx'),
  },
  {
    name: 'wallets',
    title: 'Wallets',
    area: 'chains',
    key: 'w',
    wire: 'onchain',
    load: () => import('./screens/wallets/index.tsx'),
  },
  {
    name: 'chains',
    title: 'Chains',
    area: 'chains',
    tab: 'Nodes',
    key: 'c',
    wire: 'onchain',
    load: () => import('./screens/chains/index.tsx'),
  },
  {
    name: 'logs',
    title: 'Logs',
    area: 'operation',
    key: 'l',
    search: 'q',
    load: () => import('./screens/logs/index.tsx'),
  },
  {
    name: 'jobs',
    title: 'Jobs',
    area: 'operation',
    key: 'j',
    load: () => import('./screens/jobs/index.tsx'),
  },
  {
    name: 'faults',
    title: 'Faults',
    area: 'operation',
    key: 'z',
    search: 'q',
    load: () => import('./screens/faults/index.tsx'),
  },
  {
    name: 'audit',
    title: 'Audit',
    area: 'operation',
    key: 'a',
    load: () => import('./screens/audit/index.tsx'),
  },
  {
    name: 'backups',
    title: 'Backups',
    area: 'operation',
    key: 'b',
    wire: 'store',
    load: () => import('./screens/backups/index.tsx'),
  },
  {
    name: 'settings',
    title: 'Settings',
    area: 'settings',
    key: 's',
    search: 'q',
    load: () => import('./screens/settings/index.tsx'),
  },
  {
    name: 'keys',
    title: 'Keys',
    area: 'settings',
    key: 'k',
    load: () => import('./screens/keys/index.tsx'),
  },
  {
    name: 'api',
    title: 'API',
    area: 'settings',
    key: 'i',
    search: 'q',
    load: () => import('./screens/api/index.tsx'),
  },
  {
    name: 'webhooks',
    title: 'Webhooks',
    area: 'settings',
    key: 'h',
    load: () => import('./screens/webhooks/index.tsx'),
  },
  {
    name: 'account',
    title: 'Your account',
    area: 'settings',
    key: 'y',
    load: () => import('./screens/account/index.tsx'),
  },
]
