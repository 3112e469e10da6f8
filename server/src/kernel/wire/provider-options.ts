import type { TSchema } from 'typebox'

import { StartError } from '../../base/start-error.ts'
import { checkFields, isEach, isPlain, isText, optional, type Field } from '../config/fields.ts'
import { schemaAt, valueAt } from '../config/option-path.ts'

/** Environment variables, each with the option that it sets: `{ SMTP_URL: 'url' }`. */
export type Env = Readonly<Record<string, string>>

/** How the configuration describes one outside provider of a wire, or each of several that it describes alike. */
export type ProviderDeclaration = {
  /**
   * Environment variables, each with the provider's option that it sets. The option's schema reads the text: integers,
   * numbers, booleans (`on`, `off`), lists (`a,b`) and records (`NAME=a,OTHER=b`).
   */
  readonly env: Env
  /**
   * Options of these that a stand-in takes, too, such as the name that mail is from. If nothing but these is set, the
   * provider is not configured, and a stand-in may take its place.
   */
  readonly sharedWithSandbox?: readonly string[]
  /**
   * Options of the wire that replace the provider, or a part of it, each with the provider's options that it replaces:
   * those can't be set beside it. If all of them are set, nothing uses the provider.
   */
  readonly replacedBy?: Readonly<Record<string, readonly string[]>>
  /** The names of the instances that there always are; the configuration may add others. */
  readonly instances?: readonly string[]
}

/**
 * The providers of a wire by the path of their options: `smtp`, or `chains.*` for every entry of the map `chains`. There
 * `*` at the start of a variable is the name of the entry: `*_RPC_URL` is `ETHEREUM_RPC_URL` for `chains.ethereum`.
 */
export type ProviderDeclarations = Readonly<Record<string, ProviderDeclaration>>

/** One provider, or one instance of several: it is either configured, or left to a stand-in as a whole. */
export type WireProvider = {
  /** The path of its options: `smtp`, `chains.ethereum`. */
  readonly path: string
  /** Environment variables, each with the whole path of its option: `smtp.url`. */
  readonly variables: Env
  /** Variables of these that a stand-in takes, too. */
  readonly sharedWithSandbox: ReadonlySet<string>
  /** Options of the wire, each with the paths of the options that it replaces. */
  readonly replacedBy: Readonly<Record<string, readonly string[]>>
}

/** The option that says where the API of a provider is, if not at the provider's own address. */
export const API_BASE = 'apiBase'

/** Whether nothing but the address of an API is set: the provider is not configured yet, and may be in the console. */
export const isAddressAlone = (options: object): boolean =>
  Object.entries(options).every(([name, value]) => name === API_BASE || value === undefined)

const TEXTS: Field = {
  takes: 'a list of texts',
  fits: (value) => Array.isArray(value) && value.every(isText),
}

export const ENV: Field = {
  takes: 'an object of texts',
  fits: (value) => isPlain(value) && isEach(value, isText),
}

const DECLARATION: { readonly [Name in keyof Required<ProviderDeclaration>]: Field } = {
  env: ENV,
  sharedWithSandbox: optional(TEXTS),
  replacedBy: optional({
    takes: 'an object of lists of texts',
    fits: (value) => isPlain(value) && isEach(value, TEXTS.fits),
  }),
  instances: optional(TEXTS),
}

const INSTANCES = /\.\*$/
const VARIABLE = /^[A-Z][A-Z\d_]*$/

/**
 * Checks the declarations of a wire's variables against the schema of its options.
 *
 * @param where the beginning of the error line
 * @throws StartError with the declaration that does not fit
 */
