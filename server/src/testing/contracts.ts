// The contracts of the sandbox and of the tests, compiled by scripts/compile-contracts.ts.
import type { Abi } from 'viem'

import type { Hex } from '../base/hex.ts'
import Forwarder from '../../../sandbox/src/chains/contracts/Forwarder.json' with { type: 'json' }
import MultiToken from '../../../sandbox/src/chains/contracts/MultiToken.json' with { type: 'json' }
import Nft from '../../../sandbox/src/chains/contracts/Nft.json' with { type: 'json' }
import Token from '../../../sandbox/src/chains/contracts/Token.json' with { type: 'json' }
import EnumerableNft from './contracts/EnumerableNft.json' with { type: 'json' }
import FeeToken from './contracts/FeeToken.json' with { type: 'json' }
import MisloggingToken from './contracts/MisloggingToken.json' with { type: 'json' }
import Playground from './contracts/Playground.json' with { type: 'json' }
import ScanNft from './contracts/ScanNft.json' with { type: 'json' }
import SilentToken from './contracts/SilentToken.json' with { type: 'json' }

export type Compiled = { abi: Abi; bytecode: Hex }

export const CONTRACTS = {
  Forwarder,
  MultiToken,
  Nft,
  Token,
  EnumerableNft,
  FeeToken,
  MisloggingToken,
  Playground,
  ScanNft,
  SilentToken,
} as unknown as Record<
  | 'Forwarder'
  | 'MultiToken'
  | 'Nft'
  | 'Token'
  | 'EnumerableNft'
  | 'FeeToken'
  | 'MisloggingToken'
  | 'Playground'
  | 'ScanNft'
  | 'SilentToken',
  Compiled
>
