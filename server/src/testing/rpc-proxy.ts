// An RPC address in front of a node that fails as a test tells it to.
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import type { Ending } from './engines.ts'
import { json, startScriptedServer } from './scripted-http.ts'

export type ProxyCall = { jsonrpc: '2.0'; id?: number | string | null; method: string; params?: unknown[] }
export type ProxyAnswer = {
  jsonrpc: '2.0'
  id?: number | string | null
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

/** What happens to calls. A request with several calls is dropped, delayed or refused as a whole. */
export type ProxyFault = {
  /** Calls of this method, or of any. */
  method?: string | RegExp
  /** Of these calls only those that this says. */
  when?: (call: ProxyCall) => boolean
  /** For how many calls, then no more. Default: all. */
  times?: number
  /** How many such calls it leaves alone before. Default: none. */
  skip?: number
  /** Closes the connection, before or after the node has got the request. */
  drop?: 'before' | 'after'
  /** Waits before the node gets the request. */
  delayMs?: number
  /** Waits before the answer goes out. */
  answerDelayMs?: number
  /** Never answers; the node gets nothing. */
  hang?: boolean
  /** Answers an HTTP status, such as 429; the node gets nothing. */
  status?: number
  /** Answers a JSON-RPC error; the node does not get this call. */
  error?: { code: number; message: string; data?: unknown }
  /** Gives the node the call twice; the second answer counts. */
  twice?: boolean
  /** Changes the result, or the whole answer. */
  lie?: (result: unknown, call: ProxyCall) => unknown
  answer?: (answer: ProxyAnswer, call: ProxyCall) => ProxyAnswer
  /** Turns round the order of the answers to a batch. */
  reverse?: boolean
}

export type RpcProxy = {
  url: string
  port: number
  /** The HTTP requests so far, or those with a call of a method. */
  requests(method?: string): number
  /** The calls so far, of one method or of all. */
  calls(method?: string): number
  /** All calls so far, in their order. */
  log: ProxyCall[]
  /** Sets the counts to 0. */
  forget(): void
  /** Adds a fault. Returns the function that removes it. */
  fault(fault: ProxyFault): () => void
  /** Removes all faults. */
  heal(): void
  /** From now on it stands before this node. */
  forwardTo(nodeUrl: string): void
}

/** Starts a proxy before a node, and ends it with the test or suite. */
export async function startRpcProxy(ending: Ending, nodeUrl: string): Promise<RpcProxy> {
  type Active = { fault: ProxyFault; seen: number }
  const faults = new Set<Active>()
  const log: ProxyCall[] = []
  const requests: (readonly string[])[] = []
  let target = nodeUrl

  const faultsOf = (call: ProxyCall): ProxyFault[] =>
    [...faults]
      .filter(({ fault: { method, when } }) => {
        if (typeof method === 'string' && method !== call.method) return false
        if (method instanceof RegExp && !method.test(call.method)) return false
        return when?.(call) ?? true
      })
      .filter((active) => {
        const { skip = 0, times = Infinity } = active.fault
        const at = active.seen++
        return at >= skip && at < skip + times
      })
      .map(({ fault }) => fault)

  async function forward(calls: readonly ProxyCall[], asBatch: boolean): Promise<ProxyAnswer[]> {
    if (calls.length === 0) return []
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asBatch ? calls : calls[0]),
    })
    const answer = (await response.json()) as ProxyAnswer | ProxyAnswer[]
    return Array.isArray(answer) ? answer : [answer]
  }

  async function serve(body: string, response: ServerResponse): Promise<void> {
    const parsed = JSON.parse(body) as ProxyCall | ProxyCall[]
    const isBatch = Array.isArray(parsed)
    requests.push([parsed].flat().map(({ method }) => method))
    const calls = (isBatch ? parsed : [parsed]).map((call) => ({ call, faults: faultsOf(call) }))
    log.push(...calls.map(({ call }) => call))
    const all = calls.flatMap(({ faults }) => faults)
    const longest = (field: 'delayMs' | 'answerDelayMs'): number =>
      Math.max(0, ...all.map((fault) => fault[field] ?? 0))

    if (all.some(({ hang }) => hang)) return
    if (longest('delayMs') > 0) await delay(longest('delayMs'), undefined, { ref: false })
    const status = all.find(({ status }) => status !== undefined)?.status
    if (status !== undefined) return json(response, status, { message: `a scripted ${status}` })
    if (all.some(({ drop }) => drop === 'before')) return void response.destroy()

    const passed = calls.filter(({ faults }) => !faults.some(({ error }) => error))
    const twice = passed.filter(({ faults }) => faults.some(({ twice }) => twice))
    await forward(
      twice.map(({ call }) => call),
      true,
    )
    const answered = await forward(
      passed.map(({ call }) => call),
      isBatch,
    )
    if (all.some(({ drop }) => drop === 'after')) return void response.destroy()
    if (longest('answerDelayMs') > 0) await delay(longest('answerDelayMs'), undefined, { ref: false })

    const answers = calls.map(({ call, faults }): ProxyAnswer => {
      const { id = null } = call
      const error = faults.find(({ error }) => error)?.error
      let answer: ProxyAnswer = error
        ? { jsonrpc: '2.0', id, error }
        : (answered.find((one) => one.id === id) ?? { jsonrpc: '2.0', id, result: null })
      for (const { lie, answer: change } of faults) {
        if (lie && !answer.error) answer = { ...answer, result: lie(answer.result, call) }
        if (change) answer = change(answer, call)
      }
      return answer
    })
    if (all.some(({ reverse }) => reverse)) answers.reverse()
    json(response, 200, isBatch ? answers : answers[0])
  }

  const { port } = await startScriptedServer(ending, ({ body }, response) => {
    // A node that is gone closes the connection, too.
    serve(body, response).catch(() => response.destroy())
  })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: (method) =>
      requests.filter((methods) => method === undefined || methods.includes(method)).length,
    calls: (method) => (method === undefined ? log : log.filter((call) => call.method === method)).length,
    log,
    forget() {
      requests.length = 0
      log.length = 0
    },
    fault(fault) {
      const active = { fault, seen: 0 }
      faults.add(active)
      return () => void faults.delete(active)
    },
    heal: () => faults.clear(),
    forwardTo: (url) => void (target = url),
  }
}