export function checkProviders(
  where: string,
  env: Env,
  providers: ProviderDeclarations,
  schema: TSchema | undefined,
): void {
  const checkOption = (declaration: string, path: string): void => {
    if (schemaAt(schema, path) === undefined)
      throw new StartError(`${where}: ${declaration}: there is no option "${path}"`)
  }
  const checkVariable = (declaration: string, variable: string): void => {
    if (!VARIABLE.test(variable))
      throw new StartError(
        `${where}: ${declaration}: "${variable}" is not a name of a variable, like SMTP_URL`,
      )
  }
  for (const [variable, path] of Object.entries(env)) {
    checkVariable('env', variable)
    checkOption(`env: ${variable}`, path)
  }
  for (const [path, declaration] of Object.entries(providers)) {
    const name = `providers.${path}`
    checkFields(`${where}: ${name}`, declaration, DECLARATION)
    const isMap = INSTANCES.test(path)
    for (const [variable, option] of Object.entries(declaration.env)) {
      if (isMap && !variable.startsWith('*_'))
        throw new StartError(
          `${where}: ${name}: ${variable} has to begin with *_, for the name of the instance`,
        )
      checkVariable(name, isMap ? variable.slice(2) : variable)
      checkOption(`${name}: ${variable}`, `${path}.${option}`)
    }
    const optionNames = [
      ...(declaration.sharedWithSandbox ?? []),
      ...Object.values(declaration.replacedBy ?? {}).flat(),
    ]
    const unknown = optionNames.find((option) => !Object.values(declaration.env).includes(option))
    if (unknown !== undefined)
      throw new StartError(`${where}: ${name}: no variable of its env is the option "${unknown}"`)
    for (const option of Object.keys(declaration.replacedBy ?? {})) checkOption(`${name}: replacedBy`, option)
  }
}

/**
 * The providers of a wire, with an entry for each instance that is declared or in the configuration.
 *
 * @throws StartError for names of instances that can't be told apart
 */
export const providersOf = (declarations: ProviderDeclarations, options: unknown): WireProvider[] =>
  Object.entries(declarations).flatMap(([pattern, declaration]) => {
    if (!INSTANCES.test(pattern)) return [providerAt(pattern, declaration, (variable) => variable)]
    const map = pattern.replace(INSTANCES, '')
    const entries = valueAt(options, map)
    const names = new Set([
      ...(declaration.instances ?? []),
      ...(isPlain(entries) ? Object.keys(entries) : []),
    ])
    checkInstances(map, names)
    return Array.from(names, (name) =>
      providerAt(`${map}.${name}`, declaration, (variable) => variable.replace('*', prefixOf(name))),
    )
  })

/** @throws StartError for a name that no path of options can hold, or two names that have the same variables */
function checkInstances(map: string, names: ReadonlySet<string>): void {
  const byPrefix = new Map<string, string>()
  for (const name of names) {
    if (name.includes('.')) throw new StartError(`${map}: "${name}" can't be a name: it holds a dot`)
    const prefix = prefixOf(name)
    const other = byPrefix.get(prefix)
    if (other !== undefined)
      throw new StartError(`${map}: "${other}" and "${name}" would have the same variables, ${prefix}_…`)
    byPrefix.set(prefix, name)
  }
}

/** The beginning of the variables of an instance: of `polygonAmoy` and of `polygon-amoy` it is `POLYGON_AMOY`. */
export const prefixOf = (instance: string): string =>
  instance
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z\d]/g, '_')
    .toUpperCase()

function providerAt(
  path: string,
  { env, sharedWithSandbox = [], replacedBy = {} }: ProviderDeclaration,
  nameOf: (variable: string) => string,
): WireProvider {
  const variables = Object.entries(env).map(([variable, option]) => ({ name: nameOf(variable), option }))
  return {
    path,
    variables: Object.fromEntries(variables.map(({ name, option }) => [name, `${path}.${option}`])),
    sharedWithSandbox: new Set(
      variables.filter(({ option }) => sharedWithSandbox.includes(option)).map(({ name }) => name),
    ),
    replacedBy: Object.fromEntries(
      Object.entries(replacedBy).map(([by, options]) => [by, options.map((option) => `${path}.${option}`)]),
    ),
  }
}
