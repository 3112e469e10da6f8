// The threads of SQLite load this.

// Per kind of values and thread, whose heap has 64 MB. What one statement has takes less than 2 MB.
const BYTES_MAX = 8_000_000
const BYTES_OF_VALUE = 1_000
const BYTES_OF_CHARACTER = 10

/** A value, and about how much memory it takes beyond what it takes by the length of its text. */
type Made<T> = { readonly value: T; readonly bytes: number }

/**
 * Values that a statement makes once, from text, and passes to its functions by number: Node keeps the arguments of a
 * function for all rows until the statement ends, and makes a text anew for each of them. Those of earlier statements are
 * kept, as far as there is memory: a list is read by many statements.
 */
export function createConstants<T>(make: (text: string) => Made<T>) {
  /** By text; those used last stand at the end. */
  const numbers = new Map<string, number>()
  const values = new Map<number, Made<T>>()
  let last = 0
  let bytes = 0

  return {
    /** The value's number. SQLite's integers are bigint; a number would be a double to it. */
    numberOf(text: string): bigint {
      let number = numbers.get(text)
      if (number === undefined) {
        const { value, bytes: own } = make(text)
        const size = BYTES_OF_VALUE + BYTES_OF_CHARACTER * text.length + own
        values.set((number = ++last), { value, bytes: size })
        bytes += size
      }
      numbers.delete(text)
      numbers.set(text, number)
      for (const [oldest, its] of numbers) {
        if (bytes <= BYTES_MAX || numbers.size === 1) break
        bytes -= values.get(its)!.bytes
        numbers.delete(oldest)
        values.delete(its)
      }
      return BigInt(number)
    },
    value: (number: number): T => values.get(number)!.value,
  }
}
