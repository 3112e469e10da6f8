/** An argument of a function of a contract. */
export type AbiInput = { name: string; type: string }
/** A function that reads, by its signature: `balanceOf(address)`. */
export type AbiFunction = { signature: string; inputs: readonly AbiInput[] }

// What standard contracts can be read by: https://eips.ethereum.org/EIPS/eip-20, 721 and 1155
const STANDARD: Readonly<Record<string, string>> = {
  erc20:
    'balanceOf(address owner) name() symbol() decimals() totalSupply() allowance(address owner,address spender)',
  erc721:
    'ownerOf(uint256 tokenId) tokenURI(uint256 tokenId) balanceOf(address owner) name() symbol() getApproved(uint256 tokenId) isApprovedForAll(address owner,address operator)',
  erc1155:
    'balanceOf(address account,uint256 id) uri(uint256 id) isApprovedForAll(address account,address operator)',
  erc165: 'supportsInterface(bytes4 interfaceId)',
}

/** The names of the standards, which the server knows as well. */
export const STANDARDS = Object.keys(STANDARD)

/** The functions of a standard. */
export const functionsOf = (standard: string): AbiFunction[] =>
  [...(STANDARD[standard] ?? '').matchAll(/(\w+)\(([^)]*)\)/g)].map(([, name = '', list = '']) => {
    const inputs = list
      .split(',')
      .filter((one) => one !== '')
      .map((one) => {
        const [type = '', name = ''] = one.split(' ')
        return { name, type }
      })
    return { signature: `${name}(${inputs.map(({ type }) => type).join(',')})`, inputs }
  })

type RawInput = { name?: unknown; type?: unknown; components?: unknown }

/**
 * The functions of an ABI that change nothing.
 *
 * @throws Error with a sentence for the reader if it is no ABI
 * @see https://docs.soliditylang.org/en/latest/abi-spec.html#json
 */
export function readAbi(text: string): { abi: readonly unknown[]; functions: AbiFunction[] } {
  const value: unknown = JSON.parse(text)
  const abi: unknown = Array.isArray(value) ? value : (value as { abi?: unknown } | null)?.abi
  if (!Array.isArray(abi)) throw new Error('An ABI is a list in JSON, as compilers write it.')
  const functions = (abi as Record<string, unknown>[])
    .filter((one) => one !== null && typeof one === 'object' && one['type'] === 'function')
    .filter((one) => one['stateMutability'] === 'view' || one['stateMutability'] === 'pure')
    .map((one) => {
      const raw = (Array.isArray(one['inputs']) ? one['inputs'] : []) as RawInput[]
      const inputs = raw.map((input, at) => ({
        name: nameOf(input.name) || `argument ${at + 1}`,
        type: typeOf(input),
      }))
      return { signature: `${String(one['name'])}(${inputs.map(({ type }) => type).join(',')})`, inputs }
    })
  if (functions.length === 0) throw new Error('The ABI has no function that only reads.')
  return { abi, functions }
}

const nameOf = (name: unknown): string => (typeof name === 'string' ? name : '')

/** A struct is written as the types of its fields. */
function typeOf({ type, components }: RawInput): string {
  const text = String(type)
  if (!text.startsWith('tuple')) return text
  const fields = (Array.isArray(components) ? components : []) as RawInput[]
  return `(${fields.map(typeOf).join(',')})${text.slice('tuple'.length)}`
}

/**
 * What was typed for an argument, as the server takes it: lists and structs are JSON, all else is text.
 *
 * @throws SyntaxError for a list that is no JSON
 */
export function argumentOf(type: string, text: string): unknown {
  if (type === 'bool') return text === 'true'
  return /[)\]]$/.test(type) ? (JSON.parse(text) as unknown) : text
}
