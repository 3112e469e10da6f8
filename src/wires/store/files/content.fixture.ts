import type { TestApp } from '../../../testing/app.ts'

export type Uploaded = {
  _id: string
  filename: string
  contentType: string
  size: number
  sha256: string
  url: string
  createdAt: string
}

export type NewFile = { name?: string; type?: string; bytes: string | Uint8Array<ArrayBuffer> }

/** Uploads a file, and answers its record. */
export async function upload(app: TestApp, token: string, file: NewFile): Promise<Uploaded> {
  const form = new FormData()
  form.set('file', new File([file.bytes], file.name ?? 'file', { type: file.type ?? 'text/plain' }))
  const response = await fetch(`${app.url}/store/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
  })
  if (response.status !== 201) throw new Error(`upload answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Uploaded
}

export const contentPath = ({ _id }: { _id: string }, query = ''): string =>
  `/store/files/${_id}/content${query}`
