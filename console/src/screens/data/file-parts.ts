/** A part of a file with whole records, and the line that it begins on. */
export type FilePart = { readonly text: string; readonly line: number; readonly bytes: number }

const PART_CHARACTERS = 1_000_000

/**
 * Cuts a file into parts of whole records as it is read, so that each is a call of its own. In CSV a line break within quotes ends no
 * record; each part begins with the headings.
 */
export async function* partsOf(
  pieces: AsyncIterable<string>,
  isCsv: boolean,
  size = PART_CHARACTERS,
): AsyncGenerator<FilePart> {
  let [head, rest, line] = ['', '', 1]
  let bytes = 0
  const encoder = new TextEncoder()
  function* cut(isEnd: boolean): Generator<FilePart> {
    while (rest.length > size || (isEnd && rest !== '')) {
      const end = isEnd && rest.length <= size ? rest.length : endOfRecord(rest, isCsv, size)
      if (end === 0) return
      const own = rest.slice(0, end)
      rest = rest.slice(end)
      bytes += encoder.encode(own).length
      yield { text: head + own, line: line - breaksIn(head), bytes }
      line += breaksIn(own)
    }
  }
  for await (const piece of pieces) {
    rest += piece
    if (isCsv && head === '') {
      const end = endOfRecord(rest, true, 0)
      if (end === 0) continue
      head = rest.slice(0, end)
      rest = rest.slice(end)
      bytes += encoder.encode(head).length
      line += breaksIn(head)
    }
    yield* cut(false)
  }
  yield* cut(true)
}

/** Where the last record within so many characters ends, or the first one behind them; 0 if none does. */
function endOfRecord(text: string, isCsv: boolean, size: number): number {
  let isQuoted = false
  let end = 0
  for (let i = 0; i < text.length; i++) {
    if (isCsv && text[i] === '"') isQuoted = !isQuoted
    else if (text[i] === '\n' && !isQuoted) {
      if (end > 0 && i + 1 > size) return end
      end = i + 1
      if (end >= size) return end
    }
  }
  return end
}

const breaksIn = (text: string): number => text.split('\n').length - 1

/** The text of a file as it is read. */
export async function* textOf(file: Blob): AsyncGenerator<string> {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    yield value
  }
}
