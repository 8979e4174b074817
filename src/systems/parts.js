/**
 * Types of what processes pass to a definition, with all that systems of this package use, and of a definition that is completed
 * (complete.js). definition.js has what is documented.
 *
 * @typedef {'rules' | 'commands' | 'queries' | 'stream' | 'metrics' | 'page' | 'memory' | 'unknown' | 'durability'} CompletedPart
 * @typedef {Omit<Public.SystemData, CompletedPart> & Completed} Definition
 *
 * @typedef {object} Completed
 * @property {Record<string, any>} rules with the texts of their Lua @property {boolean} hasLua they are of a user
 * @property {string} durability @property {string} unknown
 * @property {Record<string, Public.Rows | Public.Rows['write']>} rows
 * @property {Record<string, CommandRow & { run: (request: any, systemCommands: any, parts: any) => any }>} commands
 * @property {Record<string, QueryRow>} queries
 * @property {StreamRow[]} stream
 * @property {(parts: GatewayParts) => Public.Gateway} gateway
 * @property {(parts: ReaderParts) => Public.Reader | Promise<Public.Reader>} reader
 * @property {(parts: ConsumerParts) => Public.Handlers | Promise<Public.Handlers>} consumers
 * @property {{ reader?: (registry: Registry) => any, consumers?: (registry: Registry) => any }} [metrics]
 * @property {Public.Page & { summary: string }} [page]
 * @property {Public.Demo} demo
 * @property {{ maxKeys?: number, tail?: number, rules: RuleFolds }} memory
 *
 * @typedef {Public.StreamRoute & { reply: object, named: (event: any) => string,
 *   snapshot: (stored: any, systemQueries: any, newest: any) => unknown, event: (event: any, systemQueries: any) => unknown }} StreamRow
 *
 * @typedef {Pick<Admission, 'submit' | 'agreed' | 'stateOf' | 'memberOf'> & {
 *   mask: (id: string) => Promise<string>, settings: any, counters: AdmissionMetrics, router: Router,
 *   primaryIds: () => Promise<string>, systemKey: string, waits: typeof createEventWaits,
 *   watchDatabase: () => { isUp: () => boolean }, signal: AbortSignal,
 *   log: Logger }} GatewayParts `counters` of its commands; `router` to the primaries; `primaryIds`: replication
 *   ids of the primaries of its partitions, throws while one is away
 *
 * @typedef {Target & Pick<Public.ReaderParts, 'get' | 'events' | 'mask' | 'embedded'> &
 *   Pick<Reading, 'members' | 'memberAtPrimary' | 'waitFor' | 'until' | 'since' | 'due' | 'names'> &
 *   Pick<KeyView, 'peek' | 'fromPrimary' | 'watch'> & {
 *   find: KeyView['get'], storedOf: KeyView['storedOf'], letters: DeadLetters,
 *   waitingRoom: () => ReturnType<typeof createWaitingRoom>, viewers: ReturnType<typeof createViewers>,
 *   byRequest: Reading['byRequest'],
 *   reading: Reading, view: KeyView, lookUp: LookUp, secret: string, now: () => number, push: Push,
 *   submit: Admission['submit'], database: ReaderDatabase, figures: () => Promise<any[]>, settings: any, isShared: () => boolean,
 *   metrics: any, signal: AbortSignal, log: Logger }} ReaderParts `lookUp`: what the primary has of a key that a replica does not have;
 *   `now`: ms since 1970; `submit` to the primary; `figures` of each process of consumers; `isShared`: whether caches between reader and
 *   client may store replies; `metrics`: its own
 *
 * @typedef {{ rows: (text: string, values: unknown[]) => Promise<any[]> }} ReaderDatabase throws DATABASE_DOWN
 *
 * @typedef {Omit<OpenAdmission, 'close'> & {
 *   id: string, connectionOf: (partition: number) => Connection, database: Database | null, migrated: Promise<void>,
 *   metrics: any, counters: AdmissionMetrics & ConsumerMetrics, deadLetter: (partition: number, letter: NewLetter) => Promise<void>,
 *   openConfirm: () => Promise<Public.Confirm>, owned: () => number[],
 *   decideTask: (task: Task, args?: readonly string[]) => Promise<Decision>,
 *   entryLost: typeof entryLost, embedded: Public.EmbeddedServices, importModule: typeof importModule, settings: any, signal: AbortSignal,
 *   fail: (error: Error) => void, log: Logger }} ConsumerParts `id` of the process; `connectionOf` the primary; `migrated`: when the
 *   database has its tables, never if it cannot have them; `metrics`: its own; `counters` of commands, entries; `openConfirm`: what is
 *   decided is as durable as the system wants; `owned` partitions; `fail`: the process ends
 *
 * @import { Admission, Decision, KeyView, RuleFolds } from '../admission/index.js'
 * @import { DeadLetters, NewLetter } from '../consumers/index.js'
 * @import { entryLost } from '../consumers/index.js'
 * @import { Task } from '../schedule/index.js'
 * @import { CommandRow, QueryRow } from '../http/index.js'
 * @import { AdmissionMetrics, ConsumerMetrics } from '../metrics/index.js'
 * @import { Push } from '../push/index.js'
 * @import { Database } from '../sql/index.js'
 * @import { Connection, LookUp, Router } from '../store/index.js'
 * @import { OpenAdmission } from './opening.js'
 * @import { importModule } from './list.js'
 * @import { createWaitingRoom } from '../waiting-room/index.js'
 * @import { createViewers } from './viewers.js'
 * @import { Reading, Target, createEventWaits } from './reading.js'
 * @import * as Public from './definition.js'
 * @import { Logger } from 'pino'
 * @import { Registry } from 'prom-client'
 */
export {}
