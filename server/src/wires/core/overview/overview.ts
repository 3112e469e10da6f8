import { within } from '../../../base/within.ts'
import type { Diagnosis, Finding } from '../../../kernel/wire/diagnosis.ts'
import { readFigures, type ShownFigure } from './figures.ts'
import type { JobCount } from '../jobs/job-list.ts'
import type { ShownHour } from '../request-log/hours.ts'
import type { ServerStatus } from '../server-status.ts'
import type { Health } from '../health.ts'

const HOURS = 24
const READ_LIMIT_MS = 2_000
const FINDINGS_MAX = 50

export type ShownFinding = Finding & { check: string } & Pick<Diagnosis, 'opens'>

/** What an operator looks at first. A part that can't be read is left out. */
export type Overview = {
  health: Health
  requests?: ShownHour[]
  jobs?: JobCount[]
  openFaults?: number
  figures: ShownFigure[]
  findings: ShownFinding[]
}

/** Reads all parts at once, each for 2 seconds at most. */
export async function readOverview(
  status: ServerStatus,
  readHealth: () => Promise<Health>,
): Promise<Overview> {
  const [health, requests, jobs, openFaults, figures, findings] = await Promise.all([
    readHealth(),
    read(() => status.logs.hours(HOURS)),
    read(() => status.jobs.counts()),
    read(() => status.logs.countOpenFaults()),
    readFigures(status.figures()),
    Promise.all(status.diagnoses().map(findingsOf)),
  ])
  return {
    health,
    ...(requests && { requests }),
    ...(jobs && { jobs }),
    ...(openFaults !== undefined && { openFaults }),
    figures,
    findings: findings
      .flat()
      .toSorted((a, b) => rankOf(a) - rankOf(b))
      .slice(0, FINDINGS_MAX),
  }
}

const rankOf = ({ severity }: Finding): number => (severity === 'fault' ? 0 : 1)

const read = <T>(work: () => Promise<T>): Promise<T | undefined> =>
  within(READ_LIMIT_MS, work).catch(() => undefined)

/** A check that fails says nothing here: sixwire doctor says why. */
async function findingsOf(diagnosis: Diagnosis): Promise<ShownFinding[]> {
  const findings = (await read(() => diagnosis.find())) ?? []
  const { name, opens } = diagnosis
  return findings.map((one) => ({ ...one, check: name, ...(opens && { opens }) }))
}
