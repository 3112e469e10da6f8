import { testScans } from './scans.fixture.ts'

testScans(1_000_000, 300)
