// Apart from base/viem-package.ts, because a start needs these words and nothing else of it.
export { english } from 'viem/accounts'
