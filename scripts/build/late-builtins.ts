import type { Plugin } from 'rolldown'

// Of Node itself: each takes 3 to 9 ms of processor time and 4 MB where it is not used. An import of `http` even reads all of its
// exports, one of which loads Node's fetch: 12 ms and 15 MB.
const LATE = ['http', 'http2', 'https', 'tls']
const PREFIX = '\0late:'

/** Modules of Node that a bundled package imports are loaded when it first uses something of them. */
export const lateBuiltins: Plugin = {
  name: 'late-builtins',
  resolveId: {
    filter: { id: new RegExp(`^(node:)?(${LATE.join('|')})$`) },
    handler: (id) => PREFIX + id.replace(/^node:/, ''),
  },
  load: {
    filter: { id: new RegExp(`^${PREFIX}`) },
    handler(id) {
      const name = `node:${id.slice(PREFIX.length)}`
      const properties = Object.keys(process.getBuiltinModule(name)!).map(
        (key) => `get ${key}() { return load().${key} }`,
      )
      // In CommonJS, because the exports of an ES module have values.
      return `const load = () => process.getBuiltinModule('${name}')\nmodule.exports = { ${properties.join(', ')} }`
    },
  },
}
