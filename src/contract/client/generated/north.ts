/**
 * Every operation of the client interface with its parameters, body and answer, as types. Generated from the OpenAPI document by
 * `npm run generate:client`; changes belong into the schemas of the contract.
 */

export type ErrorBody = { errors: { /** For programs */ code: string; /** For people */ message: string; /** The fields at fault, by the path under which the client sent them */ context?: { name: string; value?: unknown }[] }[] }

export type AuditLine = { /** ISO-8601 timestamp */ date: string; user?: string; method: string; path: string; address: string; /** The status answered */ status: number; /** The code answered, where it was a refusal */ errorCode?: string; requestId: string }

export type AuditPage = { page: PageView; audit: AuditLine[] }

export type BulkAnswer = { total: number; failed: number; entities: BulkRow[]; errors?: { code: string; message: string; context?: { name: string; value?: unknown }[] }[] }

export type BulkBody = { entities: { [name: string]: unknown }[] }

export type BulkRow = { identifier?: string; statusCode: number; location?: string; /** The key of a device that was created, here and never again */ apiKey?: string; errors?: { code: string; message: string; context?: { name: string; value?: unknown }[] }[] }

export type ClosedAnswer = { operations: string[]; tasks: string[] }

/** How many devices are there */
export type ConnectedCount = { /** Of when these figures are */ date: string; /** Devices provisioned */ devices: number; /** Of those, connected over MQTT */ connected: number; /** Of those, connected or heard of in the last five minutes */ seenLately: number }

/** What is known of the connection of a device. Devices reached over HTTP have none */
export type ConnectionView = { /** Whether it is connected over MQTT now */ connected: boolean; /** When it last connected over MQTT; empty: never */ connectedDate: string; /** When its last connection ended; empty: never */ disconnectedDate: string; /** When it was last heard of, connected or asking for work; empty: never */ seenDate: string }

export type ConnectorFunctionAnswer = { name: string; description?: string; route?: string; version: number; source: string; createdDate: string; updatedDate: string }

export type ConnectorFunctionBody = { name: string; description?: string | null; route?: string | null; /** JavaScript that defines `request(operation, device)`, `response(message, device)` or both */ source: string }

export type ConnectorFunctionChangeBody = { description?: string | null; route?: string | null; /** JavaScript that defines `request(operation, device)`, `response(message, device)` or both */ source?: string; version?: number }

export type DataModelView = { identifier: string; name: string; version: string; organizationName: string; allowedResourceTypes: string[]; categories: { identifier: string; name: string; datastreams: DatastreamView[] }[] }

export type DatastreamView = { identifier: string; name: string; calculated: boolean; /** JSON Schema of the value */ schema: { [name: string]: unknown } }

export type DeliveriesPage = { page: PageView; deliveries: DeliveryView[] }

/** One notification of a job on its way to one receiver */
export type DeliveryView = { /** The `webhook-id` of every attempt */ id: string; jobId: string; event: "jobStarted" | "jobFinished"; channel: "callback" | "mail" | "trap"; /** The callback, the mail address, or the host that traps go to */ receiver: string; /** OPEN is being tried, DELIVERED was taken, GIVEN_UP was refused for 24 hours */ state: "OPEN" | "DELIVERED" | "GIVEN_UP"; /** Attempts so far, those of repeats among them */ attempts: number; /** What HTTP or SMTP answered to the last attempt */ lastStatus?: number; /** Why the last attempt was without success */ lastError?: string; createdDate: string; /** Of the last attempt; empty before the first */ attemptedDate: string; /** When it was delivered or given up; empty while it is open */ finishedDate: string }

/** A named, typed value: {"name":"type","type":"string","value":{"string":"HARDWARE"}} */
export type DeviceParameter = { name: string; type: "string" | "number" | "boolean" | "array" | "object"; value: { string?: string; number?: number; boolean?: boolean; array?: unknown[]; object?: unknown } }

export type DryRunAnswer = { ok: boolean; /** What the function gave */ value?: unknown; /** What would be sent to the device: http, mqtt or a result; of a `request` that can be used */ sends?: unknown; /** The responses that would be taken; of a `response` that can be used */ responses?: unknown[]; fault?: "syntax" | "missing" | "threw" | "time" | "memory" | "value" | "busy" | "unusable"; /** Why it failed, or why what it gave cannot be used */ description?: string; /** What it wrote with console.log */ log: string[] }

export type DryRunBody = { /** JavaScript that defines `request(operation, device)`, `response(message, device)` or both */ source?: string; version?: number; operation?: { [name: string]: unknown }; message?: { [name: string]: unknown }; device?: { [name: string]: unknown } }

export type ExecutionView = { /** When the job was activated; ISO 8601 UTC, empty while there is none */ activatedDate: string; /** When it started; ISO 8601 UTC, empty while there is none */ startedDate: string; /** When it ended; ISO 8601 UTC, empty while there is none */ finishedDate: string }

export type FailureGroup = { status: "PENDING" | "QUEUED" | "WAITING_FOR_ACK" | "WAITING_FOR_CONNECTION" | "IN_PROGRESS" | "FINISHED" | "FINISHED_OUT_OF_TIME" | "TIMEOUT_CANCELLED" | "NOT_ALLOWED" | "CANCELLED"; result: "SUCCESSFUL" | "PARTIAL_SUCCESS" | "OPERATION_PENDING" | "ERROR_IN_PARAM" | "NOT_ALLOWED" | "NOT_SUPPORTED" | "ALREADY_IN_PROGRESS" | "ERROR_PROCESSING" | "ERROR_TIMEOUT" | "TIMEOUT_CANCELLED" | "CANCELLED" | "CANCELLED_INTERNAL" | "UNKNOWN_RESULT"; /** The last step that ended in ERROR; null: none did */ step: string | null; /** What the device said of that step; empty: nothing */ stepDescription: string; /** Of the operation; empty: none */ description: string; /** What they are counted as: byUser tells what somebody cancelled from what failed */ counter: "error" | "byUser" | "byEngine" | "byTimeout" | "byExternalTimeout" | "byExternal" | "byAlreadyInProgress" | "outOfTimeError"; count: number }

