import type { Step } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import type { CallbackQueue, CallbackRequest } from './callbacks.ts'
import type { Fault } from './faults.ts'

/** A webhook that a stand-in is to send to the application. */
export type Webhook = {
  /** The provider's id of the event; it stays the same when the webhook is sent again. */
  eventId: string
  /** `checkout.session.completed`. */
  type: string
  /** The object that it is about, for the page. */
  objectId: string
  /** The body, exactly as it is sent. */
  body: string
  /** Milliseconds since 1970. */
  dueAt: number
}

/** The webhooks of one stand-in. */
export type Webhooks = {
  /** The steps that promise webhooks, for the batch of what they report. */
  insertSql(webhooks: readonly Webhook[], fault: Fault['callback']): Step[]
  /** The statement that deletes those which are still to be sent. */
  deleteSql(): Sql
  /** How many are still to be sent. */
  waiting(): Promise<number>
}

export type WebhookLog = {
  /**
   * @param standIn its name
   * @param url where its webhooks go
   * @param sign makes the headers each time one is sent
   */
  of(
    standIn: string,
    options: { url: string; sign: (webhook: { eventId: string; body: string }) => Record<string, string> },
  ): Webhooks
}

export const createWebhookLog = (queue: CallbackQueue): WebhookLog => ({
  of(standIn, { url, sign }) {
    const callbacks = queue.of<{ eventId: string; body: string }>(
      standIn,
      ({ message }): CallbackRequest => ({ headers: sign(message), body: message.body }),
    )
    return {
      insertSql: (webhooks, fault) =>
        callbacks.insertSql(
          webhooks.map(({ eventId, body, dueAt }) => ({
            subject: eventId,
            url,
            message: { eventId, body },
            dueAt,
          })),
          fault,
        ),
      deleteSql: () => callbacks.deleteSql(),
      waiting: () => callbacks.waiting(),
    }
  },
})
