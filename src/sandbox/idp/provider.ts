import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'

import { deriveKey } from '../../base/crypto.ts'
import { faulty, type FaultyHandler } from '../faults.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { consentRoutes, type Checked } from './consent.ts'
import type { ConsentStyle } from './consent-page.ts'
import { createGrants, type AuthorizationRequest, type Grants } from './grants.ts'
import { createPeople, type People } from './people.ts'

/** What both identity providers have: an address, one registered application, people and their grants. */
export type SandboxIdentityProvider = {
  readonly address: string
  readonly clientId: string
  readonly clientSecret: string
  /** The redirect address that its client is registered with. */
  readonly redirectUri: string
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

/**
 * @param name `idpa` or `idpb`
 * @param options.tokenPrefix the prefix of its access tokens
 * @param options.says parameters of every answer that the browser takes to the application
 */
export function createProvider(
  { db, clock, settings, faults, base }: StandInContext,
  name: string,
  options: { tokenPrefix?: string; says?: Readonly<Record<string, string>> } = {},
): SandboxIdentityProvider {
  const address = `${base}/${name}`
  const redirectUri = `${settings.publicUrl}/auth/${name}/callback`
  const people = createPeople(db, clock)
  const grants = createGrants(db, clock, name, options.tokenPrefix)

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
    clientId: `sandbox-${name}`,
    clientSecret: deriveKey(settings.secret, `sandbox-${name}`).mac('client').slice(0, 40),
    redirectUri,
    people,
    grants,
    answering: (handle) => faulty(faults, name, refuse, handle),
    consent(engine, { path, look, check, denied }) {
      consentRoutes(engine, {
        provider: name,
        path: `/${name}${path}`,
        look,
        application: settings.name,
        assets: `${new URL(base).pathname}/page`,
        people,
        grants,
        check,
        answer: (request, code) => back(request, code === undefined ? denied : { code }),
      })
    },
    back,
    standIn: ({ describe, routes }) => ({
      name,
      takesFaults: true,
      describe,
      routes,
      state: async () => ({ address, redirectUri, livingTokens: await grants.count() }),
      reset: () => grants.reset(),
    }),
  }
}
