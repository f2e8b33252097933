import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { OPERATION_LIFECYCLE } from '../../src/domain/operation.ts'
import { STATUSES_WITHOUT_SUCCESS } from '../../src/store/operation-fields.ts'
import { fieldTypesOf, jobTable, operationTable, type SearchTable, taskTable } from '../../src/store/search-table.ts'
import { organizationTable, userTable } from '../../src/store/user-tables.ts'

const page = path.resolve('docs/reference/search-fields.md')

const tables: readonly [title: string, table: SearchTable<never>][] = [
  ['Jobs', jobTable(1)],
  ['Tasks', taskTable(1)],
  ['Operations that ended', operationTable(1, 'ended')],
  ['Operations that are open', operationTable(1, 'open')],
  ['Users', userTable('all')],
  ['Organizations', organizationTable('all')],
]

function tableOf([title, { fields }]: (typeof tables)[number]): string {
  const rows = fields.map(
    ({ names, type, indexed, some }) =>
      `| ${names.map(name => `\`${name}\``).join(' ')} | ${type}${some ? ', list' : ''} | ${indexed ? 'indexed' : ''} |`,
  )
  return [`## ${title}`, '', '| names | type | |', '|---|---|---|', ...rows].join('\n')
}

/** The names that the interface and existing consoles use. */
const JOB_NAMES =
  'jobs.id jobs.request.name jobs.request.user jobs.request.parameters jobs.request.active jobs.request.notify jobs.request.callback jobs.request.userNotes jobs.report.execution.activatedDate jobs.report.execution.startedDate jobs.report.execution.finishedDate jobs.report.summary.status jobs.report.summary.total jobs.report.summary.inProgress.total jobs.report.summary.inProgress.scheduled jobs.report.summary.inProgress.pendingExecution jobs.report.summary.inProgress.waitingForConnection jobs.report.summary.inProgress.started jobs.report.summary.finished.total jobs.report.summary.finished.successful jobs.report.summary.finished.error jobs.report.summary.finished.cancelled.total jobs.report.summary.finished.cancelled.byUser jobs.report.summary.finished.cancelled.byEngine jobs.report.summary.finished.cancelled.byTimeout jobs.report.summary.finished.cancelled.byExternalTimeout jobs.report.summary.finished.cancelled.byExternal jobs.report.summary.finished.cancelled.byAlreadyInProgress jobs.report.summary.finishedOutOfTime.total jobs.report.summary.finishedOutOfTime.successful jobs.report.summary.finishedOutOfTime.error jobs.report.summary.errorCode jobs.report.summary.errorDescription jobId taskId operationName jobOperationName jobStatus jobState jobUser jobUserNotes jobCallback jobActivatedDate jobStartedDate jobFinishedDate jobTotal jobEntityTotal jobInProgressTotal jobInProgressScheduled jobInProgressPendingExecution jobInProgressWaitingForConnection jobInProgressStarted jobFinishedTotal jobFinishedSuccessful jobFinishedError jobFinishedCancelledTotal jobFinishedCancelledByUser jobFinishedCancelledByEngine jobFinishedCancelledByTimeout jobFinishedCancelledByExternalTimeout jobFinishedCancelledByExternal jobFinishedOotTotal jobFinishedOotSuccessful jobFinishedOotError jobErrorCode jobErrorDescription taskName taskState job.id job.status'
const OPERATION_NAMES =
  'entityId operationId resourceType operation.name operationStatus operationResult operation.result operationDate operationInitDate operationEndDate operationAttemptCurrent operationAttemptMax operationNotify operationParameters operationDetails operationSteps operationStepName operationStepResult operationStepDescription operationStepResponse operationStepTimestamp operationUserNotes operationTimeoutTimestamp operationScheduleTimestamp applicationEmail organizationName channelName serviceGroupName workgroupName tag'
const TASK_NAMES =
  'tasks.id tasks.name tasks.description tasks.active tasks.state tasks.schedule.start.date tasks.schedule.stop.date tasks.schedule.stop.executions tasks.schedule.repeating.period.each tasks.schedule.repeating.period.unit tasks.schedule.repeating.pattern.time tasks.schedule.repeating.pattern.weekly.days tasks.schedule.repeating.pattern.monthly.day tasks.schedule.repeating.pattern.monthly.months tasks.schedule.repeating.pattern.yearly.day tasks.schedule.repeating.pattern.yearly.months tasks.job.request.name tasks.job.request.target.append.entities tasks.job.request.operationParameters.timeout'

describe('the fields of searches', () => {
  test.each<[string, SearchTable<never>, string]>([
    ['jobs', jobTable(1), JOB_NAMES],
    ['tasks', taskTable(1), TASK_NAMES],
    ['ended operations', operationTable(1, 'ended'), `${OPERATION_NAMES} ${JOB_NAMES}`],
    ['open operations', operationTable(1, 'open'), `${OPERATION_NAMES} ${JOB_NAMES}`],
  ])('of %s are all there', (_, table, names) => {
    const types = fieldTypesOf(table)
    expect(names.split(' ').filter(name => types(name) === undefined)).toEqual([])
  })

  test('are in the reference as they are in the code', async () => {
    const text = await readFile(page, 'utf8')
    const printed = text.replace(
      /(<!-- table -->\n)[\s\S]*?(<!-- end of table -->)/,
      (_, open: string, end: string) => `${open}\n${tables.map(tableOf).join('\n\n')}\n\n${end}`,
    )
    await expect(printed).toMatchFileSnapshot(page)
  })

  test('take no status for one without success to which a device could answer success', () => {
    const leadingThere = OPERATION_LIFECYCLE.filter(({ to }) => STATUSES_WITHOUT_SUCCESS.some(status => status === to))
    expect(new Set(leadingThere.map(({ to }) => to)).size).toBe(STATUSES_WITHOUT_SUCCESS.length)
    for (const { outcome } of leadingThere) {
      expect(outcome).not.toBe('device')
      expect(outcome).not.toEqual(expect.arrayContaining(['SUCCESSFUL']))
    }
  })
})
