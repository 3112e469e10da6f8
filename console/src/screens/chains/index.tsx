import { Show, useLoad, type Loaded } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { Badge, Text } from '../../parts/text.tsx'
import { ContractReader } from './contract-reader.tsx'
import { OwnedNfts } from './owned-nfts.tsx'

type Health = Awaited<ReturnType<typeof loadHealth>>

const loadHealth = (signal: AbortSignal) => six.call('GET /onchain/health', { signal })

const STATES = {
  connected: ['good', 'answers'],
  unhealthy: ['bad', 'no answer'],
  not_configured: ['plain', 'no node'],
} as const

/** The chains and whether they answer; reading contracts, and the tokens of an owner. */
export default function Chains() {
  const health = useLoad(loadHealth, [])
  const names = Object.entries(health.value?.chains ?? {})
    .filter(([, { status }]) => status !== 'not_configured')
    .map(([name]) => name)
  return (
    <div class="screen chains">
      <div class="buttons">
        <h1 tabIndex={-1}>Chains</h1>
        <button type="button" class="small" onClick={health.again} disabled={health.isLoading}>
          Refresh
        </button>
        <Link to={href(['wallets'])}>Wallets</Link>
        <Link to={href(['transactions'])}>Transactions</Link>
        <Link to={href(['transactions'], { status: 'stuck' })}>Stuck transactions</Link>
      </div>
      <ChainCards of={health} />
      {names.length > 0 && (
        <Tabs
          label="What to do"
          tabs={[
            { name: 'read', title: 'Read a contract', show: () => <ContractReader chains={names} /> },
            { name: 'nfts', title: 'NFTs of an owner', show: () => <OwnedNfts chains={names} /> },
          ]}
        />
      )}
    </div>
  )
}

const ChainCards = ({ of: health }: { of: Loaded<Health> }) => (
  <Show of={health}>
    {({ chains }) => (
      <ul class="chain-cards">
        {Object.entries(chains).map(([name, { status, blockNumber }]) => {
          const [tone, words] = STATES[status]
          return (
            <li key={name}>
              <h3>
                <Text>{name}</Text> <Badge tone={tone}>{words}</Badge>
              </h3>
              {status === 'connected' ? (
                <p>
                  <span class="soft">Block</span> <strong>{blockNumber.toLocaleString()}</strong>
                </p>
              ) : (
                <p class="soft">
                  {status === 'unhealthy'
                    ? 'Its nodes do not answer: the server’s log says why.'
                    : 'Set the address of a node to use it.'}
                </p>
              )}
            </li>
          )
        })}
      </ul>
    )}
  </Show>
)
