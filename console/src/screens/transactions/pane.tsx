import { confirm } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { go, href, Link, place } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { idOf, TONES, type ShownTransaction } from './transaction.ts'

/** A transaction as its chain shows it now; one that is in no block can be sped up or cancelled. */
export function TransactionPane(props: { id: string; status: string | undefined; again: () => void }) {
  const { id, again } = props
  const [chain = '', hash = ''] = id.split(':')
  const loaded = useLoad(
    (signal) => six.call('GET /onchain/transactions/:hash', { params: { hash }, query: { chain }, signal }),
    [id, props.status],
  )
  return (
    <Show of={loaded}>
      {(one) => (
        <>
          <h2 tabIndex={-1}>Transaction with nonce {one.nonce}</h2>
          <Facts
            of={[
              ['Status', <Badge tone={TONES[one.status]}>{one.status}</Badge>],
              one.reason !== undefined && ['Reason', <Text>{one.reason}</Text>],
              one.replacedBy !== undefined && [
                'Replaced by',
                <Link to={href(['transactions', idOf({ chain, hash: one.replacedBy })])}>
                  <code>{one.replacedBy}</code>
                </Link>,
              ],
              ['Hash', <Id what="the hash">{one.hash}</Id>],
              ['Chain', <Text>{one.chain}</Text>],
              ['From', <Id what="the sender">{one.from}</Id>],
              ['To', one.to === null ? 'it creates a contract' : <Id what="the recipient">{one.to}</Id>],
              ['Value', one.value],
              ['Block', one.blockNumber ?? 'none yet'],
              ['Confirmations', one.confirmations ?? 'not known'],
              one.fee !== undefined && ['Fee', one.fee],
              one.tokenId !== undefined && ['Token', one.tokenId],
              one.walletId !== undefined && [
                'Wallet',
                <Link to={href(['wallets', one.walletId])}>{one.walletId}</Link>,
              ],
              ['Signed', <Time at={one.createdAt} />],
            ]}
          />
          {one.status === 'pending' && one.blockNumber === undefined && one.walletId !== undefined && (
            <Revisions of={one} again={again} />
          )}
        </>
      )}
    </Show>
  )
}

/** Both put a new version with the same nonce in its place. */
function Revisions({ of: one, again }: { of: ShownTransaction; again: () => void }) {
  const { hash, chain } = one
  const revise = async (call: Promise<{ hash: string }>, words: string) => {
    const version = await call
    toast(words)
    again()
    go(href(['transactions', idOf({ chain, hash: version.hash })], place.value.query), { replace: true })
  }
  const params = { hash }
  return (
    <>
      <p class="notice">
        It is in no block yet. Nodes prefer a version with a higher fee, and take only one.
      </p>
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={!canWrite.value}
          onClick={() =>
            confirm({
              title: 'Speed this transaction up?',
              verb: 'Speed up',
              children: <p>It is signed again with fees that are higher by 12.5 % at least.</p>,
              act: () =>
                revise(
                  six.call('POST /onchain/transactions/:hash/speed-up', { params }),
                  'Sent with a higher fee.',
                ),
            })
          }
        >
          Speed up
        </button>
        <button
          type="button"
          disabled={!canWrite.value}
          onClick={() =>
            confirm({
              title: 'Cancel this transaction?',
              verb: 'Cancel it',
              children: (
                <p>
                  A transfer of nothing takes its nonce, and costs a fee. If the transaction is mined first,
                  it counts.
                </p>
              ),
              act: () =>
                revise(
                  six.call('POST /onchain/transactions/:hash/cancel', { params }),
                  'The cancellation is sent.',
                ),
            })
          }
        >
          Cancel the transaction
        </button>
      </div>
    </>
  )
}
