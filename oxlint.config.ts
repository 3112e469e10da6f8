import { defineConfig } from 'oxlint'

type Pattern = { importNames?: string[]; allowTypeImports?: boolean; message: string } & (
  | { group: string[] }
  | { regex: string }
)

/** Calls to other servers go through `server/src/outbound`: it tells what was not sent from what has an unknown outcome. */
const OUTWARD = 'Call other servers through server/src/outbound: see docs/decisions/021-outbound.md.'
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

const restrict = (files: string[], ...patterns: Pattern[]) => ({
  files,
  rules: { 'no-restricted-imports': ['error' as const, { patterns }] as never },
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
      files: [
        '**/*.test.ts',
        '**/*.long.ts',
        '**/*.fixture.ts',
        'server/src/testing/**',
        'console/tests/**',
        'sandbox/src/*/*.js',
      ],
      rules: {
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
      },
    },
    {
      files: ['server/src/testing/app.ts'],
      rules: {
        'typescript/no-explicit-any': 'off',
      },
    },
    {
      files: [
        'server/src/cli.ts',
        'server/src/commands/**',
        'server/bin/**',
        'bench/**',
        'scripts/**',
        'examples/**',
      ],
      rules: {
        'no-console': 'off',
      },
    },
    // Which folder may import which is in CONTRIBUTING.md: see scripts/floors.ts.
    restrict(['{server,sandbox,console}/**'], ...CLIENTS),
    restrict(['server/src/outbound/**']),
    {
      files: ['{server,client,sandbox,console}/**'],
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
    ...[
      ['client/src/*', '../**'],
      ['client/src/changes/*', '../../**'],
    ].map(([files = '', beyond = '']) =>
      restrict([files], {
        group: [beyond, 'node:*', 'typebox'],
        message: 'The client imports nothing but its own files: it runs where the server does not.',
      }),
    ),
    restrict(['console/src/**', 'sandbox/page/**'], {
      regex: String.raw`^(?!\.|preact|@preact/signals$|@codemirror/|@lezer/highlight$)|\.\./(?:server|sandbox/src)/`,
      message: 'Pages import their own files, the client, Preact and CodeMirror only.',
    }),
    {
      files: ['console/src/**', 'sandbox/page/**'],
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
      files: ['**/*.test.ts', '**/*.long.ts', '**/*.fixture.ts', 'server/src/testing/**', 'console/tests/**'],
      rules: {
        'no-restricted-globals': 'off',
        'no-restricted-imports': 'off',
        'no-restricted-properties': 'off',
      },
    },
    // The typed client runs elsewhere, the sandbox calls the server that it belongs to.
    { files: ['client/src/**', 'sandbox/src/**'], rules: { 'no-restricted-globals': 'off' } },
  ],
})
