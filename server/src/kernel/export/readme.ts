import type { WireExport } from '../wire/table-export.ts'
import type { ExportedFile } from './exported-files.ts'

/** The text beside what is exported: what each file is, what is not there, and what is missing. */
export function readmeOf(
  {
    files,
    missing,
    exports,
  }: {
    readonly files: readonly (ExportedFile & { readonly rows: number })[]
    readonly missing: readonly string[]
    readonly exports: readonly WireExport[]
  },
  { heading, hasSecrets }: { readonly heading: string; readonly hasSecrets: boolean },
): string {
  const forms = exports.flatMap((one) => one.forms ?? [])
  const reasons = Map.groupBy(
    exports.flatMap(({ tables }) => tables.filter((one) => 'isLeftOut' in one)),
    ({ isLeftOut }) => isLeftOut,
  )
  const lines = [
    `# ${heading}`,
    '',
    'All records as they were at one moment. Files of NDJSON have a JSON object on each line; times are UTC.',
    'Amounts are whole numbers of the smallest unit of their currency, unless a file says otherwise.',
    hasSecrets
      ? '**It holds hashes of passwords and private keys: anyone who reads it can sign in as your users and spend what your wallets hold.**'
      : 'Hashes of passwords, secrets of second factors and private keys are not in it: `--secrets` writes them, too.',
    '',
    '| file | records | what it is |',
    '|---|---|---|',
    ...rowsOf(files.filter(({ path }) => !path.includes('/'))),
    ...forms.flatMap(({ about }) => Object.entries(about).map(([path, text]) => rowOf(path, '', text))),
    ...rowsOf(files.filter(({ path }) => path.includes('/'))),
    '',
    '`sixwire import sixwire DIR` reads users, collections, documents and files into another installation. All else is for other',
    'systems: `sixwire archive` and `sixwire move` keep all of an installation.',
    '',
    '## What is not here',
    '',
    'Tables without rows have no file. These are of no use to another system:',
    '',
    ...[...reasons].map(
      ([reason, tables]) => `- ${reason}: ${tables.map(({ table }) => `\`${table}\``).join(', ')}`,
    ),
    ...(missing.length > 0 ? ['', '## What is missing', '', ...missing.map((line) => `- ${line}`)] : []),
  ]
  return `${lines.join('\n')}\n`
}

const rowsOf = (files: readonly (ExportedFile & { readonly rows: number })[]): string[] =>
  files.map(({ path, rows, table, form }) =>
    rowOf(path, String(rows), form?.about ?? `The rows of the table \`${table.name}\`, as they are`),
  )

const rowOf = (path: string, rows: string, about: string): string => `| \`${path}\` | ${rows} | ${about} |`
