/**
 * One operation in memory while a batch is decided: what happens to it is applied in order, and what it has become is written as
 * one row. Refuses to touch the database.
 */
import type { Counter } from '../domain/counters.ts'
import type { Flow } from '../domain/flow.ts'
import type { OperationKey } from '../domain/identity.ts'
import { keepMessage } from '../domain/kept-message.ts'
import { type Decision, decide, type OperationEvent, type OperationResult, phaseOf } from '../domain/operation.ts'
import {
  deviceResult,
  nameObservation,
  nameWord,
  type Observation,
  type OperationRules,
  type OperationState,
} from '../domain/operation-event.ts'
import { mergeSteps, type ReportedStep } from '../domain/step.ts'
import type { EndedOperationRow } from '../store/ended-operations.ts'
import type { PastAttempt } from '../store/operation-words.ts'
import type { OperationRow } from '../store/operations.ts'

/** What a device said of an operation. */
export interface Word {
  readonly resultCode?: string | undefined
  readonly description?: string | undefined
  readonly steps: readonly ReportedStep[]
  /** the message's own time, epoch ms */
  readonly timestamp?: number | undefined
  readonly raw?: string | undefined
  /** whether an acknowledgement says more than what it is about */
  readonly saysMore?: boolean | undefined
}

/** Something that happened to one operation. */
export interface Happening {
  readonly key: OperationKey
  readonly word?: Word
  readonly seen?: Observation
  /** what is known of it in words, or which way it went */
  readonly description?: string
  readonly flow?: Flow
  /** of a sender's report: the launch it is about, epoch ms */
  readonly launchedAt?: number
  /** of a request that was sent: when it was handed to its way */
  readonly handedAt?: Date
  /** of a device that has connected again: when */
  readonly connectedAt?: Date
  /** the node that takes a request in hand, or that is said to have lost it */
  readonly node?: number
  /** of a hand-out, again or instead: what was heard of since is not handed out */
  readonly silentSince?: Date
}

/** How the world answers a happening: taken (also where it changed nothing), filed as a stray, or nothing to answer to. */
export type Answer = 'taken' | 'stray' | 'unknown'

/** What a batch has to do about an operation beside writing it. */
export interface Consequences {
  enqueue: boolean
  retry: boolean
  deadline: boolean
}

/** What a retried attempt came to, where the device did not say. */
const OBSERVED_RESULTS: Partial<Record<Observation, OperationResult>> = {
  deadlineOver: 'ERROR_TIMEOUT',
  unreachable: 'ERROR_TIMEOUT',
  deviceFailed: 'ERROR_PROCESSING',
  deviceRefused: 'NOT_SUPPORTED',
  slotTaken: 'ALREADY_IN_PROGRESS',
}

/** An open operation on its way through a batch. */
export class OperationDraft {
  readonly before: OperationRow
  readonly row: OperationRow
  readonly rules: OperationRules
  readonly jobClosing: boolean
  /** set once it has ended */
  end: { result: OperationResult; counter: Counter } | null = null
  changed = false
  readonly consequences: Consequences = { enqueue: false, retry: false, deadline: false }

  constructor(before: OperationRow, rules: OperationRules, jobClosing: boolean) {
    this.before = before
    this.row = { ...before }
    this.rules = rules
    this.jobClosing = jobClosing
  }

  state(): OperationState {
    const everLaunched = this.row.startedAt !== null
    const phase = phaseOf(this.row.status, everLaunched)
    return { phase, attempt: this.row.attempt, everLaunched, jobClosing: this.jobClosing }
  }

  /** Applies a happening; throws where the lifecycle has no row for it. */
  apply(happening: Happening, now: Date): Answer {
    const { word, seen } = happening
    if (isPast(happening, this.row, now)) return 'taken'
    const state = this.state()
    const event = word
      ? nameWord(state, this.rules, { resultCode: word.resultCode, steps: word.steps.length })
      : nameObservation(state, this.rules, seen!)
    if (event === undefined) return 'unknown'
    const result = word?.resultCode === undefined ? undefined : deviceResult(word.resultCode)
    const decision = decide(state.phase, event, result)
    const outcome = result ?? (seen && OBSERVED_RESULTS[seen]) ?? 'ERROR_TIMEOUT'
    const swallowed = this.#maySwallow(happening)
    this.#carryOut(event, decision, happening, outcome, now)
    return swallowed ? this.apply({ key: happening.key, seen: 'reconnected' }, now) : 'taken'
  }

