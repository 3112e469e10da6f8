import type { TestApp } from '../../../../testing/app.ts'
import { upload as send, type TestFile } from '../files.fixture.ts'

export type NewFile = TestFile

export type Uploaded = {
  _id: string
  filename: string
  contentType: string
  size: number
  sha256: string
  url: string
  createdAt: string
}

/** Uploads a file, and answers its record. */
export async function upload(app: TestApp, token: string, file: NewFile): Promise<Uploaded> {
  const { status, body, text } = await send(app, token, { name: 'file', ...file })
  if (status !== 201) throw new Error(`upload answered ${status}: ${text}`)
  return body
}

export const contentPath = ({ _id }: { _id: string }, query = ''): string =>
  `/store/files/${_id}/content${query}`
