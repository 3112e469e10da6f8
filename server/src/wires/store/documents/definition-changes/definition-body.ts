import { Type } from '../../../../base/schema.ts'
import { FileFieldOption } from '../definition/file-field.ts'
import { RelationOption } from '../definition/relation.ts'
import { CollectionName } from '../language/collection-name.ts'
import { UniqueOption } from '../storage/indexes/unique-indexes.ts'
import { FieldChanges } from './field-changes.ts'
import { FIELDS_MAX } from '../storage/entries/index-definition.ts'

const DEFINITIONS_MAX = 100

const EXAMPLES = [{ read: 'public', create: 'user', update: 'owner', delete: 'owner', unique: ['slug'] }]

const Rule = (description: string) =>
  Type.Optional(
    Type.Unknown({
      description: `${description} An audience (public, user, owner, admin), a filter such as {"members":"$$user._id"}, or a list of which any may hold. Default: that of the policy.`,
      examples: ['owner'],
    }),
  )
const Paths = (description: string) =>
  Type.Optional(Type.Array(Type.String(), { description, examples: [['supplier.iban']] }))
const { types: _, ...fileField } = FileFieldOption.properties

/** A definition as it is sent: what `store.collections` of the configuration takes, but hooks, which are functions. */
export const DefinitionFields = Type.Object(
  {
    read: Rule('Who may read a document.'),
    create: Rule('Who may create one.'),
    update: Rule('Who may change one; {"before":…,"after":…} are two rules.'),
    delete: Rule('Who may delete one.'),
    hidden: Paths('Fields that only administrators and service keys see and write.'),
    showTo: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Fields that are shown only where a rule holds for the document.',
        examples: [{ phone: 'owner' }],
      }),
    ),
    readOnly: Paths('Fields that only hooks, administrators and service keys write.'),
    schema: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'JSON Schema (2020-12) of the documents, without the fields of the server.',
      }),
    ),
    ids: Type.Optional(
      Type.Enum(['server', 'client'], {
        description: 'Whether callers who can create a document can set its _id. Default: server.',
      }),
    ),
    unique: Type.Optional(UniqueOption),
    search: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: FIELDS_MAX,
        description: 'Fields that searches look into.',
      }),
    ),
    relations: Type.Optional(
      Type.Record(Type.String(), RelationOption, {
        description: 'Fields that hold the _id of another document.',
        examples: [{ author: { to: 'people', onDelete: 'restrict' } }],
      }),
    ),
    files: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            types: Type.Optional(
              Type.Array(Type.String(), {
                minItems: 1,
                description: 'The media types that it takes. Default: all.',
              }),
            ),
            ...fileField,
          },
          { additionalProperties: false },
        ),
        {
          description: 'Fields that hold the _id of files.',
          examples: [{ photo: { types: ['image/*'], access: 'public' } }],
        },
      ),
    ),
    changes: Type.Optional(
      Type.Boolean({ description: 'Whether changes are logged, to be followed. Default: true.' }),
    ),
  },
  {
    title: 'DefinitionFields',
    additionalProperties: false,
    examples: EXAMPLES,
  },
)

/** A definition, and changes of the documents that are there. */
export const DefinitionBody = Type.Object(
  { ...DefinitionFields.properties, documents: Type.Optional(FieldChanges) },
  { additionalProperties: false, title: 'DefinitionWithDocuments', examples: EXAMPLES },
)

/** Definitions that come into force together. */
export const DefinitionsBody = Type.Object(
  {
    definitions: Type.Array(
      Type.Object(
        {
          name: CollectionName,
          definition: DefinitionFields,
          version: Type.Optional(
            Type.Integer({
              minimum: 0,
              description:
                'The version in force that it was made from, 0 for none: if another one is in force, the answer is 412.',
            }),
          ),
        },
        { additionalProperties: false, title: 'NamedDefinition' },
      ),
      { minItems: 1, maxItems: DEFINITIONS_MAX },
    ),
  },
  {
    title: 'DefinitionList',
    additionalProperties: false,
    examples: [
      {
        definitions: [
          { name: 'teams', definition: { read: 'user', relations: { lead: { to: 'members' } } }, version: 0 },
          { name: 'members', definition: { read: 'user', relations: { team: { to: 'teams' } } }, version: 0 },
        ],
      },
    ],
  },
)
