// A reporter of `node --test`: a line of JSON for each test that failed, with the module that the runner was given.
import type { TestEvent } from 'node:test/reporters'

/** A test that failed. `file` is where it is written, `module` what was given to `node --test`. */
export type Failure = { readonly module: string; readonly file: string; readonly test: string }

/**
 * Yields a {@link Failure} a line.
 *
 * The runner tells the events of one module after those of another: a test before its suite, and a summary at the end. A
 * module that could not be loaded, or whose process ended too soon, is told as a test of its own name, without a summary.
 */
export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let failed: { file: string; names: string[]; nesting: number }[] = []
  for await (const { type, data } of events) {
    let module: string | undefined
    if (type === 'test:fail') {
      const { name, nesting, file = '', details } = data
      for (const inner of failed.filter((one) => one.nesting > nesting))
        Object.assign(inner, { names: [name, ...inner.names], nesting })
      const { failureType } = details.error as { failureType?: string }
      const isModule = nesting === 0 && file.endsWith(name)
      if (isModule) module = file
      if (failureType !== 'subtestsFailed')
        failed.push({ file, names: [isModule ? '(the whole file)' : name], nesting })
    } else if (type === 'test:summary') module = data.file
    if (module === undefined) continue
    for (const { file, names } of failed)
      yield `${JSON.stringify({ module, file, test: names.join(' › ') } satisfies Failure)}\n`
    failed = []
  }
}