/** How the operations of a job ended without success, in groups: failed, timed out or cancelled */
export type FailuresView = { /** Of when these figures are */ date: string; /** The most frequent first, at most 200 */ failures: FailureGroup[]; /** Whether there are further groups */ more: boolean }

export type FoundJobs = { page: PageView; jobs: JobView[] }

export type FoundOperations = { page: PageView; operations: OperationView[] }

export type FoundTasks = { page: PageView; tasks: TaskView[] }

export type GateView = { gate: "notActive" | "targetUnresolved" | "beforeStart" | "paused" | "jobCancelling" | "jobEnded" | "stopReached" | "windowClosed" | "placeInSpread" | "retryPause" | "sameOperationLive" | "deviceAway" | "redeliveryPause" | "withSender" | "awaitingAcknowledgement" | "awaitingAnswer" | "limit"; reason: string; /** The figures behind the reason */ fields: { [name: string]: string | number | boolean | null }; /** The earliest instant at which it opens by itself; null where an event must open it */ liftsAt: string | null }

export type JobBody = { job: { request: JobRequestSchema } }

/** In IDLE any of these; in SCHEDULED, IN_PROGRESS and PAUSED `active` alone */
export type JobChangeBody = { job: { request: { active?: boolean; notify?: boolean; callback?: string; userNotes?: string; schedule?: { /** An instant, or a delay in milliseconds: of a start from activation, of a stop from the start */ start?: { /** ISO 8601, any offset */ date: string } | { /** Milliseconds */ delayed: number | string }; /** An instant, or a delay in milliseconds: of a start from activation, of a stop from the start */ stop?: { /** ISO 8601, any offset */ date: string } | { /** Milliseconds */ delayed: number | string } }; /** What is taken out goes first: what is in both is in the job afterwards */ target?: { append?: { /** At most 100, configurable */ entities?: string[]; /** Entities with parameters of their own; without any an entity has those of the request */ entitiesWithParameters?: { id: string; /** What the device is to do, judged by the JSON Schema of the operation type */ parameters?: { [name: string]: unknown } | DeviceParameter[] }[]; tags?: string[] }; remove?: { /** At most 100, configurable */ entities?: string[]; tags?: string[] } } } } }

export type JobRequestSchema = { /** An operation type of the caller's organization */ name: string; /** What the device is to do, judged by the JSON Schema of the operation type */ parameters?: { [name: string]: unknown } | DeviceParameter[]; /** Exactly one of a list of entities, a tag and a filter; an empty list beside another is none */ target?: TargetSchema; /** false creates the job without launching it */ active?: boolean; schedule?: JobScheduleSchema; /** `timeout` and `ackTimeout` together must be greater than 40 seconds */ operationParameters?: OperationParametersSchema; /** Tell the user by mail and trap */ notify?: boolean; /** Base address of the notifications; empty: none */ callback?: string; userNotes?: string }

export type JobScheduleSchema = { /** An instant, or a delay in milliseconds: of a start from activation, of a stop from the start */ start?: { /** ISO 8601, any offset */ date: string } | { /** Milliseconds */ delayed: number | string }; /** An instant, or a delay in milliseconds: of a start from activation, of a stop from the start */ stop?: { /** ISO 8601, any offset */ date: string } | { /** Milliseconds */ delayed: number | string }; /** When requests may reach devices; each entry a whole number of hours */ window?: WindowSchema; scattering?: ScatteringSchema }

export type JobSummaryView = { status: "IDLE" | "SCHEDULED" | "IN_PROGRESS" | "PAUSED" | "FINISHED" | "FINISHED_WITH_ERRORS" | "CANCELLING_BY_USER" | "CANCELLING_BY_ENGINE" | "CANCELLED" | "TIMEOUT_CANCELLED"; /** Operations in all */ total: number; inProgress: { /** Not finished */ total: number; /** Not launched */ scheduled: number; /** Queued, or waiting for the acknowledgement */ pendingExecution: number; /** Waiting for the device to appear */ waitingForConnection: number; /** Started */ started: number }; finished: { /** In a final state */ total: number; /** Finished successfully */ successful: number; /** Finished with error */ error: number; cancelled: { /** Cancelled, all causes */ total: number; /** By a user or through the API */ byUser: number; /** By the engine */ byEngine: number; /** By the time-out of the operation */ byTimeout: number; /** By a time-out of an external system */ byExternalTimeout: number; /** By an external system */ byExternal: number; /** Because the same operation already ran on the entity */ byAlreadyInProgress: number } }; finishedOutOfTime: { /** Results outside the allowed time */ total: number; /** Of those, successful */ successful: number; /** Of those, failed */ error: number }; /** Only with FINISHED_WITH_ERRORS */ errorCode?: string; /** Only with FINISHED_WITH_ERRORS */ errorDescription?: string }

/** A job */
export type JobView = { id: string; /** The task that made it */ taskId?: string; /** The request, normalised, with `user` */ request: { [name: string]: unknown }; report: { execution: ExecutionView; summary: JobSummaryView; /** What was asked for and has no operation */ target?: { notProvisioned?: string[] | { count: number; first: string[] }; notAllowed?: string[] | { count: number; first: string[] }; duplicated?: string[] | { count: number; first: string[] } }; warnings?: { code: string }[] } }

export type LoginBody = { email: string; password: string; /** Taken and not used: 2FaType is NONE */ "2FaCode"?: unknown }

