/**
 * The platform's catalog of operation types: what organizations clone from. Read-only; nothing in it can be executed.
 * Serves: Operation type (platform catalog).
 */
import type { ResourceType } from './data-model.ts'
import type { OperationType, StepDefinition } from './operation-type.ts'
import type { ParameterSchema } from './parameter-schema.ts'

const DEVICES: readonly ResourceType[] = ['entity.device']

function type(
  name: string,
  title: string,
  description: string,
  properties: ParameterSchema = {},
  more: { required?: string[]; steps?: StepDefinition[]; applicableTo?: readonly ResourceType[] } = {},
): OperationType {
  const { required = [], steps = [{ name, title }], applicableTo = DEVICES } = more
  return {
    name,
    title,
    description,
    applicableTo,
    models: [],
    parameters: {
      type: 'object',
      title,
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    steps,
  }
}

const text = (title: string) => ({ type: 'string', title })

const deploymentElement = {
  type: 'object',
  properties: {
    name: text('Name'),
    version: text('Version'),
    type: text('Type'),
    downloadUrl: text('Download address'),
    path: text('Path on the device'),
    order: { type: 'integer', title: 'Order' },
    operation: { type: 'string', title: 'What is done', enum: ['INSTALL', 'UPGRADE', 'UNINSTALL'] },
    validators: {
      type: 'array',
      title: 'Validators',
      items: { type: 'object', properties: { type: text('Type'), value: text('Value'), mode: text('Mode') } },
    },
    option: text('Option'),
    size: { type: 'integer', title: 'Size in bytes' },
    oldVersion: text('Version before'),
    oldName: text('Name before'),
    oldPath: text('Path before'),
  },
  required: ['name', 'version', 'operation'],
}

/** The catalog, by name in this order. */
export const CATALOG: readonly OperationType[] = [
  type('REBOOT_EQUIPMENT', 'Reboot', 'Restarts the device.', {
    type: { type: 'string', title: 'Kind of reboot', enum: ['HARDWARE', 'SOFTWARE'], default: 'HARDWARE' },
  }),
  type('REFRESH_INFO', 'Refresh information', 'Has the device send its information anew.'),
  type('REFRESH_PRESENCE', 'Refresh presence', 'Finds out whether the device is there.'),
  type('EQUIPMENT_DIAGNOSTIC', 'Diagnostic', 'Runs the diagnostic of the device.'),
  type('FACTORY_RESET', 'Factory reset', 'Sets the device back to how it left the factory.'),
  type(
    'ADMINISTRATIVE_STATUS_CHANGE',
    'Change administrative status',
    'Gives the device another administrative status.',
    {
      admsts: text('Administrative status'),
    },
  ),
  type(
    'UPDATE',
    'Update',
    'Installs, upgrades or removes the elements of a bundle.',
    {
      bundleName: text('Bundle'),
      bundleVersion: text('Version of the bundle'),
      deploymentElements: { type: 'array', title: 'Elements', items: deploymentElement },
    },
    {
      required: ['deploymentElements'],
      steps: [
        { name: 'BEGINUPDATE', title: 'Begin update' },
        { name: 'DOWNLOADFILE', title: 'Download' },
        { name: 'BEGININSTALL', title: 'Begin install' },
        { name: 'ENDINSTALL', title: 'End install' },
        { name: 'ENDUPDATE', title: 'End update' },
      ],
    },
  ),
  type('SET_DEVICE_PARAMETERS', 'Set parameters', 'Writes parameters of the device.', {
    variableList: {
      type: 'array',
      title: 'Parameters',
      items: { type: 'object', properties: { name: text('Name'), value: { title: 'Value' } }, required: ['name'] },
    },
  }),
  type('GET_DEVICE_PARAMETERS', 'Get parameters', 'Reads parameters of the device.', {
    variableList: { type: 'array', title: 'Names', items: { type: 'string' } },
  }),
  type('SET_CLOCK_EQUIPMENT', 'Set clock', 'Sets the clock of the device.', {
    datetime: {
      type: 'object',
      title: 'Time',
      properties: {
        date: text('Date'),
        time: text('Time of day'),
        timezone: { title: 'Time zone' },
        dst: { title: 'Summer time' },
      },
    },
  }),
  type('SYNCHRONIZE_CLOCK', 'Synchronize clock', 'Has the device synchronize its clock.'),
  type(
    'SIM_REPLACEMENT',
    'Replace SIM',
    'Replaces the SIM of a subscription.',
    { icc: text('ICC of the new SIM') },
    { applicableTo: ['entity.subscriber', 'entity.subscription'] },
  ),
  type('DISCOVER', 'Discover', 'Has the device find what is attached to it.'),
  type('POWER_ON_EQUIPMENT', 'Power on', 'Switches the device on.'),
  type('POWER_OFF_EQUIPMENT', 'Power off', 'Switches the device off.'),
]

/** A catalog type by name. */
export function catalogType(name: string): OperationType | undefined {
  return CATALOG.find(each => each.name === name)
}
