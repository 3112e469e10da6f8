import type { DefinitionValue, JsonFields } from './field-types.ts'

/** A template: collections with example documents. In a document `@posts.0` is replaced by the `_id` of the first example of posts, `@me` by that of the account. */
export type CollectionTemplate = {
  readonly collections: readonly {
    readonly name: string
    readonly definition: DefinitionValue
    readonly documents: readonly JsonFields[]
  }[]
}

type Loaded = { readonly default: unknown }

/** The templates, each loaded when it is chosen. */
export const TEMPLATES: Readonly<
  Record<string, { title: string; about: string; load: () => Promise<Loaded> }>
> = {
  notes: {
    title: 'Notes',
    about: 'Of each account, for itself',
    load: () => import('./templates/notes.json', { with: { type: 'json' } }),
  },
  todos: {
    title: 'To-dos',
    about: 'With state, day and priority',
    load: () => import('./templates/todos.json', { with: { type: 'json' } }),
  },
  blog: {
    title: 'Blog',
    about: 'Posts, and comments on them',
    load: () => import('./templates/blog.json', { with: { type: 'json' } }),
  },
  shop: {
    title: 'Shop',
    about: 'Products, customers, orders',
    load: () => import('./templates/shop.json', { with: { type: 'json' } }),
  },
  chat: {
    title: 'Chat',
    about: 'Rooms with members, messages',
    load: () => import('./templates/chat.json', { with: { type: 'json' } }),
  },
  crm: {
    title: 'CRM',
    about: 'Companies, contacts, deals',
    load: () => import('./templates/crm.json', { with: { type: 'json' } }),
  },
  events: {
    title: 'Events',
    about: 'A calendar, and its guests',
    load: () => import('./templates/events.json', { with: { type: 'json' } }),
  },
  bookings: {
    title: 'Bookings',
    about: 'Places, each slot once',
    load: () => import('./templates/bookings.json', { with: { type: 'json' } }),
  },
  inventory: {
    title: 'Inventory',
    about: 'Items on shelves, what comes and goes',
    load: () => import('./templates/inventory.json', { with: { type: 'json' } }),
  },
  survey: {
    title: 'Survey',
    about: 'Questions, and answers to them',
    load: () => import('./templates/survey.json', { with: { type: 'json' } }),
  },
  recipes: {
    title: 'Recipes',
    about: 'Read by all, with photos',
    load: () => import('./templates/recipes.json', { with: { type: 'json' } }),
  },
  jobs: {
    title: 'Job board',
    about: 'Vacancies, and applications',
    load: () => import('./templates/jobs.json', { with: { type: 'json' } }),
  },
}

/** @throws TypeError without a connection */
export const loadTemplate = async (name: string): Promise<CollectionTemplate> =>
  (await TEMPLATES[name]!.load()).default as CollectionTemplate

/** The template with a text before the names of its collections, wherever they are named. */
export function withPrefix(template: CollectionTemplate, prefix: string): CollectionTemplate {
  const named = (name: string): string =>
    template.collections.some((one) => one.name === name) ? prefix + name : name
  return {
    collections: template.collections.map(({ name, definition, documents }) => ({
      name: named(name),
      definition: definition['relations']
        ? { ...definition, relations: relationsNamed(definition['relations'] as Relations, named) }
        : definition,
      documents,
    })),
  }
}

type Relations = Readonly<Record<string, { readonly to: string }>>

const relationsNamed = (relations: Relations, named: (name: string) => string): Relations =>
  Object.fromEntries(
    Object.entries(relations).map(([field, relation]) => [field, { ...relation, to: named(relation.to) }]),
  )

/** What makes the collections and documents of a template. */
export type TemplateCalls = {
  /** The `_id` of the account that makes them. */
  readonly me: string
  /** Makes all collections, or none. */
  define: (definitions: readonly { name: string; definition: DefinitionValue }[]) => Promise<unknown>
  /** Answers the `_id`s of the documents in their order. */
  create: (name: string, documents: readonly JsonFields[]) => Promise<readonly string[]>
}

/**
 * Makes the collections of a template, then their documents, those first that others lead to.
 *
 * @param prefix before the names of all collections
 * @throws what the calls throw; documents that are made until then stay
 */
export async function makeTemplate(
  template: CollectionTemplate,
  { define, create, me }: TemplateCalls,
  options: { prefix: string; withDocuments: boolean },
): Promise<void> {
  const { collections } = withPrefix(template, options.prefix)
  await define(collections.map(({ name, definition }) => ({ name, definition })))
  if (!options.withDocuments) return
  const ids = new Map<string, readonly string[]>()
  for (const [at, { name, documents }] of collections.entries())
    ids.set(template.collections[at]!.name, await create(name, filled(documents, ids, me)))
}

const PLACE = /^@(?:me|(?<collection>\w+)\.(?<number>\d+))$/

/** The documents with `_id`s where their places stand. */
function filled<T>(value: T, ids: ReadonlyMap<string, readonly string[]>, me: string): T {
  if (typeof value === 'string') {
    const { collection, number } = PLACE.exec(value)?.groups ?? {}
    if (collection !== undefined) return ids.get(collection)![Number(number)] as T
    return (value === '@me' ? me : value) as T
  }
  if (Array.isArray(value)) return value.map((one: unknown) => filled(one, ids, me)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, ids, me)])) as T
}
