/** What jobs ask of operation types: whether there is one, who may run it, and on what. Decides nothing. */
import { mayExecute } from '../domain/caller.ts'
import { modelNames } from '../domain/operation-type.ts'
import type { ExecutableType } from '../engine/job-judging.ts'
import { judgeParameters } from '../engine/parameter-judge.ts'
import { decidingProfile } from '../engine/task-occurrences.ts'
import type { Queryable } from '../store/database.ts'
import type { StoredJob } from '../store/jobs.ts'
import { readOperationType } from '../store/operation-types.ts'
import { currentProfile, readTaskOfJob } from '../store/tasks.ts'

/** A type of an organization as jobs and tasks need it; undefined where it has none of this name. */
export async function findType(db: Queryable, organization: number, name: string): Promise<ExecutableType | undefined> {
  const type = await readOperationType(db, organization, name)
  if (!type) return undefined
  return {
    name,
    profiles: type.profiles ?? null,
    applicability: { resourceTypes: type.applicableTo, models: modelNames(type.models) },
    judgeParameters: (parameters, field) => judgeParameters(type, parameters, field),
  }
}

/** What a job may run on now; nothing where its type is gone, or where the user of its task may no longer run it. */
export async function applicabilityOf(
  db: Queryable,
  job: StoredJob,
): Promise<ExecutableType['applicability'] | undefined> {
  const type = await findType(db, job.organization, job.name)
  if (!type || job.task === null) return type?.applicability
  const task = await readTaskOfJob(db, job.job)
  if (!task) return undefined
  const profile = decidingProfile(task, await currentProfile(db, task.userEmail, task.organization))
  return mayExecute(profile, type.profiles) ? type.applicability : undefined
}
