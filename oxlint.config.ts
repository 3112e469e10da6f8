import { defineConfig } from 'oxlint'

/**
 * The floors of `src/`, the lowest first: a folder imports the folders of the lines before its own.
 * Folders of one line do not import each other.
 */
const FLOORS = [['base'], ['http', 'db', 'outbound'], ['providers'], ['kernel'], ['sandbox']]

/** The wires in their order: each imports every floor but the sandbox, and the `index.ts` of the wires before it. */
const WIRES = ['core', 'messaging', 'onchain', 'auth', 'pay', 'store']

/** What no floor and no wire imports: the server itself, the commands, the client and what tests use. */
const ABOVE = { folders: ['client', 'commands', 'pages', 'e2e', 'testing'], files: '**/{app,cli,wires}.ts' }

type Pattern = { importNames?: string[]; allowTypeImports?: boolean; message: string } & (
  | { group: string[] }
  | { regex: string }
)

const glob = (names: readonly string[]): string =>
  names.length === 1 ? names.join() : `{${names.join(',')}}`

/** Calls to other servers go through `src/outbound`: it tells what was not sent from what has an unknown outcome. */
const OUTWARD = 'Call other servers through src/outbound: see docs/decisions/021-outbound.md.'
const CLIENTS: Pattern[] = [
  { group: ['undici', 'axios', 'got', 'node-fetch', 'node:https', 'https'], message: OUTWARD },
  {
    group: ['node:http', 'http'],
    importNames: ['default', 'request', 'get', 'Agent'],
    message: OUTWARD,
  },
  { group: ['jose'], importNames: ['createRemoteJWKSet'], message: OUTWARD },
  {
    regex: '^viem$',
    allowTypeImports: true,
    message: 'Import from viem/utils or viem/accounts: all of viem delays each start, and has HTTP clients.',
  },
]

const limitImports = (files: string[], patterns: readonly Pattern[]) => ({
  files,
  rules: { 'no-restricted-imports': ['error' as const, { patterns }] as never },
})

const restrict = (files: string[], ...patterns: Pattern[]) => limitImports(files, [...CLIENTS, ...patterns])

const forbid = (folders: readonly string[], message: string): Pattern => ({
  group: [`**/${glob([...folders, ...ABOVE.folders])}/**`, ABOVE.files],
  message,
})

const floors = FLOORS.flatMap((line, at) =>
  line.map((folder) => {
    const forbidden = [...line.filter((one) => one !== folder), ...FLOORS.slice(at + 1).flat(), 'wires']
    const message = `${folder} imports only the floors below it: see FLOORS in oxlint.config.ts.`
    const clients = folder === 'outbound' ? [] : CLIENTS
    return limitImports([`src/${folder}/**`], [...clients, forbid(forbidden, message)])
  }),
)

const wires = WIRES.map((wire, at) => {
  const before = WIRES.slice(0, at)
  const message = `${wire} imports the floors below the wires, and of these only the index.ts of ${before.join(', ') || 'none'}.`
  return restrict(
    [`src/wires/${wire}/**`],
    forbid(['sandbox', ...WIRES.slice(at + 1)], message),
    ...(before.length > 0
      ? [{ group: [`**/${glob(before)}/**`, `!**/${glob(before)}/index.ts`], message }]
      : []),
  )
})

