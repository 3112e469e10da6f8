import type { AbiFunction } from 'viem'

import { parseAbi } from '../../../base/viem.ts'

/** The names of the standard interfaces that `abi` takes, in any case. */
export const STANDARDS = ['erc20', 'erc721', 'erc1155', 'erc165'] as const

export type StandardInterface = (typeof STANDARDS)[number]

// https://eips.ethereum.org/EIPS/eip-165
const ERC165 = ['function supportsInterface(bytes4 interfaceID) view returns (bool)']

const SIGNATURES: Readonly<Record<StandardInterface, readonly string[]>> = {
  erc165: ERC165,
  // https://eips.ethereum.org/EIPS/eip-20
  erc20: [
    'function name() view returns (string)',
    'function symbol() view returns (string)',
    'function decimals() view returns (uint8)',
    'function totalSupply() view returns (uint256)',
    'function balanceOf(address owner) view returns (uint256)',
    'function allowance(address owner, address spender) view returns (uint256)',
    'function transfer(address to, uint256 value) returns (bool)',
    'function transferFrom(address from, address to, uint256 value) returns (bool)',
    'function approve(address spender, uint256 value) returns (bool)',
  ],
  // With the extensions for metadata and enumeration: https://eips.ethereum.org/EIPS/eip-721
  erc721: [
    ...ERC165,
    'function balanceOf(address owner) view returns (uint256)',
    'function ownerOf(uint256 tokenId) view returns (address)',
    'function safeTransferFrom(address from, address to, uint256 tokenId, bytes data) payable',
    'function safeTransferFrom(address from, address to, uint256 tokenId) payable',
    'function transferFrom(address from, address to, uint256 tokenId) payable',
    'function approve(address approved, uint256 tokenId) payable',
    'function setApprovalForAll(address operator, bool approved)',
    'function getApproved(uint256 tokenId) view returns (address)',
    'function isApprovedForAll(address owner, address operator) view returns (bool)',
    'function name() view returns (string)',
    'function symbol() view returns (string)',
    'function tokenURI(uint256 tokenId) view returns (string)',
    'function totalSupply() view returns (uint256)',
    'function tokenByIndex(uint256 index) view returns (uint256)',
    'function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)',
  ],
  // With the extension for metadata: https://eips.ethereum.org/EIPS/eip-1155
  erc1155: [
    ...ERC165,
    'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
    'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)',
    'function balanceOf(address owner, uint256 id) view returns (uint256)',
    'function balanceOfBatch(address[] owners, uint256[] ids) view returns (uint256[])',
    'function setApprovalForAll(address operator, bool approved)',
    'function isApprovedForAll(address owner, address operator) view returns (bool)',
    'function uri(uint256 id) view returns (string)',
  ],
}

/** The ABI of a standard interface. It is viem's work to read it, which keeps what it has read: never for input. */
export const standardAbi = (name: StandardInterface): readonly AbiFunction[] =>
  parseAbi(SIGNATURES[name]) as readonly AbiFunction[]
