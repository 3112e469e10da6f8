import { join, resolve } from 'node:path'

import { StartError } from '../../base/start-error.ts'
import { createCollectionNames } from '../collection-names.ts'
import type { ImportSource } from '../source.ts'
import { openAccounts } from './accounts.ts'
import { readCollections } from './collections.ts'
import { createDocumentReader, firestoreFiles } from './firestore-files.ts'
import { addressIn, openStorage } from './storage.ts'

/**
 * Opens what was exported of a project of Firebase: `users.json` and `hash_config.txt`, the folder `firestore` with JSON, and the
 * folder `storage` with files, each if it is there.
 *
 * @param options.ownerFields fields that may name the owner of a document, beside the ids in its path
 * @throws StartError
 */
export async function openFirebase(
  dir: string,
  { ownerFields }: { ownerFields: readonly string[] },
): Promise<ImportSource> {
  const users = await openAccounts(dir)
  const accounts = users?.ids ?? new Set<string>()
  const exported = await firestoreFiles(join(dir, 'firestore'))
  const files = await openStorage(resolve(dir, 'storage'), accounts)
  if (!users && exported.length === 0 && !files)
    throw new StartError(
      `${dir} has neither users.json, nor JSON in a folder firestore, nor a folder storage`,
    )
  const names = createCollectionNames()
  const collections = await readCollections(exported, {
    documentsIn: createDocumentReader(),
    names,
    accounts,
    ownerFields,
    shown: addressIn,
  })
  return {
    collections,
    notes: [
      ...names.notes(),
      ...(collections.length > 0
        ? ['security rules are not translated: administrators only, until the collections say more']
        : []),
      ...(users?.notes ?? []),
    ],
    ...(users && { users: { count: users.count, read: () => users.read() } }),
    ...(files && { files }),
    close: () => undefined,
  }
}
