import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'

import { deriveKey } from '../../../server/src/base/crypto.ts'
import { faulty, type FaultyHandler } from '../faults.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { consentRoutes, type Checked } from './consent.ts'
import type { ConsentStyle } from './consent-page.ts'
import { createGrants, type AuthorizationRequest, type Grants } from './grants.ts'
import { createPeople, type People, type Person } from './people.ts'

/** The application that is registered at a provider. */
export type SandboxClient = {
  readonly id: string
  readonly secret: string
  /** Its redirect address, for people. */
  readonly redirectUri: string
  readonly redirects: RegExp
  readonly accepts: (secret: string) => boolean
}

/** What all identity providers have: an address, one registered application, people and their grants. */
export type SandboxIdentityProvider = {
  readonly address: string
  readonly client: SandboxClient
  readonly people: People
  readonly grants: Grants
  /** Makes a handler of calls between servers that injects the faults of this provider. */
  readonly answering: (handle: FaultyHandler) => RouteHandlerMethod
  /** Adds the consent page at a path of the provider. */
  consent(
    engine: FastifyInstance,
    page: {
      path: string
      look: ConsentStyle
      check: (query: URLSearchParams) => Promise<Checked>
      /** The answer to the application if access is denied. */
      denied: Readonly<Record<string, string>>
      /** What it tells beside the code. */
      fieldsOf?: (person: Person) => Readonly<Record<string, string>>
    },
  ): void
  /** The address to which the browser takes an answer, with its `state`. */
  readonly back: (
    request: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
    answer: Readonly<Record<string, string>>,
  ) => string
  /** Makes the stand-in of this provider. */
  standIn(own: Pick<StandIn, 'describe' | 'routes'>): StandIn
}

/** RFC 6749, section 5.2. */
const refuse = (status: number, reply: FastifyReply): FastifyReply =>
  reply.code(status).send({
    error: status < 500 ? 'invalid_request' : 'temporarily_unavailable',
    error_description: 'A fault is set for this provider at /sandbox.',
  })

/** A client with the callback of the provider's name. */
function ownClient({ secret, publicUrl }: StandInContext['settings'], name: string): SandboxClient {
  const clientSecret = deriveKey(secret, `sandbox-${name}`).mac('client').slice(0, 40)
  const redirectUri = `${publicUrl}/auth/${name}/callback`
  return {
    id: `sandbox-${name}`,
    secret: clientSecret,
    redirectUri,
    redirects: new RegExp(`^${RegExp.escape(redirectUri)}$`),
    accepts: (given) => given === clientSecret,
  }
}

/**
 * @param options.name `idpa`, `idpb`, or the name of an issuer for `auth.providers`
 * @param options.tokenPrefix the prefix of its access tokens
 * @param options.says parameters of every answer that the browser takes to the application
 */
export function createProvider(
  { db, clock, settings, faults, base }: StandInContext,
  options: {
    name: string
    tokenPrefix?: string
    says?: Readonly<Record<string, string>>
    client?: SandboxClient
  },
): SandboxIdentityProvider {
  const { name, client = ownClient(settings, name) } = options
  const address = `${base}/${name}`
  const people = createPeople({ db, clock })
  const grants = createGrants({ db, clock }, { provider: name, prefix: options.tokenPrefix })

  function back(
    request: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
    answer: Readonly<Record<string, string>>,
  ): string {
    const url = new URL(request.redirectUri)
    const parameters = {
      ...answer,
      ...(request.state !== undefined && { state: request.state }),
      ...options.says,
    }
    for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value)
    return url.href
  }

  return {
    address,
    client,
    people,
    grants,
    answering: (handle) => faulty(faults, name, refuse, handle),
    consent(engine, { path, look, check, denied, fieldsOf }) {
      consentRoutes(engine, {
        provider: name,
        path,
        look,
        application: settings.name,
        assets: `${new URL(base).pathname}/page`,
        people,
        grants,
        check,
        answer: (request, granted) =>
          back(request, granted ? { code: granted.code, ...fieldsOf?.(granted.person) } : denied),
      })
    },
    back,
    standIn: ({ describe, routes }) => ({
      name,
      // The page has no room for those that nothing stands in for.
      takesFaults: !options.client,
      describe,
      routes,
      state: async () => ({
        address,
        redirectUri: client.redirectUri,
        // Of the others the variables have them.
        ...(options.client && { clientId: client.id, clientSecret: client.secret }),
        livingTokens: await grants.count(),
      }),
      reset: () => grants.reset(),
    }),
  }
}