/** The messages about one operation */
export type MessagesView = { /** What was taken from the device, oldest first */ messages: { date: string; attempt: number; /** The message as it came, cut to its limit */ raw: string }[]; /** Messages about the operation that changed nothing, oldest first, at most 100 */ filed: { date: string; reason: string; raw: string }[] }

export type Model = string | { manufacturer?: string | null; name: string; version?: string | null }

export type NextMoveView = { /** The event, by its name in the lifecycle of operations or jobs */ event: string; words: string; /** When; null where that depends on a person, a device or a free place */ at: string | null }

/** Occurrences of active tasks that are still to come */
export type OccurrencesView = { /** In the order of their dates, at most 2,000, which tasks share where there are more */ occurrences: { taskId: string; /** Of the task; empty: none */ name: string; operationName: string; date: string }[]; /** Of each task of which some were left out, the first of these */ cut: { taskId: string; /** Of the task; empty: none */ name: string; operationName: string; date: string }[]; /** Whether some were left out */ more: boolean }

/** `timeout` and `ackTimeout` together must be greater than 40 seconds */
export type OperationParametersSchema = { /** Milliseconds to wait for the acknowledgement; 0 or absent: no limit */ ackTimeout?: number | string; /** Milliseconds to wait for the end, more than 0 */ timeout?: number | string; /** Retries without acknowledgement or after a time-out */ retries?: number | string; /** Milliseconds between attempts; where the device is taken and it is 0, a second */ retriesDelay?: number | string; /** Results that cause a retry */ retryResultList?: ("SUCCESSFUL" | "PARTIAL_SUCCESS" | "OPERATION_PENDING" | "ERROR_IN_PARAM" | "NOT_ALLOWED" | "NOT_SUPPORTED" | "ALREADY_IN_PROGRESS" | "ERROR_PROCESSING" | "ERROR_TIMEOUT" | "TIMEOUT_CANCELLED" | "CANCELLED" | "CANCELLED_INTERNAL" | "UNKNOWN_RESULT")[] }

export type OperationTypeAnswer = { name: string; title?: string | null; description?: string | null; applicableTo?: ("entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber")[] | null; models?: Model[] | null; /** A JSON Schema of type object, or {"schema": such a one}. Its $schema may name draft-06, draft-07, draft 2019-09 or 2020-12; without one it is read as draft-07. A keyword that its draft would pass over and another knows is refused. format says what is meant and refuses nothing: what must hold is said by a pattern. Patterns run in linear time, without look-around and back-references. A schema may refer into itself, but not to itself */ parameters?: { [name: string]: unknown } | null; steps?: StepDefinition[] | null; profiles?: string[] | null; fromCatalog?: string | null }

export type OperationTypeChangeBody = { name?: string; title?: string | null; description?: string | null; applicableTo?: ("entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber")[] | null; models?: Model[] | null; /** A JSON Schema of type object, or {"schema": such a one}. Its $schema may name draft-06, draft-07, draft 2019-09 or 2020-12; without one it is read as draft-07. A keyword that its draft would pass over and another knows is refused. format says what is meant and refuses nothing: what must hold is said by a pattern. Patterns run in linear time, without look-around and back-references. A schema may refer into itself, but not to itself */ parameters?: { [name: string]: unknown } | null; steps?: StepDefinition[] | null; profiles?: string[] | null; fromCatalog?: string | null }

/** An operation: one job on one entity */
export type OperationView = { operationId: string; jobId: string; /** The entity, also where it has been deleted since */ entityId: string; resourceType: string; /** The operation type */ name: string; parameters: { [name: string]: unknown }; attempts: { /** Attempts at most: retries and one */ total: number; /** The present attempt; 0 before the first launch */ current: number; /** Earlier attempts and what they saw */ history?: PastAttemptView[] }; notify: boolean; execution: ExecutionView; /** Who created the job */ user: string; status: "PENDING" | "QUEUED" | "WAITING_FOR_ACK" | "WAITING_FOR_CONNECTION" | "IN_PROGRESS" | "FINISHED" | "FINISHED_OUT_OF_TIME" | "TIMEOUT_CANCELLED" | "NOT_ALLOWED" | "CANCELLED"; /** OPERATION_PENDING while the operation is open */ result: "SUCCESSFUL" | "PARTIAL_SUCCESS" | "OPERATION_PENDING" | "ERROR_IN_PARAM" | "NOT_ALLOWED" | "NOT_SUPPORTED" | "ALREADY_IN_PROGRESS" | "ERROR_PROCESSING" | "ERROR_TIMEOUT" | "TIMEOUT_CANCELLED" | "CANCELLED" | "CANCELLED_INTERNAL" | "UNKNOWN_RESULT"; /** Free text about the outcome */ description: string; /** When the operation came to be: the activation of its job, or its creation */ date: string; userNotes: string; steps: StepView[] }

export type OrganizationAnswer = { organization: { description?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; name: string } }

export type OrganizationChangeBody = { organization: { description?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; name?: string } }

export type PageView = { /** This page */ number: number; /** Pages in all */ of: number; /** Leads to the next page at the same cost however deep it lies; an addition of this service */ cursor?: string }

export type PastAttemptView = { attempt: number; startedDate: string; finishedDate: string; result: "SUCCESSFUL" | "PARTIAL_SUCCESS" | "OPERATION_PENDING" | "ERROR_IN_PARAM" | "NOT_ALLOWED" | "NOT_SUPPORTED" | "ALREADY_IN_PROGRESS" | "ERROR_PROCESSING" | "ERROR_TIMEOUT" | "TIMEOUT_CANCELLED" | "CANCELLED" | "CANCELLED_INTERNAL" | "UNKNOWN_RESULT"; description?: string; steps: StepView[] }

