/**
 * The devices of the model test: they behave as chance says, and what they say or connectors report of them is on its way for a while.
 * It counts who got what. Refuses to know jobs, and who of the processes lives.
 */
import { type OperationKey, operationId } from '../../src/domain/identity.ts'
import type { OperationRequest, SendReport } from '../../src/engine/connector.ts'
import type { Queryable } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { Chance } from './model-chance.ts'
import type { Flow } from './model-ground.ts'
import { answered } from './scenario.ts'
import type { Workbench } from './workbench.ts'

const FINAL_WORDS = ['SUCCESSFUL', 'PARTIAL_SUCCESS', 'ERROR_PROCESSING', 'ERROR_IN_PARAM', 'CANCELLED', 'OWN_WORD']

/** A message of a device on its way to the service. */
export interface Letter {
  readonly dueAt: number
  readonly key: OperationKey
  readonly device: string
  readonly resultCode?: string
  readonly step?: string
}

/** What a connector is going to report of a request that is in flight; lost with its process. */
interface Flight {
  readonly dueAt: number
  readonly by: Workbench
  readonly report: () => void
  readonly launch: string
}

const launchOf = ({ id, launchedAt }: Pick<OperationRequest, 'id' | 'launchedAt'>) => `${id}@${launchedAt}`

export interface ModelDevicesParts {
  readonly clock: VirtualClock
  readonly chance: Chance
  readonly flows: ReadonlyMap<string, Flow>
  /** deaths and standstills of processes so far */
  readonly losses: () => number
  readonly breach: (what: string) => void
}

export type ModelDevices = ReturnType<typeof createModelDevices>

