import { errors, invalid } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { StartError } from '../../../base/start-error.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import type { Previews } from '../rendering/preview-page.ts'
import { LANGUAGE } from '../language.ts'
import { LONGEST_PARTS } from '../options.ts'
import { TEXT_SOURCES } from '../rendering/template-texts.ts'
import type { TemplateDescription, Templates } from '../rendering/templates.ts'

const TemplateFields = {
  name: Type.String({ examples: ['reset-password'] }),
  channel: Type.Enum(['email', 'sms']),
  source: Type.Enum(TEXT_SOURCES, {
    description:
      'Of the text in the default language. console: an administrator wrote it; application: it is a file.',
  }),
  isBuiltIn: Type.Boolean({ description: 'Whether that text is the built-in one.' }),
  languages: Type.Array(Type.String({ examples: ['en'] }), {
    description: 'Those that it has texts in, the default one first.',
  }),
  subject: Type.Optional(
    Type.String({ description: 'As it is written.', examples: ['Your order {{number}}'] }),
  ),
  values: Type.Array(
    Type.Object({ name: Type.String(), isRequired: Type.Boolean() }, { title: 'TemplateValue' }),
    {
      description: 'What it shows, beside app and appUrl, which every template has.',
    },
  ),
  sample: Type.Record(Type.String(), Type.Unknown(), { description: 'Values to try it with.' }),
  error: Type.Optional(Type.String({ description: 'What is wrong with its files.' })),
}
const MessageTemplate = Type.Object(TemplateFields, { title: 'MessageTemplate' })
const Name = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, examples: ['reset-password'] }),
})

const PARTS = {
  subject: 'Of a mail.',
  html: 'Of a mail, as a template.',
  text: 'Of a text message; of a mail instead of that made from its HTML.',
}

const part = (name: keyof typeof PARTS, maxLength?: number) =>
  Type.Optional(
    Type.String({ minLength: 1, ...(maxLength !== undefined && { maxLength }), description: PARTS[name] }),
  )

const Written = { subject: part('subject'), html: part('html'), text: part('text') }

/** What is not saved yet, no longer than it may be saved. */
const Draft = {
  subject: part('subject', LONGEST_PARTS.subject),
  html: part('html', LONGEST_PARTS.html),
  text: part('text', LONGEST_PARTS.text),
}

const TemplateWithTexts = Type.Object(
  {
    ...TemplateFields,
    texts: Type.Array(
      Type.Object(
        {
          language: Type.String({ examples: ['en'] }),
          source: Type.Enum(TEXT_SOURCES),
          file: Type.Optional(
            Type.String({ description: 'Of the application, which has this text: it is changed there.' }),
          ),
          ...Written,
          error: Type.Optional(Type.String({ description: 'What is wrong with the file.' })),
        },
        { title: 'TemplateText' },
      ),
      {
        description:
          'As they are written, by languages. Administrators write one as the options messaging.texts.NAME.LANGUAGE.subject, .html and .text of PATCH /core/settings.',
      },
    ),
  },
  { title: 'MessageTemplateTexts' },
)

const RenderedTemplate = Type.Object(
  {
    subject: Type.Optional(Type.String()),
    html: Type.Optional(Type.String()),
    text: Type.String(),
    page: Type.Optional(
      Type.String({
        description:
          'The path of a page with the HTML, for 15 minutes, for a frame with the attribute sandbox. Absent for texts, and if the values are too long for an address.',
      }),
    ),
  },
  { title: 'RenderedTemplate' },
)

/** The endpoints of templates. */
export const templateEndpoints = ({ templates, previews }: { templates: Templates; previews: Previews }) => ({
  list: endpoint(
    {
      summary: 'List templates',
      description: 'The built-in ones and those of the application, by name.',
      access: 'operator',
      reply: {
        200: Type.Object(
          {
            templates: Type.Array(MessageTemplate),
            language: Type.String({ description: 'The default language.', examples: ['en'] }),
          },
          { title: 'MessageTemplateList' },
        ),
      },
    },
    async () => {
      const names = [...(await templates.names()), ...(await templates.textNames())].toSorted()
      const all = await Promise.all(names.map((name) => templates.describe(name)))
      return { templates: all.filter((one) => one !== undefined), language: templates.language }
    },
  ),
  get: endpoint(
    {
      summary: 'Get a template',
      access: 'operator',
      params: Name,
      reply: { 200: TemplateWithTexts },
      errors: [errors.not_found],
    },
    async ({ params: { name } }) => ({
      ...(await requireTemplate(templates, name)),
      texts: await templates.texts(name),
    }),
  ),
  preview: endpoint(
    {
      summary: 'Preview a template',
      description: 'Renders it and sends nothing.',
      access: 'operator',
      changesNothing: true,
      params: Name,
      body: json(
        Type.Object(
          {
            data: Type.Optional(
              Type.Record(Type.String(), Type.Unknown(), {
                description: 'Default: the sample of the template.',
                examples: [{ link: 'https://app.example/reset' }],
              }),
            ),
            language: Type.Optional(Type.String({ pattern: LANGUAGE, examples: ['en'] })),
            draft: Type.Optional(
              Type.Object(Draft, {
                additionalProperties: false,
                description:
                  'A text that is not saved, also of a template that does not exist yet. It is checked as a change is.',
                examples: [{ subject: 'Hello', html: '<p>Follow <a href="{{link}}">this link</a>.</p>' }],
              }),
            ),
          },
          { title: 'PreviewTemplateRequest' },
        ),
      ),
      reply: { 200: RenderedTemplate },
      errors: [errors.not_found],
    },
    async ({ params: { name }, body: { data, language, draft } }) => {
      const fault = draft && (await templates.faultOf(name, language ?? templates.language, draft))
      if (fault !== undefined) throw invalid({ path: '/body/draft', message: fault })
      const { channel, sample } = draft
        ? templates.describeDraft(name, draft)
        : await requireTemplate(templates, name)
      const subject = { template: name, data: data ?? sample, language, draft }
      try {
        if (channel === 'sms') return { text: await templates.renderText(name, subject.data, subject) }
        const page = previews.addressOf(subject)
        return {
          ...(await templates.render(name, subject.data, subject)),
          ...(page !== undefined && { page }),
        }
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        const { error: message } = await requireTemplate(templates, name)
        throw invalid({ path: '/params/name', message: message ?? 'The template is malformed.' })
      }
    },
  ),
})

async function requireTemplate(templates: Templates, name: string): Promise<TemplateDescription> {
  const template = await templates.describe(name)
  if (!template)
    throw errors.not_found({
      message: `There is no template "${name}": GET /messaging/templates lists them.`,
    })
  return template
}
