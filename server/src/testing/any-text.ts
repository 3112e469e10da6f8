import fc from 'fast-check'

const SURROGATES = { from: 0xd800, count: 0x800 } as const
const CODE_POINTS = 0x110000 - SURROGATES.count

const toCharacter = (at: number): string =>
  String.fromCodePoint(at < SURROGATES.from ? at : at + SURROGATES.count)

function fromCharacter(character: unknown): number {
  if (typeof character !== 'string' || !/^\P{Surrogate}$/u.test(character))
    throw new Error('not one character')
  const code = character.codePointAt(0)!
  return code < SURROGATES.from ? code : code - SURROGATES.count
}

/**
 * A character of any code point but a surrogate. The library's unit `binary` is the same, and takes a second in each
 * process to list them all.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }).map(toCharacter, fromCharacter),
  fc.integer({ min: 0, max: CODE_POINTS - 1 }).map(toCharacter, fromCharacter),
)

/** Text of such characters. */
export const anyText = (constraints: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: anyCharacter })