export function createModelDevices({ clock, chance, flows, losses, breach }: ModelDevicesParts) {
  const connected = new Map<string, { connection: string; by: Workbench }>()
  const requests = new Map<string, number>()
  /** which way each launch left */
  const ways = new Map<string, string>()
  const repeats = new Map<string, number>()
  const excused = new Set<string>()
  let flights: Flight[] = []
  const mailbox: Letter[] = []
  let exchanged: { readonly raw: string; readonly by: Workbench }[] = []
  let connections = 0
  let calm = false

  /** The same launch goes out again only after a loss: a death, a reconnect, or a connector that did not send it. */
  function countLaunch({ id, launchedAt, device }: OperationRequest): number {
    const launch = launchOf({ id, launchedAt })
    const times = (repeats.get(launch) ?? 0) + 1
    repeats.set(launch, times)
    if (times > 1 && losses() === 0 && !excused.has(launch) && !excused.has(device.deviceId)) {
      breach(`${launch} left ${times} times without a loss`)
    }
    return countRequest(id)
  }

  function countRequest(id: string): number {
    const seen = (requests.get(id) ?? 0) + 1
    requests.set(id, seen)
    return seen
  }

  /** Reports as a connector makes them: at once, or while the request is in flight, later ones never before earlier ones. */
  function inFlight(by: Workbench, { id, launchedAt }: OperationRequest, make: (report: SendReport) => void) {
    const report = (each: SendReport) => {
      if (each.seen === 'answered') exchanged.push({ raw: each.message.raw!, by })
      make(each)
    }
    const about = [id, launchedAt, requests.get(id) ?? 0]
    if (calm || chance('slow', ...about) < 0.6) return report
    let dueAt = clock.now().getTime()
    return (each: SendReport) => {
      // Whether a request has left is known within two seconds; its exchange may be held open for long.
      const longestMs = each.seen === 'answered' ? 60_000 : 2_000
      dueAt += Math.floor(chance('flight', each.seen, ...about) ** 2 * longestMs)
      flights.push({ dueAt, by, report: () => report(each), launch: launchOf({ id, launchedAt }) })
    }
  }

  /** Why a request does not reach its device; now and then, while not everybody behaves. */
  function refusalOf({ id, device }: OperationRequest, seen: number, mqtt: boolean): SendReport | undefined {
    if (mqtt && !connected.has(device.deviceId)) return { seen: 'away' }
    const odds = calm ? 1 : chance('receive', id, seen)
    if (odds < 0.05) return { seen: 'notSent' }
    if (mqtt) return undefined
    if (odds < 0.1) return { seen: 'unreachable', description: 'refused' }
    if (odds < 0.15) return { seen: 'deviceFailed', description: '503' }
    return odds < 0.18 ? { seen: 'deviceRefused', description: '404' } : undefined
  }

  const wordFor = (...about: (string | number)[]) =>
    FINAL_WORDS[Math.floor(chance('word', ...about) * FINAL_WORDS.length)]!

  /** Which way a connector function chooses: it gives the result itself, or a request for the device. */
  function wayOf({ id }: OperationRequest, seen: number): 'result' | 'http' | 'mqtt' {
    const odds = chance('way', id, seen)
    return odds < 0.3 ? 'result' : odds < 0.6 ? 'http' : 'mqtt'
  }

  /** A final answer in the same exchange. */
  const resultOf = (request: OperationRequest, seen: number) =>
    answered(request, calm ? 'SUCCESSFUL' : wordFor(request.id, seen), `exchange ${seen} of ${request.id}`)

  /** What a device does with a request: says nothing, or acknowledges, says parts and its end, late, twice or in disorder. */
  function perform({ key, device, id }: OperationRequest, seen: number): void {
    if (!calm && chance('silent', id, seen) < 0.2) return
    const resultCode = calm ? 'SUCCESSFUL' : wordFor(id, seen)
    const pace = (about: string) => Math.floor(chance(about, id, seen) ** 3 * (calm ? 1_000 : 90_000))
    const words = [{}, { step: 'DOWNLOAD' }, { step: 'INSTALL' }, { resultCode, step: 'RESTART' }]
    words.forEach((word, i) => {
      if (i < 3 && chance('skip', id, seen, i) < 0.4) return
      const times = !calm && chance('twice', id, seen, i) < 0.2 ? 2 : 1
      for (let time = 0; time < times; time += 1) {
        const dueAt = clock.now().getTime() + pace(`pace ${i} ${time}`)
        mailbox.push({ dueAt, key, device: device.deviceId, ...word })
      }
    })
  }

  /** Takes out of a list, for good, what is wanted of it by now. */
  function takeDue<T extends { readonly dueAt: number }>(all: T[], isWanted: (each: T) => boolean = () => true): T[] {
    const due = all.filter(each => each.dueAt <= clock.now().getTime() && isWanted(each))
    for (const each of due) all.splice(all.indexOf(each), 1)
    return due.sort((a, b) => a.dueAt - b.dueAt)
  }

  return {
    /** Nothing runs for a while: of what is in flight it is not told in time whether it has left, and it goes out again. */
    outage(): void {
      for (const { launch } of flights) excused.add(launch)
    },
    /** A request that a process sends. */
    receive(by: Workbench, request: OperationRequest, reportNow: (report: SendReport) => void): void {
      const report = inFlight(by, request, reportNow)
      const { deviceId } = request.device
      const seen = countLaunch(request)
      const flow = flows.get(deviceId)
      const way = flow === 'function' ? wayOf(request, seen) : flow
      if (way === 'result') {
        report(resultOf(request, seen))
        return
      }
      const mqtt = way === 'mqtt'
      const refusal = refusalOf(request, seen, mqtt)
      const over = flow === 'function' && mqtt ? { over: 'mqtt' as const } : {}
      ways.set(launchOf(request), over.over ?? flow!)
      report(refusal?.seen === 'away' ? { ...refusal, ...over } : (refusal ?? { seen: 'sent', ...over }))
      if (refusal) {
        if (refusal.seen === 'notSent' || refusal.seen === 'away') excused.add(launchOf(request))
        return
      }
      if (!mqtt && chance('at once', request.id, seen) < 0.3) {
        report(resultOf(request, seen))
      } else perform(request, seen)
    },
    /** A request that a device was given because it asked. */
    taken: (request: OperationRequest) => perform(request, countRequest(request.id)),
    /** Makes the reports that have arrived at processes that go on. */
    land(goesOn: (by: Workbench) => boolean): void {
      for (const { report } of takeDue(flights, ({ by }) => goesOn(by))) report()
    },
    /** The answers in the same exchange that have come to processes which live since this was last asked. */
    takeExchanged(): string[] {
      const raws = exchanged.map(({ raw }) => raw)
      exchanged = []
      return raws
    },
    /** The messages that have arrived. */
    letters: () => takeDue(mailbox),
    /** What nobody answered is sent again, as devices do. */
    sendAgain: (letter: Letter) => mailbox.push({ ...letter, dueAt: clock.now().getTime() + 1_000 }),
    /** What was in flight at a process and who was connected to it is lost with it. */
    loseProcess(bench: Workbench): void {
      exchanged = exchanged.filter(({ by }) => by !== bench)
      flights = flights.filter(({ by }) => by !== bench)
      for (const [device, { by }] of connected) if (by === bench) connected.delete(device)
    },
    /** A device that can be reached over MQTT and the connection that it is about to make. */
    nextConnection(index: number): { readonly device: string; readonly connection: string } | undefined {
      const connecting = [...flows.keys()].filter(id => ['mqtt', 'function'].includes(flows.get(id)!))
      const device = connecting[index % Math.max(1, connecting.length)]
      if (device === undefined) return undefined
      connections += 1
      excused.add(device)
      return { device, connection: `c${connections}` }
    },
    connect: (device: string, connection: string, by: Workbench) => connected.set(device, { connection, by }),
    /** One that was connected and is not any more. */
    disconnect(index: number): { readonly device: string; readonly connection: string } | undefined {
      const [device, held] = [...connected][index % Math.max(1, connected.size)] ?? []
      if (device === undefined || held === undefined) return undefined
      connected.delete(device)
      return { device, connection: held.connection }
    },
    /** One that was deleted is not connected any more. */
    forget: (device: string) => void connected.delete(device),
    pulling(index: number): string | undefined {
      const pulling = [...flows.keys()].filter(id => flows.get(id) === 'pull')
      return pulling[index % Math.max(1, pulling.length)]
    },
    /** What is wrong with the ways that requests are said to have gone, in words: by them it is told who is sent to again. */
    async judge(db: Queryable): Promise<string[]> {
      const sent = await db.query<OperationKey & { flow: string; launchedAt: Date }>(sql`
        select job, partition, entity, flow, launched_at as "launchedAt" from operation where status = 'WAITING_FOR_ACK'`)
      return sent.flatMap(({ flow, launchedAt, ...key }) => {
        const way = ways.get(launchOf({ id: operationId(key), launchedAt: launchedAt.getTime() }))
        return flow === way ? [] : [`${operationId(key)} left by ${flow}, and not by ${way}`]
      })
    },
    /** From here on they do as they are told. */
    calm(): void {
      calm = true
    },
    figures: () => ({
      requests: requests.size,
      sentAgain: [...repeats.values()].filter(times => times > 1).length,
    }),
  }
}
