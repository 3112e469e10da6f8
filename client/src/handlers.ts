/** Why what is known may be wrong, so that it has to be listed again. */
export type ChangeResetReason = 'expired' | 'restored' | 'changed'

export type ErrorHandler = {
  /** It has ended: the server refuses it, or the user has signed out. */
  error?(error: unknown): void
}

/** What is called with changes. */
export type ChangeHandlers<Document> = ErrorHandler & {
  /** A document was created or changed, or came into the filter or into view: its state now. */
  put(document: Document, version: { etag: string }): void
  /** A document was deleted, or left the filter or the view. It may be one that was never put. */
  gone(id: string): void
  /** Changes may have been missed: list again what is known. */
  reset(reason: ChangeResetReason): void
  /** From now on each change comes: list what is there. */
  ready?(): void
}
