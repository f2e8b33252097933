/**
 * Judges what a client asks of a job beside its form: whether the operation type exists and may be run, and whether parameters and
 * filter suit it. Stores nothing. Serves: Job request, Operation type.
 */
import { type Caller, mayExecute } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import type { JobRequest } from '../domain/job.ts'
import { filterOf, usesRequestParameters } from '../domain/target-selection.ts'
import type { Transaction } from '../store/database.ts'
import type { Applicability } from '../store/targets.ts'
import type { FilterCompiler } from './job-targets.ts'

/** What jobs need to know of an operation type. */
export interface ExecutableType {
  readonly name: string
  readonly profiles: readonly string[] | null
  readonly applicability: Applicability
  /** validates parameters and fills in defaults; throws a DroverError that names the fields within `field`, where the client sent them */
  judgeParameters(parameters: Readonly<Record<string, unknown>>, field: string): Record<string, unknown>
}

export interface JobJudgingParts {
  readonly findType: (db: Transaction, organization: number, name: string) => Promise<ExecutableType | undefined>
  /** throws a DroverError where a filter is wrong */
  readonly compile: FilterCompiler
}

export interface JobJudging {
  /** The operation type of a name; throws where there is none, or where the caller may not run it. */
  executable(tx: Transaction, caller: Caller, name: string): Promise<ExecutableType>
  /**
   * The request with its parameters judged and completed; throws where they, or the filter, do not suit. Its own are left as they are
   * where each of its entities has others.
   */
  judged(tx: Transaction, caller: Caller, type: ExecutableType, request: JobRequest): Promise<JobRequest>
}

/** Judges requests that clients send under a path, by which refusals name their fields. */
export function createJobJudging({ findType, compile }: JobJudgingParts, at = 'job.request'): JobJudging {
  async function executable(tx: Transaction, caller: Caller, name: string): Promise<ExecutableType> {
    const type = await findType(tx, caller.organization, name)
    if (!type) throw new DroverError('noOperationType', [{ name: `${at}.name`, value: name }])
    if (!mayExecute(caller.profile, type.profiles)) throw new DroverError('forbidden')
    return type
  }

  async function judged(
    tx: Transaction,
    caller: Caller,
    type: ExecutableType,
    request: JobRequest,
  ): Promise<JobRequest> {
    const { append } = request.target
    const found = filterOf(request.target)
    if (found) await compile(tx, caller.organization, found.filter, { path: `${at}.target.${found.path}` })
    const used = usesRequestParameters(request.target)
    const parameters = used ? type.judgeParameters(request.parameters, `${at}.parameters`) : request.parameters
    if (!append?.entitiesWithParameters) return { ...request, parameters }
    const entitiesWithParameters = append.entitiesWithParameters.map((each, index) => {
      if (each.parameters === undefined) return each
      const path = `${at}.target.append.entitiesWithParameters[${index}].parameters`
      return { id: each.id, parameters: type.judgeParameters(each.parameters, path) }
    })
    return { ...request, parameters, target: { ...request.target, append: { ...append, entitiesWithParameters } } }
  }

  return { executable, judged }
}
