/**
 * What an application imports. docs/extending.md shows how to use it; `sixwire/smtp` and `sixwire/twilio` export the
 * built-in providers of messages, `sixwire/stripe` and `sixwire/paypal` those of payments, `sixwire/aws-kms` keys of wallets.
 *
 * @example
 * import { defineConfig, defineWire, route, Type } from 'sixwire'
 *
 * @module
 */
export {
  createApp,
  defineConfig,
  loadConfig,
  type App,
  type AppOptions,
  type CollectionsOf,
  type Config,
  type ScheduleOption,
  type TypedConfig,
} from './app.ts'
export { ApiError, defineErrors, errors, invalid, type ErrorKind } from './base/errors.ts'
export { amountFault, formatAmount, formatUnits, parseAmount, parseUnits, unitsFault } from './base/money.ts'
export {
  CallError,
  createClient,
  isError,
  type Api,
  type Client,
  type CallCode,
  type Collection,
  type Filter,
  type CallInput,
  type CallReply,
  type Stored,
} from './client.ts'
export { afterCommit, ConstraintError, requireRow, type Database } from './db/database.ts'
export { sql } from './db/sql.ts'
export {
  form,
  json,
  multipart,
  raw,
  type FormBody,
  type JsonBody,
  type MultipartBody,
  type RawBody,
  type Upload,
  type UploadedFile,
} from './http/bodies.ts'
export {
  eventStream,
  type EndReason,
  type EventReceiver,
  type EventSink,
  type EventStream,
} from './http/event-stream.ts'
export type { RawRequest } from './http/raw-request.ts'
export { answer, jsonText, route, type Route } from './http/route.ts'
export type { AccountRole, SessionKind } from './http/access.ts'
export type { Actor } from './http/actor.ts'
export type { Audit, AuditEntry } from './kernel/audit/audit.ts'
export type { EventDefinition, Events, PublishedEvent, RecordEvents } from './kernel/events/events.ts'
export type { WebhookOption } from './kernel/events/webhook-option.ts'
export type { DataSubject, PersonalTable, PersonalTables } from './kernel/wire/personal-data.ts'
export type { Figure } from './kernel/wire/figure.ts'
export type { Danger, ScreenAction, ScreenColumn, WireScreen } from './kernel/wire/screen.ts'
export {
  defineWire,
  type ApiOf,
  type ConfiguredWire,
  type Need,
  type ServiceOf,
  type Wire,
  type WireContext,
} from './kernel/wire/wire.ts'
export { createOutbound, jsonOf, type Outbound } from './outbound/outbound.ts'
export { outcomeOf, type Outcome } from './providers/outcome.ts'
export { receiveErrors } from './providers/receive.ts'
export { auth } from './wires/auth/index.ts'
export { apple, type AppleEntry, type AppleOptions } from './wires/auth/sign-in/identity-providers/apple.ts'
export {
  microsoft,
  type MicrosoftEntry,
  type MicrosoftOptions,
} from './wires/auth/sign-in/identity-providers/microsoft.ts'
export { oidc, type OidcEntry, type OidcOptions } from './wires/auth/sign-in/identity-providers/oidc.ts'
export type { ProviderEntry } from './wires/auth/sign-in/identity-providers/provider-entry.ts'
export { core } from './wires/core/index.ts'
export { messaging } from './wires/messaging/index.ts'
export type { MailProvider, TextProvider } from './wires/messaging/providers/provider.ts'
export { onchain, type Chain, type Intent, type Onchain } from './wires/onchain/index.ts'
export type { KeyStore, Signature, StoredKey } from './wires/onchain/wallets/signer.ts'
export { pay, type Pay } from './wires/pay/index.ts'
export type {
  CaptureOrder,
  Currencies,
  LedgerEntry,
  Money,
  Order,
  PaymentProvider,
  ProviderEvent,
  RefundOrder,
  PaymentSnapshot,
  PaymentSubject,
} from './wires/pay/providers/provider.ts'
export { decide, store } from './wires/store/index.ts'
export type {
  Decision,
  DecisionCall,
  DecisionUser,
  CollectionDeclaration,
  CollectionOption,
  FileFieldOption,
  FileScan,
  HookCall,
  HookCaller,
  Hooks,
  RelationOption,
  RuleFilter,
  RuleOption,
  SystemDocument,
  SystemDocuments,
  SystemList,
  SystemListQuery,
  UpdateRuleOption,
} from './wires/store/index.ts'
export { Type, type Defaulted } from './base/schema.ts'
// The types of `Type`, so that declarations of an application can name them without a dependency of its own.
export type {
  TArray,
  TBoolean,
  TEnum,
  TInteger,
  TLiteral,
  TNull,
  TNumber,
  TObject,
  TOptional,
  TRecord,
  TSchema,
  TString,
  TUnion,
  TUnknown,
  TUnsafe,
} from 'typebox'
