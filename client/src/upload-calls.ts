import type { AnyInput } from './route-types.ts'

/** What sends calls. */
export type UploadCalls = {
  readonly baseUrl: string
  call(key: string, input?: AnyInput): Promise<unknown>
  raw(key: string, input?: AnyInput): Promise<Response>
}

/** What an upload takes. */
export type UploadOptions = AnyInput & {
  name?: string | undefined
  metadata?: object | undefined
  access?: string | undefined
  direct?: boolean | undefined
}

/** `fetch` that tells how much of the body is sent. */
export type SendWithProgress = (
  url: string,
  request: { method: string; headers: Headers; body?: Blob; signal?: AbortSignal },
  onProgress: NonNullable<AnyInput['onProgress']>,
) => Promise<Response>