  /** Whether a request went over MQTT to a device that has connected again since: it may have gone with the connection before. */
  #maySwallow({ seen, flow, handedAt }: Happening): boolean {
    const { status, heardAt } = this.row
    if (seen !== 'sent' || flow !== 'mqtt' || status !== 'QUEUED') return false
    return heardAt !== null && handedAt !== undefined && heardAt >= handedAt
  }

  #carryOut(
    event: OperationEvent,
    decision: Decision,
    happening: Happening,
    outcome: OperationResult,
    now: Date,
  ): void {
    const { row, rules } = this
    const { word } = happening
    const between = this.state().phase === 'BETWEEN_ATTEMPTS'
    const isHandOut = event === 'handedOut' || event === 'askedInstead'
    const takenUp = isHandOut || (event === 'resent' && row.status === 'QUEUED')
    // Nothing else is heard of a device while its request is under way.
    const cameBack = event === 'reconnected' && row.status === 'QUEUED' ? (happening.connectedAt ?? null) : null
    if (decision.status !== row.status || decision.effects.length > 0 || takenUp || cameBack) this.changed = true
    if (decision.effects.includes('enqueue') || decision.effects.includes('retryLater')) row.sender = null
    if (event === 'launch' || takenUp) row.sender = happening.node ?? null
    if (decision.effects.includes('keepSteps') && word) this.#keepWord(word, between, now)

    for (const effect of decision.effects) {
      if (effect === 'awaitAcknowledgement') row.deadlineAt = after(now, rules.ackTimeoutMs)
      if (effect === 'awaitAnswer' && rules.ackTimeoutMs === 0) row.deadlineAt ??= after(now, rules.timeoutMs)
      if (effect === 'awaitEnd' && (rules.ackTimeoutMs > 0 || row.deadlineAt === null)) {
        row.deadlineAt = after(now, rules.timeoutMs)
      }
      if (effect === 'enqueue') this.consequences.enqueue = true
      if (effect === 'retryLater') this.#retryLater(event, happening, outcome, now)
    }
    if (event === 'launch') {
      row.attempt += 1
      row.startedAt ??= now
      row.launchedAt = laterThan(row.launchedAt, now)
      row.flow = null
    }
    if (event === 'launch' || (takenUp && !isHandOut)) row.heardAt = null
    if (cameBack) row.heardAt = cameBack
    if (event === 'sent' || isHandOut || word) row.heardAt = laterThan(row.heardAt, now)
    if (happening.flow) row.flow = happening.flow
    row.status = decision.status
    this.consequences.deadline = row.deadlineAt !== null && row.deadlineAt !== this.before.deadlineAt
    if (decision.result && decision.counter) {
      this.end = { result: decision.result, counter: decision.counter }
      if (between) this.#takeBackPastAttempt()
      const description = word ? word.description : happening.description
      if (description !== undefined) row.description = description
    }
  }

  #keepWord(word: Word, between: boolean, now: Date): void {
    const { row } = this
    const messageAt = word.timestamp ?? now.getTime()
    if (word.steps.length > 0) {
      const past = between ? row.attempts?.at(-1) : undefined
      if (past) {
        const grown: PastAttempt = { ...past, steps: mergeSteps(past.steps, word.steps, messageAt) }
        row.attempts = [...row.attempts!.slice(0, -1), grown]
      } else {
        row.steps = mergeSteps(row.steps ?? [], word.steps, messageAt)
      }
    }
    if (word.description !== undefined && word.description !== '') {
      row.description = word.description
    }
    // What only acknowledges is not worth a row: it is what most devices send most often.
    if (word.raw !== undefined && (word.steps.length > 0 || word.resultCode !== undefined || word.saysMore)) {
      row.messages = keepMessage(row.messages, { at: now.toISOString(), attempt: row.attempt, raw: word.raw })
    }
  }

  #retryLater(event: OperationEvent, happening: Happening, outcome: OperationResult, now: Date): void {
    const { row } = this
    if (event === 'postpone') row.attempt += 1
    const description = happening.word ? happening.word.description : happening.description
    const past: PastAttempt = {
      attempt: row.attempt,
      startedAt: (row.launchedAt ?? now).toISOString(),
      endedAt: now.toISOString(),
      result: outcome,
      ...(description !== undefined && { description }),
      steps: row.steps ?? [],
    }
    row.attempts = [...(row.attempts ?? []), past]
    row.steps = null
    row.description = null
    row.deadlineAt = null
    this.consequences.enqueue = false
    this.consequences.retry = true
  }

  /** An answer to the attempt that was given up makes it the last one after all. */
  #takeBackPastAttempt(): void {
    const { row } = this
    const past = row.attempts?.at(-1)
    if (!past) return
    row.steps = past.steps.length > 0 ? [...past.steps] : null
    row.attempts = row.attempts!.length > 1 ? row.attempts!.slice(0, -1) : null
  }
}