/** What a job would do. Counts and times, not promises: the sending itself takes time too */
export type PlanView = { target: { /** Entities that would get an operation */ total: number; /** The same by entity type */ resourceTypes: { [name: string]: number }; refusals: { reason: "notProvisioned" | "notAllowed" | "duplicated"; words: string; count: number; /** At most the first 1,000 */ entities: string[] }[] }; /** Why nothing of it would run */ error?: { code: string; message: string }; launch: { /** When the job would start */ startDate: string; /** When it would stop */ stopDate: string | null; /** The first launch */ firstLaunchDate: string | null; /** The last launch */ lastLaunchDate: string | null; /** When the last operation is over, where each uses up its time and none is retried */ expectedEndDate: string; /** The launch curve; hours without launches are left out */ perHour: { /** The full hour, UTC */ date: string; launches: number }[]; /** Launches after the last of these hours */ launchesLater: number; /** Operations that the stop cancels before their launch */ notLaunched: number; /** Operations that the stop may cancel after their launch */ mayNotEnd: number; /** The first windows used; none without a window */ windows: { /** Opens */ opensDate: string; /** Closes */ closesDate: string }[] }; scattering: { /** Open time between start and stop */ effectiveMs: number; /** Kept free at its end */ drainReserveMs: number; /** Open time over which launches are spread */ spreadMs: number; /** null: all at once */ operationsPerSecond: number | null; groupCount?: number; /** Left empty beyond 1,000 groups */ groups?: { /** What the group has in common; null: nothing known */ value: string | null; operations: number; /** Its first launch */ firstLaunchDate: string; /** Its last launch */ lastLaunchDate: string; /** Between the two; null where they fall together */ operationsPerSecond: number | null }[] }; warnings: ({ code: string } & { [name: string]: unknown })[] }

export type ProgressPoint = { date: string; /** Operations that its schedule launches by then; null: not known at that time */ planned: number | null; /** Operations launched by then; null: not known at that time */ launched: number | null; /** Operations ended by then; null: not known at that time */ ended: number | null; /** Of those, with success in time; null: not known at that time */ successful: number | null }

/** The plan of a job against what has happened */
export type ProgressView = { /** Of when these figures are */ date: string; total: number; /** When the job is expected to end as things stand; null: nobody can tell. Of an ended job, its end */ expectedEndDate: string | null; /** What holds everything of it that is not launched, first things first; empty: each waits for its turn */ held: GateView[]; /** When the turn of the last one comes as things stand; null: not known before its start and while it is paused */ lastLaunchDate: string | null; /** In equal steps from its start to its end or expected end */ points: ProgressPoint[] }

export type ScatteringSchema = { /** Percentage of the effective time that operations are spread over */ maxSpread?: number | string; strategy?: { field: "subscription.collected.cellInfo"; /** Dispersion within a group, per cent */ factor?: number | string; /** Operations per second above which the job carries a warning */ warningMaxRate?: number }; warningMaxRate?: number }

export type SearchBody = { /** `{}`; `and`, `or` with an array; `not`; leaves `eq neq like gt lt gte lte in nin exists within`, each `{"field": value}` */ filter?: { [name: string]: unknown }; limit?: { /** Page number, from 1 */ start?: number; size?: number; /** The cursor of an earlier answer in place of start; an addition of this service */ cursor?: string }; sort?: { parameters: { /** Name of a field; docs/reference/search-fields.md lists them */ name: string; type?: "ASCENDING" | "DESCENDING" }[] }; group?: { parameters: { /** Name of a field; docs/reference/search-fields.md lists them */ name: string }[] }; /** The columns of the answer; an alias names the column */ select?: { /** Name of a field; docs/reference/search-fields.md lists them */ name: string; fields?: { field?: string; alias?: string }[] }[] }

export type StepDefinition = { name: string; title?: string | null; description?: string | null; response?: unknown }

/** One stage of an operation, as its device reported it */
export type StepView = { name: string; title?: string; timestamp: string; result: "SUCCESSFUL" | "ERROR" | "SKIPPED" | "NOT_EXECUTED"; description?: string; /** What the device answered to this step */ response?: unknown }

export type SummaryAnswer = { summary: { count: number; summaryGroup: { [name: string]: ValueCounts }[] } | { count: number; [name: string]: ValueCounts | number } }

/** Exactly one of a list of entities, a tag and a filter; an empty list beside another is none */
export type TargetSchema = { append?: { /** At most 100, configurable */ entities?: string[]; /** Entities with parameters of their own; without any an entity has those of the request */ entitiesWithParameters?: { id: string; /** What the device is to do, judged by the JSON Schema of the operation type */ parameters?: { [name: string]: unknown } | DeviceParameter[] }[]; tags?: string[]; /** An inline filter; {} matches every entity */ filter?: { [name: string]: unknown } }; /** An inline filter; {} matches every entity */ filter?: { [name: string]: unknown } }

export type TaskAnswer = { task: TaskView }

export type TaskBody = { task: { /** Unique; a UUID when left out */ id?: string; name?: string; description?: string; /** When false, no jobs are launched */ active?: boolean; schedule?: TaskScheduleSchema; job: { request: JobRequestSchema } } }

/** `schedule` is replaced as a whole; what is given of `job.request` replaces that part of the template */
export type TaskChangeBody = { task: { name?: string; description?: string; /** When false, no jobs are launched */ active?: boolean; schedule?: TaskScheduleSchema; job?: { request: { [name: string]: unknown } } } }

export type TaskEntitiesPage = { page: PageView; entities: { id: string; resourceType: "entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber" }[] }

export type TaskJobsPage = { page: PageView; jobs: JobView[]; job: JobView[] }

