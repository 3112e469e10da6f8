import { defineErrors, type ApiError } from '../../base/errors.ts'
import { notConfigured as providerNotConfigured } from '../../providers/health.ts'

/** The errors of the onchain wire. */
export const onchainErrors = defineErrors({
  insufficient_funds: [422, 'The wallet has too little of the native coin for the value and the fee.'],
  contract_reverted: [422, 'The contract refuses this call: nothing was signed.'],
  limit_exceeded: [422, 'A limit of the operator or of the nodes does not allow this: nothing was signed.'],
  unsupported_chain: [422, 'Nothing can be sent on this chain.'],
  provider_error: [502, 'No node of this chain gives an answer.'],
})

/** Why nothing can be sent on a chain without EIP-1559. */
export const NO_BASE_FEE = 'its blocks have no base fee (EIP-1559)'

/** PROVIDER_NOT_CONFIGURED, with the variable that configures the chain. */
export const chainNotConfigured = (chain: string, variable: string): ApiError =>
  providerNotConfigured({ what: `the chain ${chain}`, variables: variable, details: { chain } })
