/**
 * What each operation of the catalog does on a pretend device: the steps it goes through and the values it gives back. It knows
 * nothing of time, chance or transport.
 */
import type { DeviceRequest } from '../contract/device.ts'
import type { JsonObject } from '../contract/reading.ts'

/** The variables of one device, by name. */
export type Variables = Map<string, unknown>

/** What an operation comes to when nothing fails: a final word, the steps in their order, and what was read. */
export interface Outcome {
  resultCode: 'SUCCESSFUL' | 'NOT_SUPPORTED' | 'ERROR_IN_PARAM'
  resultDescription: string
  steps: string[]
  variableList?: { name: string; value: unknown }[]
}

/** Variables that one device keeps; further ones are refused. */
const VARIABLES_MAX = 200

const STEPS: Record<string, string[]> = {
  REBOOT_EQUIPMENT: ['BEGINREBOOT', 'ENDREBOOT'],
  REFRESH_INFO: ['READINFO'],
  REFRESH_PRESENCE: ['PRESENCE'],
  EQUIPMENT_DIAGNOSTIC: ['BEGINDIAGNOSTIC', 'ENDDIAGNOSTIC'],
  FACTORY_RESET: ['ERASE', 'RESTART'],
  ADMINISTRATIVE_STATUS_CHANGE: ['CHANGESTATUS'],
  UPDATE: ['BEGINUPDATE', 'DOWNLOADFILE', 'BEGININSTALL', 'ENDINSTALL', 'ENDUPDATE'],
  SET_DEVICE_PARAMETERS: ['SETPARAMETERS'],
  GET_DEVICE_PARAMETERS: ['GETPARAMETERS'],
  SET_CLOCK_EQUIPMENT: ['SETCLOCK'],
  SYNCHRONIZE_CLOCK: ['SYNCHRONIZECLOCK'],
  SIM_REPLACEMENT: ['BEGINREPLACEMENT', 'ENDREPLACEMENT'],
  DISCOVER: ['DISCOVER'],
  POWER_ON_EQUIPMENT: ['POWERON'],
  POWER_OFF_EQUIPMENT: ['POWEROFF'],
}

/** What the request comes to on a device with these variables, which a SET or a reset changes. */
export function performOperation(request: Pick<DeviceRequest, 'name' | 'parameters'>, variables: Variables): Outcome {
  const steps = Object.hasOwn(STEPS, request.name) ? STEPS[request.name] : undefined
  if (steps === undefined) return refusal('NOT_SUPPORTED', `this device does not know ${request.name}`)
  switch (request.name) {
    case 'UPDATE':
      return update(request.parameters, steps)
    case 'SET_DEVICE_PARAMETERS':
      return setVariables(request.parameters, variables, steps)
    case 'GET_DEVICE_PARAMETERS':
      return getVariables(request.parameters, variables, steps)
    case 'ADMINISTRATIVE_STATUS_CHANGE':
      variables.set('admsts', request.parameters.admsts ?? 'ACTIVE')
      return done(steps)
    case 'FACTORY_RESET':
      variables.clear()
      return done(steps)
    default:
      return done(steps)
  }
}

function update({ deploymentElements, bundleVersion }: JsonObject, steps: string[]): Outcome {
  if (!Array.isArray(deploymentElements) || deploymentElements.length === 0)
    return refusal('ERROR_IN_PARAM', 'deploymentElements must hold at least one element')
  return { ...done(steps), resultDescription: `installed ${bundleVersion ?? `${deploymentElements.length} elements`}` }
}

function setVariables({ variableList }: JsonObject, variables: Variables, steps: string[]): Outcome {
  if (!Array.isArray(variableList)) return refusal('ERROR_IN_PARAM', 'variableList must be a list')
  const named = variableList.filter(entry => typeof entry?.name === 'string')
  if (named.length < variableList.length) return refusal('ERROR_IN_PARAM', 'each variable must have a name and a value')
  if (variables.size + named.length > VARIABLES_MAX)
    return refusal('ERROR_IN_PARAM', `at most ${VARIABLES_MAX} variables`)
  for (const { name, value } of named) variables.set(name, value)
  return { ...done(steps), variableList: named.map(({ name, value }) => ({ name, value })) }
}

function getVariables({ variableList }: JsonObject, variables: Variables, steps: string[]): Outcome {
  if (!Array.isArray(variableList)) return refusal('ERROR_IN_PARAM', 'variableList must be a list')
  const names = variableList.filter(name => typeof name === 'string')
  return { ...done(steps), variableList: names.map(name => ({ name, value: variables.get(name) ?? null })) }
}

function done(steps: string[]): Outcome {
  return { resultCode: 'SUCCESSFUL', resultDescription: 'done', steps }
}

function refusal(resultCode: 'NOT_SUPPORTED' | 'ERROR_IN_PARAM', resultDescription: string): Outcome {
  return { resultCode, resultDescription, steps: [] }
}
