/**
 * The typed client, for browsers, Node, bun and React Native. docs/client.md shows how to use it.
 *
 * @example
 * import { createClient } from 'sixwire/client'
 *
 * @module
 */
export type { Api } from './generated/api.ts'
export type {
  Auth,
  ClientPasskey,
  ClientPasskeys,
  ClientTotp,
  CodeAddress,
  RecoveryCodeList,
  SecondFactorProof,
} from './auth-types.ts'
export { CallError, isError, type ChallengeDetails, type SecondFactorKind } from './call-error.ts'
export type { Batch, BatchCollection, BatchResults, BatchWrite } from './batch.ts'
export { createClient, type TryResult, type Client, type ClientOptions } from './client.ts'
export type {
  Collection,
  DocumentGroup,
  DocumentPage,
  Filter,
  Patch,
  Stored,
  UpdateOperators,
} from './collection.ts'
export type { CallOptions, CallCode, CallInput, KeyOf, CallReply } from './route-types.ts'
export type { ChangeHandlers, ChangeResetReason } from './handlers.ts'
export type { Live, ClientWatch } from './watch.ts'
export type { SessionStorage, SignedInUser } from './session.ts'
