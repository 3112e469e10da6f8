import { ApiError } from '../../base/errors.ts'
import type { ImportRecord } from '../../wires/store/index.ts'
import { createCollectionNames } from '../collection-names.ts'
import { ISSUERS, lostIdentities } from '../issuers.ts'
import type { ImportSource, SourceCollection } from '../source.ts'
import type { SourceFile } from '../store-files.ts'
import { translateCollection, type TranslatedCollection } from './pocketbase-collection.ts'
import { openPocketbaseData, type PocketbaseData } from './pocketbase-data.ts'
import { documentOf, fileNamesIn, fileOf, userOf } from './records.ts'

/**
 * Opens an installation of PocketBase. A record of an auth collection becomes an account, and a document of the same id with its
 * other fields, to which relations lead.
 *
 * @param dir its folder `pb_data`
 * @param options.ownerFields fields that may name the owner of a record, beside what its rules say
 * @throws StartError
 */
export async function openPocketbase(
  dir: string,
  { ownerFields }: { ownerFields: readonly string[] },
): Promise<ImportSource> {
  const data = openPocketbaseData(dir)
  const all = data.collections()
  const names = createCollectionNames()
  const coming = all.filter(({ system, type }) => type !== 'view' && !system)
  const byId = new Map(coming.map((one) => [one.id, one]))
  const collections = coming.map((one) => translateCollection(one, byId, { names, ownerFields }))
  const accounts = collections.filter(({ of }) => of.type === 'auth')
  const identities = identitiesIn(data)
  const files = filesIn(dir, data, collections)
  return {
    collections: collections.map((one) => sourceCollection(data, one)),
    notes: [
      ...names.notes(),
      ...all.flatMap(({ name, type }) =>
        type === 'view' ? [`${name} is a view, and there are none here: ask for what it is made of`] : [],
      ),
      ...sharedNotes(data, accounts),
      ...(data.count('_superusers') > 0
        ? [
            `superusers do not come (${data.count('_superusers')}): create administrators with "sixwire user create --admin"`,
          ]
        : []),
      ...identities.notes,
    ],
    users: {
      count: accounts.reduce((sum, { of }) => sum + data.count(of.name), 0),
      *read() {
        for (const one of accounts)
          for (const row of data.rows(one.of.name))
            yield userOf(one, row, identities.of(one.of.id, String(row['id'])))
      },
    },
    ...(files && { files }),
    close: () => data.close(),
  }
}

/** What happens to several collections of accounts, of which there is one here. */
function sharedNotes(data: PocketbaseData, accounts: readonly TranslatedCollection[]): string[] {
  if (accounts.length < 2) return []
  const shared = data.sharedAddresses(accounts.map(({ of }) => of.name))
  return [
    `${accounts.map(({ name }) => name).join(' and ')} have accounts: here all sign in at one place, and an email address has one account`,
    ...(shared > 0 ? [`addresses are in several of them (${shared}): the first one gets the account`] : []),
  ]
}

const sourceCollection = (data: PocketbaseData, one: TranslatedCollection): SourceCollection => ({
  name: one.name,
  declaration: one.declaration,
  notes: one.notes,
  count: data.count(one.of.name),
  *read(addressOf) {
    let line = 0
    for (const row of data.rows(one.of.name)) {
      line++
      yield { line, fields: fieldsOrFault(() => documentOf(one, row, addressOf)) }
    }
  },
})

function fieldsOrFault(read: () => Record<string, unknown>): ImportRecord['fields'] {
  try {
    return read()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** How accounts sign in at providers. */
function identitiesIn(data: PocketbaseData) {
  const rows = [...data.rows('_externalAuths')]
  const byUser = Map.groupBy(rows, ({ collectionRef, recordRef }) => `${collectionRef}/${recordRef}`)
  const lost = Map.groupBy(rows, ({ provider }) => String(provider))
  return {
    of: (collection: string, user: string): object[] =>
      (byUser.get(`${collection}/${user}`) ?? []).flatMap(({ provider, providerId }) => {
        const issuer = ISSUERS[String(provider)]
        return issuer === undefined ? [] : [{ issuer, subject: providerId }]
      }),
    notes: [...lost]
      .filter(([provider]) => ISSUERS[provider] === undefined)
      .map(([provider, { length }]) => lostIdentities(provider, length)),
  }
}

/** The files of all records; undefined if no collection has a field for files. */
function filesIn(
  dir: string,
  data: PocketbaseData,
  collections: readonly TranslatedCollection[],
): ImportSource['files'] {
  const having = collections.filter(({ fields }) => fields.some(({ type }) => type === 'file'))
  if (having.length === 0) return undefined
  let count = 0
  for (const one of having) for (const row of data.rows(one.of.name)) count += fileNamesIn(one, row).length
  return {
    count,
    async *read(): AsyncGenerator<SourceFile> {
      for (const one of having)
        for (const row of data.rows(one.of.name))
          for (const name of fileNamesIn(one, row)) yield await fileOf(dir, one, row, name)
    },
  }
}
