import { grouped } from './amounts.js'
import { ask, serverUrl, SIGN_IN } from './api.js'
import { createChainView } from './chain.js'
import { command, make, update } from './dom.js'
import { createPanes, row } from './panes.js'
import { createRequestView, requestBadge } from './payment-request.js'

const WALLET = `${SIGN_IN}
curl ${serverUrl}/onchain/wallets \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"name": "my first wallet"}'`

const REQUEST = `curl ${serverUrl}/pay/onchain/payment \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"amount": "12.50", "token": "USDC", "chain": "ethereum"}'`

/** @param {{ announce(text: string): void }} page */
export function createChains(page) {
  const panes = createPanes('chains', {
    empty: [
      make('h2', {}, 'No local chains'),
      make('p', {}, 'Every chain has a real node: wallets and payments use that.'),
    ],
    choose: [
      make('h2', {}, 'Local chains'),
      make(
        'p',
        {},
        'Each is a real node that starts when it is first used. Choose a chain to see its blocks, to fund an address, to mine or to reorganise. Create a wallet with your own account:',
      ),
      command(WALLET, 'the command for a wallet'),
      make('p', {}, 'An open payment request appears in the list, where you can pay it:'),
      command(REQUEST, 'the command for a payment request'),
    ],
  })
  /** By name; undefined until they are fetched. */
  let chains
  let requests = []
  let openId
  /** What the reader shows: a chain or a payment request. */
  let view

  const items = () => [
    ...Object.entries(chains).map(([name, { chainId }]) => ({
      id: name,
      name,
      chainId,
      isOpen: name === openId,
    })),
    ...(requests.length > 0 ? [{ id: 'payment requests', title: 'Payment requests' }] : []),
    ...requests.map((request) => ({
      id: request._id,
      request,
      isOpen: request._id === openId,
    })),
  ]

  function show() {
    update(panes.list, items(), ({ id }) => id, listItem)
    const request = requests.find(({ _id }) => _id === openId)
    const chain = Object.hasOwn(chains, openId ?? '') ? chains[openId] : undefined
    panes.rest({ isEmpty: Object.keys(chains).length === 0, isChosen: Boolean(request ?? chain) })
    if (request)
      panes.fill(`request ${openId}`, () => {
        view = createRequestView(request, page, refresh)
        return [panes.back('Back to the chains'), ...view.elements]
      })
    else if (chain)
      panes.fill(`chain ${openId} ${JSON.stringify(chain)}`, () => {
        view = createChainView(openId, chain, page, refresh)
        return [panes.back('Back to the chains'), ...view.elements]
      })
    else view = undefined
    if (request) view.show(request)
  }

  async function refresh() {
    const [nowChains, { requests: nowRequests }] = await Promise.all([
      ask('GET', '/chains'),
      ask('GET', '/chains/requests'),
    ])
    const before = chains && new Map(requests.map(({ _id, status }) => [_id, status]))
    chains = nowChains
    requests = nowRequests
    show()
    for (const { _id, displayAmount, token, status } of before ? requests : [])
      if (before.get(_id) !== status)
        page.announce(
          `${before.has(_id) ? 'Payment request' : 'New payment request'} of ${grouped(displayAmount)} ${token}: ${status}`,
        )
    await view?.refresh?.()
  }

  return {
    open(id) {
      const isOther = openId !== id
      openId = id
      panes.open(id)
      if (!chains) return
      show()
      if (isOther && id !== undefined) panes.focus()
    },
    refresh,
  }
}

function listItem({ id, title, name, chainId, request, isOpen }) {
  if (title) return make('li', { class: 'group' }, make('h3', {}, title))
  const href = `#chains/${encodeURIComponent(id)}`
  if (name)
    return row({ href, title: name, isOpen }, make('span', { class: 'preview' }, `chain id ${chainId}`))
  const { displayAmount, token, chain, status } = request
  return row(
    { href, title: `${grouped(displayAmount)} ${token}`, moment: requestBadge(status), isOpen },
    make('span', { class: 'preview' }, `on ${chain}`),
  )
}
