/**
 * Tells how a run of all tests went, from the report that Vitest leaves: first what was left out and where, last of all a line
 * `N passed, N failed`. A run that broke before its tests counts as one failure: no report must never read as a pass.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'

const [, , file, failedSteps = '0'] = process.argv
/** What a test is called that was not run. */
const LEFT_OUT = ['skipped', 'pending', 'todo', 'disabled']

let passed = 0
let failed = 0
try {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, 'utf8'))
  passed = numPassedTests
  const broken = testResults.filter(each => each.status === 'failed' && each.assertionResults.length === 0)
  failed = numFailedTests + broken.length
  console.log(leftOut(testResults))
} catch {
  console.error('the tests left no report')
}
if (failed === 0 && (passed === 0 || Number(failedSteps) > 0)) failed = 1
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

/** How many tests were not run, and in which files, since the machine has not what they need. */
function leftOut(testResults) {
  const files = testResults
    .map(({ name, assertionResults }) => ({
      name: path.relative(process.cwd(), name),
      count: assertionResults.filter(each => LEFT_OUT.includes(each.status)).length,
    }))
    .filter(({ count }) => count > 0)
  const all = files.reduce((sum, { count }) => sum + count, 0)
  return `left out: ${all === 0 ? 'nothing' : `${all} (${files.map(({ name, count }) => `${name} ${count}`).join(', ')})`}`
}