export type TaskScheduleSchema = { /** First execution; left out, now */ start?: { date: string }; stop?: { date: string } | { executions: number }; /** A period or a pattern; left out, one execution */ repeating?: { period: { each: number; unit: "SECONDS" | "MINUTES" | "HOURS" | "DAYS" } } | { pattern: { time?: string; weekly?: { days: ("MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT" | "SUN")[] }; monthly?: { /** A month without this day is skipped */ day: number; months: ("JAN" | "FEB" | "MAR" | "APR" | "MAY" | "JUN" | "JUL" | "AUG" | "SEP" | "OCT" | "NOV" | "DEC")[] }; yearly?: { /** A month without this day is skipped */ day: number; months?: ("JAN" | "FEB" | "MAR" | "APR" | "MAY" | "JUN" | "JUL" | "AUG" | "SEP" | "OCT" | "NOV" | "DEC")[]; month?: "JAN" | "FEB" | "MAR" | "APR" | "MAY" | "JUN" | "JUL" | "AUG" | "SEP" | "OCT" | "NOV" | "DEC" } } } }

export type TaskView = { id: string; name?: string; description?: string; /** Who created the task */ user: string; active: boolean; state: "ACTIVE" | "INACTIVE" | "FINISHED" | "CANCELLING" | "CANCELLED"; /** The same as state */ status: "ACTIVE" | "INACTIVE" | "FINISHED" | "CANCELLING" | "CANCELLED"; schedule: { [name: string]: unknown }; job: { request: { [name: string]: unknown } }; report: { /** Jobs started or cancelled */ executions: number; /** Occurrences that were missed and not made up for */ skipped: number; /** The next occurrence; empty where there is none */ nextDate: string } }

export type UserAnswer = { user: { name?: string | null; surname?: string | null; description?: string | null; workgroup?: string | null; /** The organization: that of the user, and where root makes a user the one in which to make it */ domain?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; forcePasswordChange?: boolean; email: string; profile: "viewer" | "advanced" | "admin_domain" | "super_admin_domain" | "admin" | "root"; apiKey?: string; jwt?: string; "2FaType": "NONE" } }

export type UserBody = { user: { name?: string | null; surname?: string | null; description?: string | null; workgroup?: string | null; /** The organization: that of the user, and where root makes a user the one in which to make it */ domain?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; forcePasswordChange?: boolean; email: string; password: string; profile: "viewer" | "advanced" | "admin_domain" | "super_admin_domain" | "admin" | "root"; apiKey?: string } }

export type UserChangeBody = { user: { name?: string | null; surname?: string | null; description?: string | null; workgroup?: string | null; /** The organization: that of the user, and where root makes a user the one in which to make it */ domain?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; forcePasswordChange?: boolean; email?: string; password?: string; profile?: "viewer" | "advanced" | "admin_domain" | "super_admin_domain" | "admin" | "root"; apiKey?: string | null } }

export type ValueCounts = { /** Rows that have a value */ count: number; list: { name: string; count: number }[] }

/** Every counter recounted from the rows, and the rows judged by what must always hold */
export type VerifyView = { /** Jobs verified by this call */ jobs: number; /** Empty where all is as it must be */ differences: { /** counter, or the fault found in rows */ kind: string; jobId: string; /** The counter that is wrong */ counter?: string; /** What the counter says */ counted?: number; /** What the rows say */ rows?: number; /** Operations of the job with this fault */ operations?: number; /** One of them */ operationId?: string }[]; /** Ask again with this as `after`; absent once all jobs are verified */ next?: string }

/** Why an operation is where it is, and what will move it next */
export type WhyView = { operationId: string; jobId: string; status: "PENDING" | "QUEUED" | "WAITING_FOR_ACK" | "WAITING_FOR_CONNECTION" | "IN_PROGRESS" | "FINISHED" | "FINISHED_OUT_OF_TIME" | "TIMEOUT_CANCELLED" | "NOT_ALLOWED" | "CANCELLED"; attempts: { total: number; current: number }; /** The instant that is explained */ date: string; /** What holds it, first things first; empty when it has ended */ held: GateView[]; /** What will move it next, or may */ next: NextMoveView[] }

/** When requests may reach devices; each entry a whole number of hours */
export type WindowSchema = { weekly: { /** Days on which the window opens; left out, every day */ days?: ("MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT" | "SUN")[]; daily: { /** hh:mm:ss with Z or an offset */ start: string; /** hh:mm:ss with Z or an offset */ stop: string } }[]; timezone?: string } | { /** Days on which the window opens; left out, every day */ days?: ("MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT" | "SUN")[]; /** hh:mm:ss with Z or an offset */ start: string; /** hh:mm:ss with Z or an offset */ stop: string; timezone?: string }

