import cluster from 'node:cluster'

import type { Siblings } from '../../base/siblings.ts'
import { WORKER_VARIABLE } from '../../kernel/config/config.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { WorkerSiblings } from './worker-siblings.ts'

/** This process as one of the workers of a server. */
export type Worker = {
  readonly siblings: Siblings
  /** Tells that it answers requests. @param announce called if it shall say so for all */
  ready(announce: () => void, warn: (fields: object, text: string) => void): void
  /** Tells that all must end. */
  outdated(): void
}

/**
 * Joins the other workers, if `sixwire start --workers` has started this process.
 *
 * @param end called when this worker shall finish what is under way, and end
 */
export function joinWorkers(end: () => void): Worker | undefined {
  const place = process.env[WORKER_VARIABLE]
  if (place === undefined || !process.send) return undefined
  const siblings = new WorkerSiblings(place, send)
  let announce: () => void = () => undefined
  let warn: (fields: object, text: string) => void = () => undefined
  process.on('message', (message: ToWorker) => {
    if (message.is === 'end') end()
    else if (message.is === 'announce') announce()
    else if (message.is === 'warn') warn(message.fields, message.text)
    else siblings.take(message)
  })
  // The process that has started it is gone. Node would end this one at once, with what is under way.
  cluster.worker?.on('disconnect', () => {
    cluster.worker!.exitedAfterDisconnect = true
    end()
  })
  return {
    siblings,
    ready(...calls) {
      ;[announce, warn] = calls
      send({ is: 'ready' })
    },
    outdated: () => send({ is: 'outdated' }),
  }
}

/** Without an error if the channel is closed: then this process ends. */
function send(message: FromWorker): void {
  if (process.connected) process.send!(message, undefined, undefined, () => undefined)
}