export default defineConfig({
  options: {
    typeAware: true,
    denyWarnings: true,
    reportUnusedDisableDirectives: 'error',
  },
  ignorePatterns: ['node_modules', 'dist', '/data'],
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'node', 'promise'],
  categories: {
    correctness: 'error',
    suspicious: 'error',
  },
  rules: {
    eqeqeq: 'error',
    'no-console': 'error',
    'no-unused-vars': [
      'error',
      {
        ignoreRestSiblings: true,
      },
    ],
    'no-var': 'error',
    'prefer-const': 'error',
    'import/no-cycle': [
      'error',
      {
        ignoreTypes: false,
      },
    ],
    'import/no-duplicates': 'error',
    'typescript/ban-ts-comment': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-deprecated': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': [
      'error',
      {
        allowForKnownSafeCalls: [
          {
            from: 'package',
            package: 'node:test',
            name: ['describe', 'test', 'suite', 'it'],
          },
        ],
      },
    ],
    'typescript/no-misused-promises': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/prefer-promise-reject-errors': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/use-unknown-in-catch-callback-variable': 'error',
    'no-control-regex': 'off',
    'no-shadow': 'off',
    'no-underscore-dangle': 'off',
    'no-unmodified-loop-condition': 'off',
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
    'typescript/consistent-return': 'off',
    'typescript/no-unsafe-enum-comparison': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/require-post-message-target-origin': 'off',
  },
  overrides: [
    {
      files: ['**/*.test.ts', '**/*.long.ts', '**/*.fixture.ts', 'src/testing/**', 'src/sandbox/*/*.js'],
      rules: {
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
      },
    },
    {
      files: ['src/testing/app.ts'],
      rules: {
        'typescript/no-explicit-any': 'off',
      },
    },
    {
      files: ['src/cli.ts', 'src/commands/**', 'bin/**', 'bench/**', 'scripts/**', 'examples/**'],
      rules: {
        'no-console': 'off',
      },
    },
    restrict(['src/*.ts']),
    {
      files: ['src/**'],
      rules: {
        'no-restricted-globals': [
          'error',
          ...['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'].map((name) => ({
            name,
            message: OUTWARD,
          })),
        ],
        'no-restricted-properties': [
          'error',
          ...['globalThis', 'global'].map((object) => ({ object, property: 'fetch', message: OUTWARD })),
        ],
      },
    },
    restrict(['src/app.ts', 'src/commands/**'], {
      group: ['**/testing/**'],
      message: 'Only tests import testing.',
    }),
    restrict(['src/commands/**'], {
      group: ['**/{sandbox,testing}/**'],
      message: 'Only app.ts imports the sandbox.',
    }),
    ...floors,
    ...wires,
    ...[
      ['src/client/*', '../**'],
      ['src/client/changes/*', '../../**'],
    ].map(([files = '', beyond = '']) =>
      restrict([files], {
        group: [beyond, 'node:*', 'typebox'],
        message: 'The client imports nothing but its own files: it runs where the server does not.',
      }),
    ),
    // By the names of folders: a glob can't tell how deep a file is.
    restrict(['src/pages/**'], {
      regex: String.raw`^node:|^(?!\.|preact|@preact/signals$|@codemirror/|@lezer/highlight$)|\.\./(?:base|db|http|kernel|outbound|providers|sandbox|wires|commands|testing)/`,
      message: 'Pages import their own files, the client, Preact and CodeMirror only.',
    }),
    {
      files: ['src/pages/**'],
      plugins: ['typescript', 'unicorn', 'oxc', 'import', 'promise', 'jsx-a11y'],
      rules: {
        'no-restricted-globals': 'off',
        'no-restricted-properties': 'off',
        // They do not see a label around a control or one by `for`; axe does.
        'jsx-a11y/control-has-associated-label': 'off',
        'jsx-a11y/label-has-associated-control': 'off',
        // A dialog and a sign-in begin in their first field.
        'jsx-a11y/no-autofocus': 'off',
        // What scrolls can be reached by keyboard.
        'jsx-a11y/no-noninteractive-tabindex': ['error', { tags: ['pre', 'div', 'ol', 'ul'] }],
        'jsx-a11y/prefer-tag-over-role': 'off',
        'promise/always-return': 'off',
      },
    },
    {
      files: ['**/*.test.ts', '**/*.long.ts', '**/*.fixture.ts', 'src/testing/**'],
      rules: {
        'no-restricted-globals': 'off',
        'no-restricted-imports': 'off',
        'no-restricted-properties': 'off',
      },
    },
    // The typed client runs elsewhere, the sandbox calls the server that it belongs to.
    { files: ['src/client/**', 'src/sandbox/**'], rules: { 'no-restricted-globals': 'off' } },
  ],
})
