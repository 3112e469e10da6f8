/** Bytes in hexadecimal digits, after `0x`. */
export type Hex = `0x${string}`

/** An address of an EVM chain: 20 bytes. */
export type Address = Hex
