// What the tests of files share.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { sql } from '../../../db/sql.ts'
import type { TestAnswer, TestApp } from '../../../testing/app.ts'
import { until } from '../../../testing/until.ts'

const HOUR_MS = 3_600_000

export type TestFile = {
  bytes?: string | Uint8Array<ArrayBuffer>
  name?: string
  type?: string
  metadata?: unknown
  access?: 'private' | 'public'
}

/** Uploads a file as a browser does. */
export const upload = (
  app: TestApp,
  token: string | undefined,
  file?: TestFile,
  headers?: Record<string, string>,
): Promise<TestAnswer> => uploadTo(app, '/store/upload', token, file, headers)

/** Uploads a file to the path of a route as a browser does. */
export async function uploadTo(
  app: TestApp,
  path: string,
  token: string | undefined,
  { bytes = 'hello', name = 'a.txt', type = 'text/plain', metadata, access }: TestFile = {},
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  const form = new FormData()
  if (metadata !== undefined) form.set('metadata', JSON.stringify(metadata))
  if (access !== undefined) form.set('access', access)
  form.set('file', new File([bytes], name, { type }))
  const body = new Response(form)
  return app.request('POST', path, {
    token,
    raw: new Uint8Array(await body.arrayBuffer()),
    headers: { 'content-type': body.headers.get('content-type')!, ...headers },
  })
}

/** The keys of the objects in the uploads folder of a data folder, sorted; parts of unfinished ones as well. */
export async function storedObjects(dataDir: string): Promise<string[]> {
  const entries = await readdir(join(dataDir, 'uploads'), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted()
}

/** Uploads several files in one call. */
export async function uploadAll(
  app: TestApp,
  token: string,
  files: readonly TestFile[],
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  const form = new FormData()
  for (const { bytes = 'hello', name = 'a.txt', type = 'text/plain' } of files)
    form.append('file', new File([bytes], name, { type }))
  const body = new Response(form)
  return app.request('POST', '/store/files', {
    token,
    raw: new Uint8Array(await body.arrayBuffer()),
    headers: { 'content-type': body.headers.get('content-type')!, ...headers },
  })
}

/** Moves the clock on, and resolves when the job that deletes released files has run. */
export async function hoursLater(app: TestApp, hours: number): Promise<void> {
  app.clock.advance(hours * HOUR_MS)
  await until(async () => {
    const job = await app.app.db.get(sql`
      select 1 from sixwire_jobs
      where id = 'every-store.released-files' and claimed_by is null and run_at > ${app.clock.now()}`)
    return job !== undefined
  })
}
