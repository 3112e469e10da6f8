import type { AuthOwner } from './owner.ts'

/** What sign-in keeps beside the session, in the same storage. It stays after a sign-out. */
export type Item = {
  read(): Promise<string | undefined>
  write(text: string): Promise<void>
}

/** An item of the client's storage; undefined without one: then nothing outlives the page. */
export function itemOf({ baseUrl, options: { storage } }: AuthOwner, name: string): Item | undefined {
  const key = `sixwire ${baseUrl} ${name}`
  return (
    storage && {
      read: async () => (await storage.getItem(key)) ?? undefined,
      write: async (text) => void (await storage.setItem(key, text)),
    }
  )
}