/** An ended operation to which a device still speaks. */
export class EndedDraft {
  readonly before: EndedOperationRow
  readonly row: EndedOperationRow
  changed = false

  constructor(before: EndedOperationRow) {
    this.before = before
    this.row = { ...before }
  }

  apply({ word }: Happening, rules: OperationRules, now: Date): Answer {
    if (!word) return 'taken'
    const { row } = this
    const state = {
      phase: row.status,
      attempt: row.attempt,
      everLaunched: row.startedAt !== null,
      jobClosing: true,
    }
    const event = nameWord(state, rules, { resultCode: word.resultCode, steps: word.steps.length })
    if (event === undefined) return 'unknown'
    const decision = decide(
      row.status,
      event,
      word.resultCode === undefined ? undefined : deviceResult(word.resultCode),
    )
    if (!decision.result || !decision.counter) return 'stray'
    if (word.steps.length > 0) row.steps = mergeSteps(row.steps ?? [], word.steps, word.timestamp ?? now.getTime())
    if (word.raw !== undefined) {
      row.messages = keepMessage(row.messages, { at: now.toISOString(), attempt: row.attempt, raw: word.raw })
    }
    row.description = word.description ?? row.description
    row.status = decision.status
    row.result = decision.result
    row.counter = decision.counter
    this.changed = true
    return 'taken'
  }
}

/** Whether what was seen is no longer so: it was about an earlier attempt or sender, or the operation has been heard of since. */
function isPast({ seen, launchedAt, node, silentSince }: Happening, row: OperationRow, now: Date): boolean {
  if (launchedAt !== undefined && row.launchedAt?.getTime() !== launchedAt) return true
  // It was taken for unlaunched, and is not.
  if (seen === 'launch') return row.status !== 'PENDING'
  if (seen === 'deadlineOver') return row.deadlineAt === null || row.deadlineAt > now
  if (seen === 'senderLost') return node !== undefined && row.sender !== null && row.sender !== node
  if (seen === 'askedInstead' && (row.status !== 'WAITING_FOR_ACK' || row.flow !== 'mqtt')) return true
  if (seen !== 'askedInstead' && (seen !== 'handedOut' || row.status !== 'IN_PROGRESS')) return false
  return silentSince !== undefined && row.heardAt !== null && row.heardAt > silentSince
}

/** Now, or just after the last: two signs or launches in one millisecond are told apart, since what is written is guarded by them. */
function laterThan(last: Date | null, now: Date): Date {
  return last === null || last < now ? now : new Date(last.getTime() + 1)
}

function after(now: Date, spanMs: number): Date | null {
  return spanMs > 0 ? new Date(now.getTime() + spanMs) : null
}
