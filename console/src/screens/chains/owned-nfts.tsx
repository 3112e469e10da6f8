import { useState } from 'preact/hooks'

import { isError, type Api, type CallReply } from '../../../../client/src/index.ts'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { messageOf, useLoad } from '../../parts/load.tsx'
import { Outside } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'

type Page = CallReply<Api, 'GET /onchain/nft/:contractAddress/owner/:ownerAddress'>
type Search = { chain: string; contract: string; owner: string }

const SHOWN = 24

/** The tokens of an owner in one contract, with their pictures as far as those are in the chain. */
export function OwnedNfts({ chains }: { chains: readonly string[] }) {
  const [foundPage, setFound] = useState<Search & Page>()
  async function search(value: (name: string) => string, offset = 0) {
    const input = { chain: value('chain'), contract: value('contract').trim(), owner: value('owner').trim() }
    const page = await six.call('GET /onchain/nft/:contractAddress/owner/:ownerAddress', {
      params: { contractAddress: input.contract, ownerAddress: input.owner },
      query: { chain: input.chain, limit: SHOWN, offset },
    })
    setFound({ ...input, ...page })
  }
  return (
    <>
      <div class="call">
        <Form send={(value) => search(value)} submit="Show" label="NFTs of an owner">
          <div class="columns">
            <Choice name="chain" label="Chain" options={chains.map((name) => [name, name] as const)} />
            <Field name="contract" label="Address of the contract" placeholder="0x…" required />
            <Field name="owner" label="Address of the owner" placeholder="0x…" required />
          </div>
        </Form>
      </div>
      {foundPage && (
        <>
          <p role="status">
            {foundPage.total === 0
              ? 'This owner has no token of the contract.'
              : `${foundPage.total} tokens${(foundPage.total ?? 0) > SHOWN ? `, the first ${SHOWN} shown` : ''}`}
          </p>
          <ul class="nfts">
            {foundPage.nfts.map(({ tokenId, balance }) => (
              <Token
                key={tokenId}
                of={{ chain: foundPage.chain, contract: foundPage.contract, tokenId, balance }}
              />
            ))}
          </ul>
        </>
      )}
    </>
  )
}

function Token(props: {
  of: { chain: string; contract: string; tokenId: string; balance: string | undefined }
}) {
  const { chain, contract, tokenId, balance } = props.of
  const token = useLoad(
    (signal) =>
      six.call('GET /onchain/nft/:contractAddress/:tokenId', {
        params: { contractAddress: contract, tokenId },
        query: { chain },
        signal,
      }),
    [chain, contract, tokenId],
  )
  const { name, image } = metadataOf(token.value)
  return (
    <li>
      <Picture url={image} name={name ?? tokenId} isLoading={token.isLoading} />
      <strong>
        <Text>{name ?? `#${tokenId}`}</Text>
      </strong>
      <span class="soft">
        #{tokenId.length > 14 ? `${tokenId.slice(0, 14)}…` : tokenId}
        {balance !== undefined && ` × ${balance}`}
      </span>
      {token.error !== undefined && (
        <span class="fault">{isError(token.error, 'NOT_FOUND') ? 'Not found' : messageOf(token.error)}</span>
      )}
    </li>
  )
}

/** Metadata comes from the maker of the contract. */
function metadataOf(token: unknown): { name?: string; image?: string } {
  const metadata = (token as { metadata?: unknown } | undefined)?.metadata
  if (typeof metadata !== 'object' || metadata === null) return {}
  const { name, image } = metadata as Record<string, unknown>
  return { ...(typeof name === 'string' && { name }), ...(typeof image === 'string' && { image }) }
}

/** Only a picture that is in the chain itself is shown, in which no script runs; nothing is loaded from elsewhere. */
function Picture({
  url = '',
  name,
  isLoading,
}: {
  url: string | undefined
  name: string
  isLoading: boolean
}) {
  if (/^data:image\/[\w.+-]+[;,]/i.test(url))
    return (
      <span class="picture">
        <img src={url} alt={name} />
      </span>
    )
  return (
    <span class="picture">
      {isLoading ? (
        'Loading…'
      ) : /^https?:/i.test(url) ? (
        <Outside url={url}>Open the picture</Outside>
      ) : (
        'No picture'
      )}
    </span>
  )
}
