import { testScans } from './scans.fixture.ts'

testScans(1_000_000, { sqlite: 300, postgres: 300 })
