import type { Api, CallReply } from '../../../../client/src/index.ts'
import { openDialog } from '../../parts/dialog.tsx'
import { List } from '../../parts/list.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { href, Link, queryValue, sortInPlace } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { NewWallet } from './new-wallet.tsx'

type Wallet = CallReply<Api, 'GET /onchain/wallets'>['wallets'][number]

async function load({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const { wallets, nextCursor } = await six.call('GET /onchain/wallets', {
    query: {
      q: queryValue('q'),
      owner: queryValue('owner'),
      sort: sortInPlace('createdAt'),
      cursor,
      limit: 100,
      total: 'none',
    },
    signal,
  })
  return { rows: wallets, nextCursor }
}

/** The wallets of this server and what is in them. */
export default function Wallets() {
  return (
    <List<Wallet>
      title="Wallets"
      at={['wallets']}
      idOf={({ _id }) => _id}
      nameOf={({ name, address }) => name ?? address}
      load={load}
      filters={[
        { kind: 'search', name: 'q', label: 'Name, address or id' },
        { kind: 'text', name: 'owner', label: 'Owner: email or id' },
      ]}
      columns={[
        {
          name: 'address',
          title: 'Wallet',
          order: ({ name, address }) => name ?? address,
          cell: ({ name, address }) => (
            <>
              {name !== undefined && (
                <>
                  <Text>{name}</Text>{' '}
                </>
              )}
              <code>{address}</code>
            </>
          ),
        },
        {
          name: 'owner',
          title: 'Owner',
          order: ({ owner }) => owner,
          cell: ({ owner }) => owner !== undefined && <Owner of={owner} />,
          width: '240px',
          isMinor: true,
        },
        {
          name: 'created',
          title: 'Created',
          sort: 'createdAt',
          cell: ({ createdAt }) => <Time at={createdAt} />,
          width: '124px',
        },
      ]}
      empty={<p>There are no wallets. Create one here, or by POST /onchain/wallets.</p>}
      buttons={(again) => (
        <>
          {(['create', 'import'] as const).map((kind) => (
            <button
              key={kind}
              type="button"
              class="small"
              disabled={!canWrite.value}
              onClick={() => openDialog((close) => <NewWallet kind={kind} close={close} made={again} />)}
            >
              {kind === 'create' ? 'Create' : 'Import a key'}
            </button>
          ))}
        </>
      )}
      pane={(id, wallet) => <WalletPane id={id} wallet={wallet} />}
    />
  )
}

function WalletPane({ id, wallet }: { id: string; wallet: Wallet | undefined }) {
  const loaded = useLoad(
    async (signal) => wallet ?? six.call('GET /onchain/wallets/:id', { params: { id }, signal }),
    [id],
  )
  return (
    <Show of={loaded}>
      {({ _id, name, address, owner, createdAt }) => (
        <>
          <h2 tabIndex={-1}>
            <Text>{name ?? 'Wallet'}</Text>
          </h2>
          <Facts
            of={[
              ['Address', <Id what="the address">{address}</Id>],
              owner !== undefined && [
                'Owner',
                <Link to={href(['users', owner])}>
                  <Owner of={owner} />
                </Link>,
              ],
              ['Created', <Time at={createdAt} />],
              ['Id', <Id>{_id}</Id>],
            ]}
          />
          <h3>Balances</h3>
          <Balances id={_id} />
          <p>
            <Link to={href(['transactions'], { walletId: _id })}>Its transactions</Link>
          </p>
        </>
      )}
    </Show>
  )
}

/** What is on each chain, and which chains do not say. */
function Balances({ id }: { id: string }) {
  const loaded = useLoad(
    (signal) => six.call('GET /onchain/wallets/:id/balances', { params: { id }, signal }),
    [id],
  )
  return (
    <Show of={loaded}>
      {({ balances }) =>
        balances.length === 0 ? (
          <p class="soft">No chain has a node: set the address of one.</p>
        ) : (
          <table class="balances">
            <caption class="quiet">Balances by chain</caption>
            <thead class="quiet">
              <tr>
                <th scope="col">Chain</th>
                <th scope="col">Balance</th>
              </tr>
            </thead>
            <tbody>
              {balances.map(({ chain, symbol, token, balance, error }) => (
                <tr key={`${chain} ${symbol}`}>
                  <th scope="row">
                    {chain}
                    {token !== undefined && <span class="soft"> token</span>}
                  </th>
                  <td>
                    {balance === undefined ? (
                      <span title={error}>
                        <Badge tone="warning">no answer</Badge>
                      </span>
                    ) : (
                      `${balance} ${symbol}`
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Show>
  )
}
