/**
 * The lab's own loads: the reference arms and ceilings, the ways of writing that experiments 008 and 009 compare, the library
 * without the writer's process, and the gateway. Adding one takes one row.
 *
 * All of them write the synthetic workload (src/synthetic.js) with the pace, batches and limits of drive.js; they differ only in
 * what they do with a batch. The load `writer`, the command itself, is not among them: the lab starts it as a user would.
 *
 * @typedef {import('../content/inventory.js').Storage} Storage
 * @typedef {import('./run.js').Settings} Settings
 * @typedef {object} Opened
 * @property {import('../../src/pipeline/index.js').Account} account
 * @property {number} [betweenMs] between batches, if it sends whole batches at its pace
 * @property {(run: import('./run.js').Run) => Promise<void>} run until its time is over or it is stopped, and
 *   every batch has a reply; rejects after a server error
 * @property {() => Promise<number>} [cpuMicros] CPU time of its other processes so far
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Load
 * @property {string} does what it sends
 * @property {(settings: Pick<Settings, 'layout'>) => Storage} storage
 * @property {Partial<Settings>} [always] settings that it fixes
 * @property {Partial<Settings>} [wants] settings that it requires, so that its figures stay comparable
 * @property {(settings: { layout: string, late?: string }) => boolean} [compares] whether the newest version of an id counts where storage
 *   keeps one; without it, the one written last
 * @property {number} [processes] of one writer, if more than one
 * @property {readonly ('windowMs' | 'maxItems')[]} bounds of retention by which it drops items: by trimming,
 *   or by keys that expire
 * @property {(parts: { settings: Settings, redisUrl: string, replicaUrls: string[] | null, index: number,
 *   clock: () => number, onBehind: (behindMs: number) => void,
 *   onFlush: (seconds: number) => void, gateway?: string[] }) => Promise<Opened>} open `onFlush`: duration of a batch;
 *   `gateway`: arguments of node for `npm start gateway` with its settings
 */
import { FreshetError } from '../errors.js'
import { APPEND_FORMS } from './append-forms.js'
import { openAppends } from './appends.js'
import { openBlob } from './blob.js'
import { openGateway } from './gateway.js'
import { openLibrary } from './library.js'
import { PUBLISHED_STRUCTURES, openPublishedStructure, openPublishedValues, openReference } from './published.js'
import { openList } from './structures.js'

/** @type {NonNullable<Load['compares']>} */
const byFeed = ({ layout, late = 'newest' }) => layout === 'ids' && late === 'newest'

/** @type {Load} */
const reference = {
  does: 'one SETEX promise per item and one ZADD per 1,000, auto-pipelined by the client; values that never change',
  storage: () => 'published-ids',
  always: { valueChange: 'never', batchItems: 1000, wholeBatches: true },
  wants: { valueBytes: 128 },
  bounds: ['windowMs'],
  open: openReference
}

/**
 * @template {{ does: string, storage?: Storage, bounds?: Load['bounds'], compares?: boolean }} Kind
 * @param {Readonly<Record<string, Kind>>} kinds @param {(kind: Kind, parts: Parameters<Load['open']>[0]) => Promise<Opened>} open
 * @param {Partial<Load>} [shared]
 * @returns {Record<string, Load>}
 */
const loadsOf = (kinds, open, shared) => Object.fromEntries(Object.entries(kinds).map(([name, kind]) => {
  const { does, storage = 'ids', bounds = ['windowMs'], compares = false } = kind
  return [name, { ...shared, does, storage: () => storage, bounds, compares: () => compares, open: (parts) => open(kind, parts) }]
}))

/** @type {Record<string, Load>} */
const loads = {
  reference,
  'reference-burst': {
    ...reference,
    does: `${reference.does}; all items of a second in one burst`,
    always: { ...reference.always, pace: 'burst', periodMs: 1000, chunks: 1 }
  },
  'published-values': {
    does: 'one ZADD per batch, whose members are the values themselves, auto-pipelined by the client',
    storage: () => 'published-values',
    bounds: [],
    open: openPublishedValues
  },
  blob: {
    does: 'one SET per 1,000 items: their values one behind the other',
    storage: () => 'blob',
    always: { valueChange: 'always', batchItems: 1000 },
    bounds: ['windowMs'],
    open: openBlob
  },
  list: {
    does: 'one LPUSH of whole items per batch, and LTRIM',
    storage: () => 'list',
    bounds: ['maxItems'],
    open: openList
  },
  library: {
    does: 'openFeed in the process of the load',
    storage: ({ layout }) => layout,
    bounds: ['windowMs', 'maxItems'],
    compares: byFeed,
    open: openLibrary
  },
  gateway: {
    does: 'NDJSON posted to the gateway, a process of its own; a batch is a request',
    storage: ({ layout }) => layout,
    bounds: ['windowMs', 'maxItems'],
    processes: 2,
    compares: byFeed,
    open: openGateway
  },
  ...loadsOf(APPEND_FORMS, openAppends),
  ...loadsOf(PUBLISHED_STRUCTURES, openPublishedStructure, reference)
}
export const LOADS = Object.freeze(loads)

/** @returns {string[]} */
export const loadNames = () => Object.keys(LOADS)

/**
 * The storage that a load writes.
 * @param {string} load one of LOADS, or `writer`
 * @param {Pick<Settings, 'layout'>} settings
 * @returns {Storage}
 * @throws {FreshetError} LOAD_FAILED
 */
export const storageOf = (load, settings) => load === 'writer' ? settings.layout : loadOf(load).storage(settings)

/**
 * Whether late items change nothing of what a load leaves.
 * @param {string} load one of LOADS, or `writer`
 * @param {{ layout: string, late?: string }} settings
 */
export const comparesVersions = (load, settings) => loadOf(load === 'writer' ? 'library' : load).compares?.(settings) ?? false

/**
 * @param {string} name
 * @param {Readonly<Record<string, Load>>} [loads]
 * @returns {Load}
 * @throws {FreshetError} LOAD_FAILED
 */
export function loadOf (name, loads = LOADS) {
  if (Object.hasOwn(loads, name)) return loads[name]
  throw new FreshetError('LOAD_FAILED', `no load ${name}; expected writer, or one of ${Object.keys(loads).join(', ')}`)
}
