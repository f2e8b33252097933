/**
 * The words of the interface that clients in this house share, and what each profile may do: the domain's own, without its rules
 * and without the schemas. Serves: States and transitions, Authentication.
 */
export { may, mayExecute, type Permission, PROFILES, type Profile } from '../domain/caller.ts'
export { RESOURCE_TYPES, type ResourceType } from '../domain/data-model.ts'
export { DELIVERY_STATES } from '../domain/delivery.ts'
export { FINAL_JOB_STATUSES, JOB_STATUSES, type JobStatus } from '../domain/job.ts'
export {
  OPERATION_RESULTS,
  OPERATION_STATUSES,
  type OperationResult,
  type OperationStatus,
} from '../domain/operation.ts'
export { TASK_STATES, type TaskState } from '../domain/task.ts'
