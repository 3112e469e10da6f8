import { errors, invalid } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { StartError } from '../../../base/start-error.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import type { Previews } from '../rendering/preview-page.ts'
import type { TemplateDescription, Templates } from '../rendering/templates.ts'

const TemplateFields = {
  name: Type.String({ examples: ['reset-password'] }),
  channel: Type.Enum(['email', 'sms']),
  isBuiltIn: Type.Boolean({ description: 'False if it is a file of the application.' }),
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
        200: Type.Object({ templates: Type.Array(MessageTemplate) }, { title: 'MessageTemplateList' }),
      },
    },
    async () => {
      const names = [...(await templates.names()), ...(await templates.textNames())].toSorted()
      const all = await Promise.all(names.map((name) => templates.describe(name)))
      return { templates: all.filter((one) => one !== undefined) }
    },
  ),
  get: endpoint(
    {
      summary: 'Get a template',
      access: 'operator',
      params: Name,
      reply: { 200: MessageTemplate },
      errors: [errors.not_found],
    },
    ({ params: { name } }) => requireTemplate(templates, name),
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
          },
          { title: 'PreviewTemplateRequest' },
        ),
      ),
      reply: { 200: RenderedTemplate },
      errors: [errors.not_found],
    },
    async ({ params: { name }, body }) => {
      const { channel, sample } = await requireTemplate(templates, name)
      const data = body.data ?? sample
      try {
        if (channel === 'sms') return { text: await templates.renderText(name, data) }
        const page = previews.addressOf({ template: name, data })
        return { ...(await templates.render(name, data)), ...(page !== undefined && { page }) }
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
