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

export type Screen = {
  /** The first part of its address: `users` of #/users. */
  name: string
  title: string
  /** Where it is in the navigation. */
  group: 'Installation' | 'People' | 'Data' | 'Money and messages' | 'Operation'
  /** `g`, then this key, opens it. */
  key: string
  /** Left out of the navigation if this wire is not loaded. */
  wire?: string
  /** The filter that the search palette fills: `q`. */
  search?: string
  load: () => Promise<{ default: ComponentType }>
}

export const screens: readonly Screen[] = [
  {
    name: 'overview',
    title: 'Overview',
    group: 'Installation',
    key: 'o',
    load: () => import('./screens/overview/index.tsx'),
  },
  {
    name: 'data',
    title: 'Data',
    group: 'Data',
    key: 'd',
    wire: 'store',
    search: 'q',
    load: () => import('./screens/data/index.tsx'),
  },
  {
    name: 'files',
    title: 'Files',
    group: 'Data',
    key: 'f',
    wire: 'store',
    search: 'q',
    load: () => import('./screens/files/index.tsx'),
  },
  {
    name: 'application',
    title: 'Application',
    group: 'Data',
    key: 'e',
    load: () => import('./screens/application/index.tsx'),
  },
  {
    name: 'api',
    title: 'API',
    group: 'Data',
    key: 'i',
    search: 'q',
    load: () => import('./screens/api/index.tsx'),
  },
  {
    name: 'users',
    title: 'Users',
    group: 'People',
    key: 'u',
    search: 'q',
    load: () => import('./screens/users/index.tsx'),
  },
  {
    name: 'keys',
    title: 'Keys',
    group: 'People',
    key: 'k',
    load: () => import('./screens/keys/index.tsx'),
  },
  {
    name: 'audit',
    title: 'Audit',
    group: 'People',
    key: 'a',
    load: () => import('./screens/audit/index.tsx'),
  },
  {
    name: 'account',
    title: 'Your account',
    group: 'People',
    key: 'y',
    load: () => import('./screens/account/index.tsx'),
  },
  {
    name: 'payments',
    title: 'Payments',
    group: 'Money and messages',
    key: 'p',
    wire: 'pay',
    search: 'q',
    load: () => import('./screens/payments/index.tsx'),
  },
  {
    name: 'payment-requests',
    title: 'Payment requests',
    group: 'Money and messages',
    key: 'q',
    wire: 'pay',
    search: 'address',
    load: () => import('./screens/payment-requests/index.tsx'),
  },
  {
    name: 'payment-events',
    title: 'Payment events',
    group: 'Money and messages',
    key: 'v',
    wire: 'pay',
    search: 'eventId',
    load: () => import('./screens/payment-events/index.tsx'),
  },
  {
    name: 'messages',
    title: 'Messages',
    group: 'Money and messages',
    key: 'm',
    wire: 'messaging',
    load: () => import('./screens/messages/index.tsx'),
  },
  {
    name: 'templates',
    title: 'Templates',
    group: 'Money and messages',
    key: 't',
    wire: 'messaging',
    load: () => import('./screens/templates/index.tsx'),
  },
  {
    name: 'chains',
    title: 'Chains',
    group: 'Money and messages',
    key: 'c',
    wire: 'onchain',
    load: () => import('./screens/chains/index.tsx'),
  },
  {
    name: 'wallets',
    title: 'Wallets',
    group: 'Money and messages',
    key: 'w',
    wire: 'onchain',
    load: () => import('./screens/wallets/index.tsx'),
  },
  {
    name: 'transactions',
    title: 'Transactions',
    group: 'Money and messages',
    key: 'x',
    wire: 'onchain',
    load: () => import('./screens/transactions/index.tsx'),
  },
  {
    name: 'jobs',
    title: 'Jobs',
    group: 'Operation',
    key: 'j',
    load: () => import('./screens/jobs/index.tsx'),
  },
  {
    name: 'logs',
    title: 'Logs',
    group: 'Operation',
    key: 'l',
    search: 'q',
    load: () => import('./screens/logs/index.tsx'),
  },
  {
    name: 'faults',
    title: 'Faults',
    group: 'Operation',
    key: 'z',
    search: 'q',
    load: () => import('./screens/faults/index.tsx'),
  },
  {
    name: 'webhooks',
    title: 'Webhooks',
    group: 'Operation',
    key: 'h',
    load: () => import('./screens/webhooks/index.tsx'),
  },
  {
    name: 'backups',
    title: 'Backups',
    group: 'Operation',
    key: 'b',
    wire: 'store',
    load: () => import('./screens/backups/index.tsx'),
  },
  {
    name: 'settings',
    title: 'Settings',
    group: 'Operation',
    key: 's',
    search: 'q',
    load: () => import('./screens/settings/index.tsx'),
  },
]
