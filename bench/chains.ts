import type { Bench } from './bench.ts'
import { runContractReads, type ReadResult } from './contract-reads.ts'
import { runPaymentWatch, type WatchResult } from './payment-watch.ts'
import { runTransfers, type TransferResult } from './transfers.ts'

export type ChainsResult = { transfers: TransferResult; reads: ReadResult; watch: WatchResult }

/** The figures of the onchain wire, and of payments on chains. */
export const runChains = async (bench: Bench, faults: string[]): Promise<ChainsResult> => ({
  transfers: await runTransfers(bench, faults),
  reads: await runContractReads(bench, faults),
  watch: await runPaymentWatch(bench, faults),
})
