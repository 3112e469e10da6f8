import { loadConfig } from '../app.ts'
import type { Progress } from '../base/progress.ts'
import { oneLine } from '../base/one-line.ts'
import { withCollections, writeDeclarations, type Declared } from '../imports/declarations.ts'
import { openFileMap, readFileMap, type FileMap } from '../imports/file-map.ts'
import { importSource, type RefusedRecord, type SourceReport } from '../imports/import-source.ts'
import type { ImportSource } from '../imports/source.ts'
import { openFirebase } from '../imports/firebase/open-firebase.ts'
import { openMongodb, type MongodbOptions } from '../imports/mongodb/open-mongodb.ts'
import { openParse } from '../imports/parse/open-parse.ts'
import { openPocketbase } from '../imports/pocketbase/open-pocketbase.ts'
import { openSupabase } from '../imports/supabase/open-supabase.ts'
import { openSixwire } from '../imports/sixwire/open-sixwire.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { JSON_OPTION, type Values } from './option.ts'
import { print, table } from './print.ts'
import { createProgressBar, sizeText, type ProgressBar } from './progress-bar.ts'
import { withApp } from './with-app.ts'

/** The options of every source. */
const COMMON = {
  'dry-run': { description: 'tell what would come and what cannot, and write nothing' },
  ...JSON_OPTION,
} as const
const OWNER_FIELD = {
  'owner-field': {
    value: 'FIELD',
    multiple: true,
    description: 'a field with the account that a document belongs to, where it has one; may be repeated',
  },
} as const

const USERS_OF_MONGODB = {
  users: { value: 'COLLECTION', description: 'the collection whose documents become accounts too' },
  'email-field': { value: 'FIELD', description: 'their field with the address', default: 'email' },
  'password-field': {
    value: 'FIELD',
    description: 'their field with the hash of the password',
    default: 'password',
  },
  'verified-field': {
    value: 'FIELD',
    description: 'their field that is true if the address is verified',
    default: 'emailVerified',
  },
} as const

export const importCommand: CommandGroup = {
  summary: 'Import collections, users and files of another system',
  actions: {
    firebase: defineAction({
      summary: 'Import users, Firestore and files of a project of Firebase',
      words: ['DIR'],
      options: { ...OWNER_FIELD, ...COMMON },
      details: `DIR has users.json of "firebase auth:export", hash_config.txt with what the console shows of its hashes, a folder
firestore with JSON, and a folder storage with the files of the bucket, each if it is there.`,
      run: ({ words: [dir], options }) =>
        importFrom('firebase', () => openFirebase(dir, { ownerFields: options['owner-field'] }), options),
    }),
    mongodb: defineAction({
      summary: 'Import collections of MongoDB',
      words: ['FILE…'],
      options: { ...USERS_OF_MONGODB, ...OWNER_FIELD, ...COMMON },
      details: `Each FILE is a collection of its name, as mongoexport or bsondump writes it: NDJSON or an array, in
Extended JSON. Unique fields are those of NAME.metadata.json of mongodump, if it is beside the file.`,
      run: ({ words: files, options }) =>
        importFrom('mongodb', () => openMongodb(files, mongodbOptions(options)), options),
    }),
    parse: defineAction({
      summary: 'Import an export of Parse Server',
      words: ['DIR'],
      options: COMMON,
      details: `DIR has a file for each class: _User.json, Post.json, _Join:tags:Post.json, as the dashboard or mongoexport
writes them, and _SCHEMA.json for those of mongoexport. Files are in DIR/files, by their names.`,
      run: ({ words: [dir], options }) => importFrom('parse', () => openParse(dir), options),
    }),
    pocketbase: defineAction({
      summary: 'Import an installation of PocketBase',
      words: ['DIR'],
      options: { ...OWNER_FIELD, ...COMMON },
      details: 'DIR is its folder pb_data. Stop PocketBase before, so that nothing changes meanwhile.',
      run: ({ words: [dir], options }) =>
        importFrom('pocketbase', () => openPocketbase(dir, { ownerFields: options['owner-field'] }), options),
    }),
    sixwire: defineAction({
      summary: 'Import users, documents and files of another installation of Sixwire',
      words: ['DIR'],
      options: COMMON,
      details: 'DIR is what "sixwire export --all" has written. Ids are kept, of files too.',
      run: ({ words: [dir], options }) => importFrom('sixwire', () => openSixwire(dir), options),
    }),
    supabase: defineAction({
      summary: 'Import a project of Supabase from its database',
      words: ['URL'],
      options: {
        ...OWNER_FIELD,
        schema: {
          value: 'NAME',
          description: 'the schema whose tables become collections',
          default: 'public',
        },
        storage: { value: 'DIR', description: 'where files were downloaded to, a folder for each bucket' },
        ...COMMON,
      },
      details: `URL is postgres://postgres:PASSWORD@HOST:5432/postgres. All is read as it is at one moment, in a transaction that
writes nothing.`,
      run: ({ words: [url], options }) =>
        importFrom(
          'supabase',
          () =>
            openSupabase(url, {
              schema: options.schema,
              ownerFields: options['owner-field'],
              storage: options.storage,
            }),
          options,
        ),
    }),
  },
  details: `Nothing of the other system is changed. Users come first, with the hashes of their passwords, then files, then
documents. What is here already stays as it is: run it again to continue. What is refused is told and keeps
nothing else out; the command exits with 1 then. It writes collections.SOURCE.ts, which declares the collections,
and files.SOURCE.ndjson, which has the old and new addresses of files.`,
}

