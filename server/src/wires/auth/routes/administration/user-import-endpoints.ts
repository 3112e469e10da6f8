import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { multipart } from '../../../../http/bodies.ts'
import { endpoint } from '../../../../http/route.ts'
import type { Accounts } from '../../administration/accounts.ts'
import { RefusedLine } from '../../administration/user-import/import-users.ts'

const FILE_MAX = 4_294_967_296
const RECEIVE_MS = 4 * 3_600_000
/** Lines that one answer lists; about 2 MB. */
const ERRORS_MAX = 10_000
const LINE_BYTES = 200

const UserImportReport = Type.Object(
  {
    created: Type.Integer({ description: 'How many accounts are created.' }),
    unchanged: Type.Integer({ description: 'How many lines have the _id of an account: it stays as it is.' }),
    refused: Type.Integer({ description: 'How many lines were refused, each for itself.' }),
    errors: Type.Array(RefusedLine, {
      description: `Why lines were refused, in their order: all, or the first ${ERRORS_MAX}.`,
    }),
  },
  { title: 'UserImportReport' },
)

/** The endpoint that takes users of another system. */
export const userImportEndpoint = (accounts: Accounts) =>
  endpoint(
    {
      summary: 'Import users with the hashes of their passwords',
      description:
        'Reads a file of NDJSON as it arrives, with a user on each line, and creates an account for each as a whole. A line that is refused is reported, and keeps no other out. A line with the `_id` of an account changes nothing, so the same file can be sent again. Nobody is sent a message, and no event is published. A role is given by administrators only.',
      access: 'operator',
      proof: 'recent',
      limit: '60/hour',
      // A misspelt dryRun would write.
      query: Type.Object(
        {
          dryRun: Type.Boolean({
            default: false,
            description:
              'Whether the lines are only checked: each against the accounts, not against other lines.',
          }),
        },
        { additionalProperties: false },
      ),
      body: multipart({ file: { maxBytes: FILE_MAX }, receiveMs: RECEIVE_MS }),
      reply: { 200: UserImportReport },
      errors: [errors.unavailable],
    },
    async ({ query: { dryRun }, body, caller, actor, makeRoom }) => {
      const refusedLines: RefusedLine[] = []
      const options = { dryRun, mayGiveRoles: caller.kind === 'user' }
      const refused = (line: RefusedLine): void => {
        if (refusedLines.length < ERRORS_MAX) refusedLines.push(line)
      }
      const counts = await accounts.import(body.file.stream, options, { refused }, actor)
      await body.fields()
      await makeRoom(refusedLines.length * LINE_BYTES)
      return { ...counts, errors: refusedLines.toSorted((a, b) => a.line - b.line) }
    },
  )
