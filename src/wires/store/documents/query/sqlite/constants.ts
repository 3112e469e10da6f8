// The threads of SQLite load this.

// A statement has at most 200 conditions; a thread runs one at a time.
const VALUES_MAX = 1000

/**
 * Values that a statement makes once, from text, and passes to its functions by number: Node keeps the arguments of a
 * function for all rows until the statement ends, and makes a text anew for each of them.
 */
export function createConstants<T>(make: (text: string) => T) {
  const numbers = new Map<string, number>()
  const values = new Map<number, T>()
  let last = 0

  return {
    /** The value's number. SQLite's integers are bigint; a number would be a double to it. */
    numberOf(text: string): bigint {
      let number = numbers.get(text)
      if (number === undefined) {
        number = ++last
        values.set(number, make(text))
      }
      // Those used last stand at the end.
      numbers.delete(text)
      numbers.set(text, number)
      if (numbers.size > VALUES_MAX) {
        const [oldest] = numbers
        numbers.delete(oldest![0])
        values.delete(oldest![1])
      }
      return BigInt(number)
    },
    value: (number: number): T => values.get(number)!,
  }
}
