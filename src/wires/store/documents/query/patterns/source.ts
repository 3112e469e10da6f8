/** Why a pattern is refused: a sentence for whoever wrote it. */
export class PatternFault extends Error {}

/** The text of a pattern and how far it is read. */
export class Source {
  at = 0
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get atEnd(): boolean {
    return this.at >= this.text.length
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.at)
  }

  /** Reads `text` if it comes next. */
  skip(text: string): boolean {
    if (!this.startsWith(text)) return false
    this.at += text.length
    return true
  }

  /** Reads what `expression`, which is sticky, matches here. */
  take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at
    const match = expression.exec(this.text)
    if (!match) return undefined
    this.at = expression.lastIndex
    return match
  }

  /** Reads one character, which may be two code units. */
  next(): string {
    const character = String.fromCodePoint(this.text.codePointAt(this.at)!)
    this.at += character.length
    return character
  }

  /** `what` is the subject of a sentence that ends in `rest`. */
  refuse(from: number, what: string, rest: string): never {
    const text = this.text.slice(from, Math.max(this.at, from + 1))
    throw new PatternFault(`${what} ${quote(text)} at character ${from + 1} of the pattern ${rest}`)
  }
}

/** Backslashes stay single, as in the pattern itself. */
const quote = (text: string): string =>
  JSON.stringify(text.length > 20 ? `${text.slice(0, 20)}…` : text).replaceAll('\\\\', '\\')
