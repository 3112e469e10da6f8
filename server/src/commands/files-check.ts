import type { FileCheckReport, LostRecord, ObjectSum, UnattachedFile } from '../wires/store/index.ts'
import { defineAction } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar, sizeText } from './progress-bar.ts'
import { withApp } from './with-app.ts'

const SHOWN = 20

export const filesCheck = defineAction({
  summary: 'Compare the records of files and backups with the bytes that are stored',
  options: {
    'delete-unused': {
      description: 'delete the objects that no record names, if they are older than 24 hours',
    },
    ...JSON_OPTION,
  },
  details: `Finds records without their bytes, and bytes without a record, in the folder or bucket of files and
that of backups, while servers run; where collections declare fields of files, also the files that no
document has. Without --delete-unused nothing is changed.
Never use --delete-unused where another installation has its files in the same folder or under the same
prefix of the bucket: they have no record here. Exits with 1 if a file or a backup has not its bytes.`,
  run: ({ options: { 'delete-unused': deletesUnused, json } }) => checkFiles({ deletesUnused, json }),
})

async function checkFiles({
  deletesUnused,
  json,
}: {
  deletesUnused: boolean
  json: boolean
}): Promise<number> {
  const bar = createProgressBar({ out: process.stderr })
  try {
    const report = await withApp((app) =>
      app.service('store').fileCheck.check({ deletesUnused, onProgress: (progress) => bar.show(progress) }),
    )
    bar.end()
    print(json, report, () => textOf(report))
    return report.ok ? 0 : 1
  } finally {
    bar.end()
  }
}

const textOf = (report: FileCheckReport): string =>
  [overviewOf, lostOf, variantsOf, unusedOf, unattachedOf].flatMap((part) => part(report)).join('\n')

function overviewOf({ records, objects, pending }: FileCheckReport): string[] {
  const { file, variant, backup } = records
  return [
    `ok       ${plural(file, 'file')}, ${plural(variant, 'resized image')} and ${plural(backup, 'backup')} were looked for; ${sumText(objects)} are stored`,
    ...(pending.count > 0 ? [`ok       ${sumText(pending)} are being written, or wait to be deleted`] : []),
  ]
}

const sumText = ({ count, bytes }: ObjectSum): string => `${plural(count, 'object')} (${sizeText(bytes)})`

function lostOf({ lost }: FileCheckReport): string[] {
  if (lost.count === 0) return []
  return section(
    'fault',
    `${plural(lost.count, 'record')} without the stored bytes`,
    lost.first.map(lostText),
    {
      count: lost.count,
      remedy:
        'put the objects back under their names, or restore a backup (sixwire backup list), or delete the records: DELETE /store/files/ID, DELETE /store/backups/ID',
    },
  )
}

const lostText = ({ kind, id, name, owner, storage, key, size, found }: LostRecord): string =>
  [
    `${kind} ${id}`,
    ...(name === undefined ? [] : [JSON.stringify(name)]),
    ...(owner === undefined ? [] : [`of ${owner}`]),
    `${storage}/${key}`,
    found === null ? `missing (${sizeText(size)})` : `${found} bytes instead of ${size}`,
  ].join('  ')

function variantsOf({ lostVariants: { count, first } }: FileCheckReport): string[] {
  if (count === 0) return []
  return section(
    'warning',
    `${plural(count, 'resized image')} without the stored bytes`,
    first.map(lostText),
    {
      count,
      remedy:
        'none if they are missing: they are made again when they are next asked for; delete an object of another size',
    },
  )
}

function unusedOf({ unused, deleted }: FileCheckReport): string[] {
  if (unused.count === 0) return []
  const lines = unused.first.map(
    ({ storage, key, size, modifiedAt }) => `${storage}/${key}  ${sizeText(size)}  ${modifiedAt}`,
  )
  const recent = `${unused.recent} of them are of the last 24 hours`
  const remedy =
    deleted.count > 0
      ? `${sumText(deleted)} are deleted now, or when no backup runs any more; ${recent}, and stay`
      : `sixwire files check --delete-unused deletes those that are older than 24 hours; ${recent}`
  return section('warning', `${sumText(unused)} without a record`, lines, { count: unused.count, remedy })
}

function unattachedOf({ unattached }: FileCheckReport): string[] {
  if (unattached === null)
    return [
      `${'warning'.padEnd(9)}which files no document has is not known: the index of a field of files is not ready. Run it again`,
    ]
  if (unattached === undefined || unattached.count === 0) return []
  const { count, bytes, released, undeclared, first } = unattached
  return section(
    'warning',
    `${plural(count, 'file')} (${sizeText(bytes)}) that no document has in a field of files`,
    first.map(unattachedText),
    {
      count,
      remedy: `${released} of them a server deletes by itself after a day; ${undeclared} were in fields that are not declared any more; POST /store/files/bulk deletes those that nothing else uses`,
    },
  )
}

const unattachedText = ({ id, name, owner, size, createdAt, attachedBy }: UnattachedFile): string =>
  [
    `file ${id}`,
    JSON.stringify(name),
    `of ${owner}`,
    sizeText(size),
    createdAt,
    ...(attachedBy.length > 0 ? [`was in ${attachedBy.join(', ')}`] : []),
  ].join('  ')

/** A finding as `sixwire doctor` prints it, with what was found and what to do. */
function section(
  severity: 'fault' | 'warning',
  title: string,
  lines: readonly string[],
  { count, remedy }: { count: number; remedy: string },
): string[] {
  const shown = lines.slice(0, SHOWN)
  const more = count - shown.length
  const rest = more > 0 ? [`and ${more.toLocaleString('en')} more; --json names up to 1,000`] : []
  return [`${severity.padEnd(9)}${title}`, ...[...shown, ...rest, remedy].map((line) => ' '.repeat(9) + line)]
}
