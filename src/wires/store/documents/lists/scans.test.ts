// Together more than the heap of a thread that scans.
import { testScans } from './scans.fixture.ts'

testScans(90, 900_000)
