import { actionBar, text } from './actions.js'
import { grouped } from './amounts.js'
import { ask } from './api.js'
import { copyButton, make, time, update } from './dom.js'
import { createFundForm, NATIVE, TOKEN } from './fund-form.js'

const BLOCKS = 10
const CONTRACTS = { erc20: `ERC-20, ${TOKEN}`, erc721: 'ERC-721', erc1155: 'ERC-1155' }

/** A number of an action's field; what is none is refused by the server. */
const numberOf = (typed) => (typed === '' ? 1 : /^\d+$/.test(typed) ? Number(typed) : typed)

/**
 * What the reader shows of a chain. Its node is started by the first `refresh`.
 *
 * @param {string} name
 * @param {{ rpcUrl: string, chainId: number, accounts: { address: string, privateKey: string }[],
 *   contracts: Record<string, string> }} chain
 * @param {{ announce(text: string): void }} page
 * @param {() => Promise<void>} refreshPart
 */
export function createChainView(name, chain, page, refreshPart) {
  const path = `/chains/${encodeURIComponent(name)}`
  const head = make('span', {}, 'the node is starting')
  const problem = make('p', { class: 'fault', role: 'alert', hidden: true })
  const blockList = make('ol', { class: 'blocks', 'aria-label': 'Latest blocks' })
  const accountList = make('ul', { class: 'accounts', 'aria-label': 'Accounts' })
  const nameOf = namesOf(chain)
  /** The accounts whose private key is shown. */
  const shownKeys = new Set()
  let balances = []

  const actions = actionBar(
    'chains',
    page,
    refreshPart,
  )([
    {
      label: 'Mine',
      field: text('Blocks', '1'),
      path: `${path}/mine`,
      body: (typed) => ({ blocks: numberOf(typed) }),
      done: ({ number }) => `Block ${number} is the head`,
      isRepeatable: true,
    },
    {
      label: 'Reorganise',
      field: text('Depth', '1'),
      path: `${path}/reorg`,
      body: (typed) => ({ depth: numberOf(typed) }),
      done: ({ number }) => `The chain is reorganised: block ${number} is the head`,
      isRepeatable: true,
    },
  ])

  const facts = [
    ['Chain id', make('code', {}, chain.chainId), copyButton(String(chain.chainId), 'the chain id')],
    ['RPC address', make('code', {}, chain.rpcUrl), copyButton(chain.rpcUrl, 'the RPC address')],
    ['Head', head],
    ...Object.entries(chain.contracts).map(([kind, address]) => [
      CONTRACTS[kind] ?? kind,
      make('code', {}, address),
      copyButton(address, `the address of ${CONTRACTS[kind] ?? kind}`),
    ]),
  ]

  function showAccounts() {
    const items = chain.accounts.map(({ address, privateKey }, at) => ({
      at,
      address,
      ...balances.find((one) => one.address === address),
      privateKey: shownKeys.has(address) ? privateKey : undefined,
    }))
    update(accountList, items, ({ address }) => address, account)
  }

  const account = ({ at, address, balance = '…', erc20 = '…', privateKey }) =>
    make(
      'li',
      {},
      make(
        'p',
        { class: 'line' },
        make('strong', {}, `Account ${at}`),
        make('span', {}, `${grouped(balance)} ${NATIVE}, ${grouped(erc20)} ${TOKEN}`),
      ),
      make(
        'p',
        { class: 'line copied' },
        make('code', {}, address),
        copyButton(address, `the address of account ${at}`),
        make(
          'button',
          {
            class: 'copy',
            type: 'button',
            'aria-expanded': String(privateKey !== undefined),
            'aria-label': `${privateKey ? 'Hide key' : 'Private key'} of account ${at}`,
            click() {
              if (!shownKeys.delete(address)) shownKeys.add(address)
              showAccounts()
            },
          },
          privateKey ? 'Hide key' : 'Private key',
        ),
      ),
      privateKey &&
        make(
          'p',
          { class: 'line copied' },
          make('code', {}, privateKey),
          copyButton(privateKey, `the private key of account ${at}`),
        ),
    )

  /** What a transaction moved: coin, or tokens whoever called their contract. */
  const movements = ({ from, to, value, transfers }) => [
    ...(value !== '0' || transfers.length === 0
      ? [
          `${nameOf(from)} → ${to ? nameOf(to) : 'a new contract'}${value === '0' ? '' : `, ${grouped(value)} ${NATIVE}`}`,
        ]
      : []),
    ...transfers.map((one) => `${nameOf(one.from)} → ${nameOf(one.to)}, ${grouped(one.amount)} ${one.token}`),
  ]

  const block = ({ number, timestamp, hash, transactions }) =>
    make(
      'li',
      {},
      make(
        'p',
        { class: 'line' },
        make(
          'span',
          {},
          make('strong', {}, `Block ${number}`),
          ' ',
          make('code', { title: hash }, short(hash)),
        ),
        time(timestamp),
      ),
      ...transactions.map(({ hash: transaction, from, to, value, transfers }) =>
        make(
          'p',
          { class: 'transaction' },
          make('code', { title: transaction }, short(transaction)),
          copyButton(transaction, `the hash ${short(transaction)}`),
          ...movements({ from, to, value, transfers }).map((text) => make('span', {}, text)),
        ),
      ),
    )

  return {
    elements: [
      make('h3', { tabindex: -1 }, name),
      make(
        'div',
        { class: 'stack' },
        make(
          'dl',
          { class: 'facts copied' },
          ...facts.flatMap(([title, ...value]) => [make('dt', {}, title), make('dd', {}, ...value)]),
        ),
        problem,
        createFundForm(path, refreshPart),
        make('div', { class: 'panel' }, make('h4', {}, 'Blocks'), actions, blockList),
        make('details', { class: 'panel', open: true }, make('summary', {}, 'Accounts'), accountList),
      ),
    ],
    /** Fetches what changes. An error of the node is shown; without an answer the page tries again. */
    async refresh() {
      showAccounts()
      try {
        const [{ blocks }, { accounts }] = await Promise.all([
          ask('GET', `${path}/blocks?limit=${BLOCKS}`),
          ask('GET', `${path}/balances`),
        ])
        problem.hidden = true
        head.textContent = `block ${blocks[0].number}`
        update(blockList, blocks, ({ hash }) => hash, block)
        balances = accounts
        showAccounts()
      } catch (error) {
        if (error.status === undefined) throw error
        problem.textContent = error.message
        problem.hidden = false
      }
    },
  }
}

/** The beginning and the end of a hash or an address. */
const short = (hex) => `${hex.slice(0, 8)}…${hex.slice(-4)}`

/** Names the addresses of the sandbox; another one is shortened. */
function namesOf({ accounts, contracts }) {
  const names = new Map([
    [`0x${'0'.repeat(40)}`, 'minted'],
    ...accounts.map(({ address }, at) => [address.toLowerCase(), `account ${at}`]),
    ...Object.entries(contracts).map(([kind, address]) => [address.toLowerCase(), CONTRACTS[kind] ?? kind]),
  ])
  return (address) => names.get(address.toLowerCase()) ?? short(address)
}