const mongodbOptions = (options: Values<typeof USERS_OF_MONGODB & typeof OWNER_FIELD>): MongodbOptions => ({
  ownerFields: options['owner-field'],
  users: options.users,
  email: options['email-field'],
  password: options['password-field'],
  verified: options['verified-field'],
})

type Flags = { 'dry-run': boolean; json: boolean }

/** Imports a source: what is refused is printed as it is found, and then what has come of each collection. */
async function importFrom(
  name: string,
  open: () => Promise<ImportSource>,
  { 'dry-run': dryRun, json }: Flags,
): Promise<number> {
  const folder = process.cwd()
  const config = await loadConfig(folder)
  const source = await open()
  try {
    const errors: RefusedRecord[] = []
    const report = await withMap(`files.${name}.ndjson`, dryRun || !source.files, (map) =>
      withBar((bar) => {
        const watch = {
          refused(one: RefusedRecord): void {
            errors.push(one)
            bar.end()
            if (!json) console.log(lineOf(one))
          },
          progress: (progress: Progress) => bar.show(progress),
        }
        return withApp((app) => importSource(app, source, { dryRun, map }, watch), {
          config: withCollections(config, source.collections, dryRun),
        })
      }),
    )
    const declared = dryRun ? undefined : await writeDeclarations(folder, name, source.collections, config)
    const notes = notesOf(source)
    print(json, { ...report, notes, errors, ...declared }, () => textOf(report, notes, declared))
    return errors.length > 0 ? 1 : 0
  } finally {
    await source.close()
  }
}

async function withBar<T>(work: (bar: ProgressBar) => Promise<T>): Promise<T> {
  const bar = createProgressBar({ out: process.stderr })
  try {
    return await work(bar)
  } finally {
    bar.end()
  }
}

/** Opens the map of files; one that is not written if there are none. */
async function withMap<T>(
  file: string,
  isReadOnly: boolean,
  work: (map: Pick<FileMap, 'addressOf' | 'add'>) => Promise<T>,
): Promise<T> {
  if (isReadOnly) {
    const addresses = await readFileMap(file)
    return work({ addressOf: (from) => addresses.get(from), add: async () => undefined })
  }
  const map = await openFileMap(file)
  try {
    return await work(map)
  } finally {
    await map.close()
  }
}

const lineOf = ({ of, which, code, message }: RefusedRecord): string =>
  `${of} ${oneLine(which, 200)}: ${code} ${message}`

const notesOf = ({ notes, collections }: ImportSource): string[] => [
  ...notes,
  ...collections.flatMap(({ name, notes: own }) => own.map((note) => `${name}: ${note}`)),
]

const textOf = (
  { users, files, collections }: SourceReport,
  notes: readonly string[],
  declared: Declared | undefined,
): string =>
  [
    ...(declared ? [] : ['Nothing was written. It would be:']),
    table(
      ['', 'CREATED', 'THERE ALREADY', 'REFUSED'],
      [
        ['accounts', users.created, users.unchanged, users.refused],
        [`files (${sizeText(files.bytes)})`, files.stored, files.present, files.failed],
        ...collections.map(({ name, created, present, refused }) => [name, created, present, refused]),
      ].map((row) => row.map((cell) => cell.toLocaleString('en'))),
    ),
    ...(notes.length === 0
      ? []
      : ['', 'What does not come, or not as it was:', ...notes.map((note) => `- ${note}`)]),
    ...(declared ? ['', ...nextOf(declared)] : []),
  ].join('\n')

/** What to do about the declarations. */
const nextOf = ({ file, isNew, missing }: Declared): string[] => [
  isNew
    ? `${file} declares the collections: read it, above all who may read and write.`
    : `${file} was there already and stays as it is.`,
  ...(missing.length === 0
    ? []
    : [
        `sixwire.config.ts does not declare ${missing.join(', ')} yet. Add:`,
        `  import { collections } from './${file}'`,
        '  export default defineConfig({ store: { collections } })',
      ]),
]