/** What each operation is given, and what it answers. */
export interface Operations {
  /** Log in */
  "POST /provision/users/login": { body: LoginBody; answer: UserAnswer }
  /** Create a user */
  "POST /provision/users": { body: UserBody; answer: UserAnswer }
  /** Read a user */
  "GET /provision/users/{email}": { path: { email: string }; answer: UserAnswer }
  /** Change a user */
  "PUT /provision/users/{email}": { path: { email: string }; header?: { "x-apipass"?: string | undefined }; body: UserChangeBody; answer: UserAnswer }
  /** Remove a user */
  "DELETE /provision/users/{email}": { path: { email: string }; answer: undefined }
  /** Create an organization */
  "POST /provision/organizations": { body: OrganizationAnswer; answer: OrganizationAnswer }
  /** Read an organization */
  "GET /provision/organizations/{name}": { path: { name: string }; answer: OrganizationAnswer }
  /** Change an organization */
  "PUT /provision/organizations/{name}": { path: { name: string }; body: OrganizationChangeBody; answer: OrganizationAnswer }
  /** Remove an organization */
  "DELETE /provision/organizations/{name}": { path: { name: string }; answer: undefined }
  /** The catalog: what types can be cloned from */
  "GET /operationTypes/catalog": { answer: OperationTypeAnswer[] }
  /** One type of the catalog */
  "GET /operationTypes/catalog/{operationName}": { path: { operationName: string }; answer: OperationTypeAnswer }
  /** The types of an organization */
  "GET /operationTypes/provision/organizations/{organization}": { path: { organization: string }; answer: OperationTypeAnswer[] | undefined }
  /** Create a type, from the catalog or from scratch */
  "POST /operationTypes/provision/organizations/{organization}": { path: { organization: string }; body: OperationTypeAnswer; answer: OperationTypeAnswer }
  /** One type of an organization */
  "GET /operationTypes/provision/organizations/{organization}/{operationName}": { path: { organization: string; operationName: string }; answer: OperationTypeAnswer }
  /** Change a type */
  "PUT /operationTypes/provision/organizations/{organization}/{operationName}": { path: { organization: string; operationName: string }; body: OperationTypeChangeBody; answer: OperationTypeAnswer }
  /** Remove a type */
  "DELETE /operationTypes/provision/organizations/{organization}/{operationName}": { path: { organization: string; operationName: string }; answer: ClosedAnswer }
  /** Search types */
  "POST /search/operationTypes": { body: SearchBody; answer: OperationTypeAnswer[] | undefined }
  /** Search types, at its other address */
  "POST /operationTypes/search": { body: SearchBody; answer: OperationTypeAnswer[] | undefined }
  /** The connector functions of an organization */
  "GET /connectorFunctions/provision/organizations/{organization}": { path: { organization: string }; answer: ConnectorFunctionAnswer[] | undefined }
  /** Write a connector function */
  "POST /connectorFunctions/provision/organizations/{organization}": { path: { organization: string }; body: ConnectorFunctionBody; answer: ConnectorFunctionAnswer }
  /** One connector function */
  "GET /connectorFunctions/provision/organizations/{organization}/{functionName}": { path: { organization: string; functionName: string }; query?: { version?: number | undefined }; answer: ConnectorFunctionAnswer }
  /** Change a connector function */
  "PUT /connectorFunctions/provision/organizations/{organization}/{functionName}": { path: { organization: string; functionName: string }; body: ConnectorFunctionChangeBody; answer: ConnectorFunctionAnswer }
  /** Remove a connector function */
  "DELETE /connectorFunctions/provision/organizations/{organization}/{functionName}": { path: { organization: string; functionName: string }; answer: undefined }
  /** The versions of a connector function, newest first */
  "GET /connectorFunctions/provision/organizations/{organization}/{functionName}/versions": { path: { organization: string; functionName: string }; answer: { version: number; source: string; user: string; date: string }[] }
  /** Try a connector function on a sample */
  "POST /connectorFunctions/provision/organizations/{organization}/{functionName}/dryRun": { path: { organization: string; functionName: string }; body: DryRunBody; answer: DryRunAnswer }
  /** A page of the audit log, newest first, or all of it as CSV */
  "GET /audit": { query?: { /** Page number; absent, 0 and 1 mean the first */ start?: number | undefined; size?: number | undefined; /** Email of who did it */ user?: string | undefined; /** ISO-8601 timestamp; lines from then on */ from?: string | undefined; /** ISO-8601 timestamp; lines before it */ to?: string | undefined }; answer: AuditPage | undefined }
  /** Create an entity: device */
  "POST /provision/organizations/{organization}/devices": { path: { organization: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Read an entity: device */
  "GET /provision/organizations/{organization}/devices/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: { [name: string]: unknown } }
  /** Replace an entity: device */
  "PUT /provision/organizations/{organization}/devices/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Change some values of an entity; null removes one: device */
  "PATCH /provision/organizations/{organization}/devices/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Delete an entity and end what runs on it: device */
  "DELETE /provision/organizations/{organization}/devices/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: undefined }
  /** Create an entity: asset */
  "POST /provision/organizations/{organization}/assets": { path: { organization: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Read an entity: asset */
  "GET /provision/organizations/{organization}/assets/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: { [name: string]: unknown } }
  /** Replace an entity: asset */
  "PUT /provision/organizations/{organization}/assets/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Change some values of an entity; null removes one: asset */
  "PATCH /provision/organizations/{organization}/assets/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Delete an entity and end what runs on it: asset */
  "DELETE /provision/organizations/{organization}/assets/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: undefined }
  /** Create an entity: subscription */
  "POST /provision/organizations/{organization}/subscriptions": { path: { organization: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Read an entity: subscription */
  "GET /provision/organizations/{organization}/subscriptions/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: { [name: string]: unknown } }
  /** Replace an entity: subscription */
  "PUT /provision/organizations/{organization}/subscriptions/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Change some values of an entity; null removes one: subscription */
  "PATCH /provision/organizations/{organization}/subscriptions/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Delete an entity and end what runs on it: subscription */
  "DELETE /provision/organizations/{organization}/subscriptions/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: undefined }
  /** Create an entity: subscriber */
  "POST /provision/organizations/{organization}/subscribers": { path: { organization: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Read an entity: subscriber */
  "GET /provision/organizations/{organization}/subscribers/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: { [name: string]: unknown } }
  /** Replace an entity: subscriber */
  "PUT /provision/organizations/{organization}/subscribers/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Change some values of an entity; null removes one: subscriber */
  "PATCH /provision/organizations/{organization}/subscribers/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Delete an entity and end what runs on it: subscriber */
  "DELETE /provision/organizations/{organization}/subscribers/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: undefined }
  /** Create an entity: commsModule */
  "POST /provision/organizations/{organization}/communicationsModules": { path: { organization: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Read an entity: commsModule */
  "GET /provision/organizations/{organization}/communicationsModules/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: { [name: string]: unknown } }
  /** Replace an entity: commsModule */
  "PUT /provision/organizations/{organization}/communicationsModules/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Change some values of an entity; null removes one: commsModule */
  "PATCH /provision/organizations/{organization}/communicationsModules/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Delete an entity and end what runs on it: commsModule */
  "DELETE /provision/organizations/{organization}/communicationsModules/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: undefined }
  /** Create an entity: entity */
  "POST /provision/organizations/{organization}/entities": { path: { organization: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Read an entity: entity */
  "GET /provision/organizations/{organization}/entities/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: { [name: string]: unknown } }
  /** Replace an entity: entity */
  "PUT /provision/organizations/{organization}/entities/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Change some values of an entity; null removes one: entity */
  "PATCH /provision/organizations/{organization}/entities/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: { [name: string]: unknown }; answer: undefined }
  /** Delete an entity and end what runs on it: entity */
  "DELETE /provision/organizations/{organization}/entities/{identifier}": { path: { organization: string; identifier: string }; query?: { /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; answer: undefined }
  /** Give a device a new API key */
  "POST /provision/organizations/{organization}/devices/{identifier}/key": { path: { organization: string; identifier: string }; answer: undefined }
  /** Take a device its API key */
  "DELETE /provision/organizations/{organization}/devices/{identifier}/key": { path: { organization: string; identifier: string }; answer: undefined }
  /** How many devices there are, and how many are connected */
  "GET /provision/organizations/{organization}/connectedDevices": { path: { organization: string }; answer: ConnectedCount }
  /** What is known of the connection of a device */
  "GET /provision/organizations/{organization}/devices/{identifier}/connection": { path: { organization: string; identifier: string }; answer: ConnectionView }
  /** Create a job */
  "POST /operation/jobs": { query?: { /** Restricts a filter or a tag to one entity type */ resourceType?: "entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber" | undefined }; header?: { /** The same key within 24 hours answers 201 with the job that it made, as it is now */ "idempotency-key"?: string | undefined }; body: JobBody; answer: JobView }
  /** Read a job */
  "GET /operation/jobs/{jobId}": { path: { jobId: string }; answer: JobView }
  /** Change a job, pause or resume it */
  "PUT /operation/jobs/{jobId}": { path: { jobId: string }; body: JobChangeBody; answer: JobView }
  /** Cancel a job */
  "DELETE /operation/jobs/{jobId}": { path: { jobId: string }; answer: JobView }
  /** Follow a job: its changes, and those of a page of its operations, as server-sent events */
  "GET /operation/jobs/{jobId}/events": { path: { jobId: string }; query?: { /** Whether operations are told, too */ operations?: boolean | undefined; /** Page of the operations that are followed */ start?: number | undefined; /** Operations of that page */ size?: number | undefined }; header?: { /** The id of the last event of a stream that broke off: it is gone on from */ "last-event-id"?: string | undefined }; answer: string }
  /** Follow all jobs of the caller's organization as server-sent events */
  "GET /operation/events": { query?: { /** Whether operations are told, too */ operations?: boolean | undefined }; header?: { /** The id of the last event of a stream that broke off: it is gone on from */ "last-event-id"?: string | undefined }; answer: string }
  /** Follow all jobs of an organization as server-sent events */
  "GET /operation/organizations/{organization}/events": { path: { organization: string }; query?: { /** Whether operations are told, too */ operations?: boolean | undefined }; header?: { /** The id of the last event of a stream that broke off: it is gone on from */ "last-event-id"?: string | undefined }; answer: string }
  /** Plan a job without running it */
  "POST /operation/jobs/plan": { query?: { /** Restricts a filter or a tag to one entity type */ resourceType?: "entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber" | undefined }; body: JobBody; answer: PlanView }
  /** A page of a job's operations, or all of them as CSV */
  "GET /operation/jobs/{jobId}/operations": { path: { jobId: string }; query?: { /** Page number; absent, 0 and 1 mean the first */ start?: number | undefined; /** Items of a page */ size?: number | undefined; /** The cursor of an earlier page, in place of start */ cursor?: string | undefined }; answer: FoundOperations | undefined }
  /** One operation */
  "GET /operation/jobs/{jobId}/operations/{operationId}": { path: { jobId: string; operationId: string }; answer: OperationView }
  /** Why an operation is where it is, and what will move it next */
  "GET /operation/jobs/{jobId}/operations/{operationId}/why": { path: { jobId: string; operationId: string }; answer: WhyView }
  /** How the operations of a job ended without success, in groups, or these groups as CSV */
  "GET /operation/jobs/{jobId}/failures": { path: { jobId: string }; answer: FailuresView }
  /** The plan of a job against what has happened */
  "GET /operation/jobs/{jobId}/progress": { path: { jobId: string }; answer: ProgressView }
  /** The messages about one operation, as they came */
  "GET /operation/jobs/{jobId}/operations/{operationId}/messages": { path: { jobId: string; operationId: string }; answer: MessagesView }
  /** Recount the jobs of the organization from their rows */
  "GET /operation/verify": { query?: { /** The `next` of the call before */ after?: string | undefined; size?: number | undefined }; answer: VerifyView }
  /** Create a task */
  "POST /operation/tasks": { query?: { /** Restricts a filter or a tag to one entity type */ resourceType?: "entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber" | undefined }; body: TaskBody; answer: TaskAnswer }
  /** Read a task */
  "GET /operation/tasks/{taskId}": { path: { taskId: string }; answer: TaskAnswer }
  /** Change what comes of a task */
  "PUT /operation/tasks/{taskId}": { path: { taskId: string }; query?: { /** Restricts a filter or a tag to one entity type */ resourceType?: "entity.device" | "entity.asset" | "entity.commsModule" | "entity.subscription" | "entity.subscriber" | undefined }; body: TaskChangeBody; answer: TaskAnswer }
  /** Cancel a task */
  "DELETE /operation/tasks/{taskId}": { path: { taskId: string }; answer: TaskAnswer }
  /** The jobs of a task, newest first */
  "GET /operation/tasks/{taskId}/jobs": { path: { taskId: string }; query?: { /** Page number; absent, 0 and 1 mean the first */ start?: number | undefined; /** Items of a page */ size?: number | undefined }; answer: TaskJobsPage | undefined }
  /** What the target of a task resolves to now */
  "GET /operation/tasks/{taskId}/entities": { path: { taskId: string }; query?: { /** Page number; absent, 0 and 1 mean the first */ start?: number | undefined; /** Items of a page */ size?: number | undefined }; answer: TaskEntitiesPage | undefined }
  /** What the target of a task resolves to now */
  "GET /tasks/{taskId}/entities": { path: { taskId: string }; query?: { /** Page number; absent, 0 and 1 mean the first */ start?: number | undefined; /** Items of a page */ size?: number | undefined }; answer: TaskEntitiesPage | undefined }
  /** When active tasks will make jobs */
  "GET /operation/taskOccurrences": { query?: { /** ISO 8601; now when left out */ from?: string | undefined; /** ISO 8601; a week after `from` when left out, at most 400 days */ to?: string | undefined }; answer: OccurrencesView }
  /** A page of the log of deliveries, latest first, or all of it as CSV */
  "GET /deliveries": { query?: { /** Page number; absent, 0 and 1 mean the first */ start?: number | undefined; /** Items of a page */ size?: number | undefined; /** Those of one job, by its id */ job?: string | undefined; /** Those in one state */ state?: "OPEN" | "DELIVERED" | "GIVEN_UP" | undefined }; answer: DeliveriesPage | undefined }
  /** One delivery */
  "GET /deliveries/{deliveryId}": { path: { deliveryId: string }; answer: DeliveryView }
  /** Deliver once more what ended, or at once what waits for its next attempt */
  "POST /deliveries/{deliveryId}/repeat": { path: { deliveryId: string }; answer: DeliveryView }
  /** Search jobs */
  "POST /search/jobs": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundJobs | undefined }
  /** Count jobs by value */
  "POST /search/jobs/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search tasks */
  "POST /search/tasks": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundTasks | undefined }
  /** Count tasks by value */
  "POST /search/tasks/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/operations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/operations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/devices/operations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/devices/operations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/assets/operations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/assets/operations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/subscribers/operations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/subscribers/operations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/subscriptions/operations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/subscriptions/operations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/communicationsModules/operations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/communicationsModules/operations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search operations */
  "POST /search/entities/operations/history": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: FoundOperations | undefined }
  /** Count operations by value */
  "POST /search/entities/operations/history/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search entities */
  "POST /search/entities": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; entities: { [name: string]: unknown }[] } | undefined }
  /** Count entities by value */
  "POST /search/entities/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search devices */
  "POST /search/devices": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; devices: { [name: string]: unknown }[] } | undefined }
  /** Count devices by value */
  "POST /search/devices/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search devices */
  "POST /search/entities/devices": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; devices: { [name: string]: unknown }[] } | undefined }
  /** Count devices by value */
  "POST /search/entities/devices/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search entities */
  "POST /search/entities/assets": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; entities: { [name: string]: unknown }[] } | undefined }
  /** Count entities by value */
  "POST /search/entities/assets/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search entities */
  "POST /search/entities/subscribers": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; entities: { [name: string]: unknown }[] } | undefined }
  /** Count entities by value */
  "POST /search/entities/subscribers/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search entities */
  "POST /search/entities/subscriptions": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; entities: { [name: string]: unknown }[] } | undefined }
  /** Count entities by value */
  "POST /search/entities/subscriptions/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search entities */
  "POST /search/entities/communicationsModules": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: { page: PageView; entities: { [name: string]: unknown }[] } | undefined }
  /** Count entities by value */
  "POST /search/entities/communicationsModules/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search users */
  "POST /search/users": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: { page: PageView; users: { name?: string | null; surname?: string | null; description?: string | null; workgroup?: string | null; /** The organization: that of the user, and where root makes a user the one in which to make it */ domain?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; forcePasswordChange?: boolean; email: string; profile: "viewer" | "advanced" | "admin_domain" | "super_admin_domain" | "admin" | "root"; apiKey?: string; jwt?: string; "2FaType": "NONE" }[] } | undefined }
  /** Count users by value */
  "POST /search/users/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search organizations */
  "POST /search/organizations": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: { page: PageView; organizations: { description?: string | null; countryCode?: string | null; langCode?: string | null; timezone?: string | null; name: string }[] } | undefined }
  /** Count organizations by value */
  "POST /search/organizations/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** Search datamodels */
  "POST /search/datamodels": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: { page: PageView; datamodels: DataModelView[] } | undefined }
  /** Count datamodels by value */
  "POST /search/datamodels/summary": { query?: { /** false: `like` ignores case */ caseSensitive?: boolean | undefined }; body: SearchBody; answer: SummaryAnswer }
  /** The basic types as a JSON Schema document */
  "GET /resources/schemaTypes/og_basic_types": { answer: { [name: string]: unknown } }
  /** Create, replace, patch or delete many entities */
  "POST /provision/organizations/{organization}/bulk/entities": { path: { organization: string }; query: { /** What is done with every row */ action: "CREATE" | "UPDATE" | "PATCH" | "DELETE"; /** true: a map from id to value box; else the same tree as nested objects */ flattened?: boolean | undefined }; body: BulkBody | string; answer: BulkAnswer }
}
