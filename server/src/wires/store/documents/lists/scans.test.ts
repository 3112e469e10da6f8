import { testScans } from './scans.fixture.ts'

// On SQLite together more than the heap of a thread that scans.
testScans(90, { sqlite: 900_000, postgres: 900 })
