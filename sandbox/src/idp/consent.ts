import type { FastifyInstance, FastifyReply } from 'fastify'

import { ApiError, invalid } from '../../../server/src/base/errors.ts'
import { formOf } from '../forms.ts'
import { sendPage } from '../provider-page.ts'
import { consentPage, refusalPage, returnPage, type ConsentStyle } from './consent-page.ts'
import type { AuthorizationRequest, Grants } from './grants.ts'
import { queryOf } from './parameters.ts'
import type { People, Person, PersonInput } from './people.ts'

/** The result of checking an authorization request. */
export type Checked =
  /** The consent page is shown. */
  | { ask: AuthorizationRequest; hint?: string }
  /** The browser is redirected to the application with an error. */
  | { redirect: string }
  /** An error page is shown: the redirect address can't be trusted. */
  | { refuse: string }

/** The decision on the consent page. */
type Choice = { person: string } | { invent: PersonInput } | { deny: true }

export type ConsentOptions = {
  /** `idpa` or `idpb`. */
  provider: string
  /** The path of its authorization endpoint, below `/sandbox`. */
  path: string
  look: ConsentStyle
  application: string
  /** The path of the style sheets. */
  assets: string
  people: People
  grants: Grants
  check: (query: URLSearchParams) => Promise<Checked>
  /** The address to which the browser takes this code, or the denial if there is none. */
  answer: (request: AuthorizationRequest, granted?: { code: string; person: Person }) => string
}

/**
 * The consent page of a provider: `GET` shows it, `POST` to the same address decides.
 * `POST /api/<provider>/approve` decides without a browser: `{url, person}`, `{url, invent: {name, email, verified}}`
 * or `{url, deny: true}`, where `url` is what the application redirected to; it answers `{redirect}`.
 */
export function consentRoutes(engine: FastifyInstance, options: ConsentOptions): void {
  const { provider, path, look, application, assets, people, grants, check, answer } = options

  /** @throws VALIDATION_ERROR */
  async function whoIs(choice: Exclude<Choice, { deny: true }>): Promise<Person> {
    if ('invent' in choice) return people.add(choice.invent, '/body/invent')
    const person = await people.find(choice.person)
    if (!person)
      throw invalid({
        path: '/body/person',
        message: 'No person has this id or address: GET /sandbox/api/people lists all people.',
      })
    return person
  }

  async function decide(request: AuthorizationRequest, choice: Choice): Promise<string> {
    if ('deny' in choice) return answer(request)
    const person = await whoIs(choice)
    return answer(request, { person, code: await grants.code(person.id, request) })
  }

  async function ask(
    reply: FastifyReply,
    { ask, hint }: { ask: AuthorizationRequest; hint?: string },
    fault?: { message: string; name: string; email: string; verified: boolean },
  ) {
    return sendPage(
      reply,
      fault ? 400 : 200,
      consentPage({
        look,
        application,
        redirectUri: ask.redirectUri,
        scope: ask.scope,
        people: await people.all(),
        hint,
        assets,
        ...(fault && { fault }),
      }),
    )
  }

  engine.get(path, async (request, reply) => {
    const result = await check(queryOf(request.url))
    if ('refuse' in result) return sendPage(reply, 400, refusalPage(look, assets, result.refuse))
    if ('redirect' in result) return reply.redirect(result.redirect)
    return ask(reply, result)
  })

  engine.post(path, async (request, reply) => {
    const result = await check(queryOf(request.url))
    if ('refuse' in result) return sendPage(reply, 400, refusalPage(look, assets, result.refuse))
    if ('redirect' in result) return reply.redirect(result.redirect, 303)
    const choice = choiceOfForm(formOf(request.body))
    if (!choice) return ask(reply, result)
    try {
      const address = await decide(result.ask, choice)
      if (result.ask.isForm) return await sendPage(reply, 200, returnPage(look, assets, application, address))
      return await reply.redirect(address, 303)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 400)) throw error
      // The person was deleted while the page was open, or the address is not valid.
      if (!('invent' in choice)) return ask(reply, result)
      const { name, email, verified } = choice.invent
      const [issue] = (error.details?.['issues'] ?? []) as { message: string }[]
      return ask(reply, result, {
        message: issue?.message ?? error.message,
        name: typeof name === 'string' ? name : '',
        email: typeof email === 'string' ? email : '',
        verified: verified === true,
      })
    }
  })

  engine.post(`/api/${provider}/approve`, async (request) => {
    const { url, choice } = choiceOfBody(request.body)
    const result = await check(queryOf(url))
    if ('refuse' in result) throw invalid({ path: '/body/url', message: result.refuse })
    return { redirect: 'redirect' in result ? result.redirect : await decide(result.ask, choice) }
  })
}

function choiceOfForm(form: URLSearchParams): Choice | undefined {
  const person = form.get('person')
  if (form.has('deny')) return { deny: true }
  if (person) return { person }
  if (!form.has('invent')) return undefined
  const name = form.get('name')?.trim()
  return {
    invent: {
      ...(name && { name }),
      email: form.get('email') ?? '',
      verified: form.has('verified'),
    },
  }
}

/** @throws VALIDATION_ERROR */
function choiceOfBody(body: unknown): { url: string; choice: Choice } {
  if (typeof body !== 'object' || body === null) throw invalid({ path: '/body', message: 'Send an object.' })
  const { url, person, invent, deny } = body as Record<string, unknown>
  if (typeof url !== 'string' || !URL.canParse(url))
    throw invalid({ path: '/body/url', message: 'Send the address of the consent page, with its query.' })
  if (deny === true) return { url, choice: { deny } }
  if (typeof invent === 'object' && invent !== null) return { url, choice: { invent } }
  if (typeof person === 'string') return { url, choice: { person } }
  throw invalid({
    path: '/body',
    message: 'Say who signs in: person (an id or address), invent (name, email, verified), or deny: true.',
  })
}
