/**
 * What a system is: one plain object, which every process reads. src/systems/auctions is one to begin with.
 *
 *     gateway    request -> commands[...].run(given, gateway(parts)) -> rule
 *     reader     request -> queries[...].run(given, reader(parts)); stream -> events of a key, or a source of its own
 *     consumers  consumers(parts): tasks that are due, rows and effects of entries
 *
 * @typedef {object} System
 * @property {string} name a-z, then a-z 0-9 -, up to 32
 * @property {readonly string[]} rules names of rules in lua/rules, whose versions are stored with it
 * @property {Record<string, OwnRule>} [own] rules of a user
 * @property {string} unknown code of the error for a key that is not there
 * @property {string} durability without the setting; replica: memory where there is no replica, unless the rules are `own`
 * @property {string} [driver] what finishes the work that commands start: TASKS, or a consumer; while it is behind, they are refused
 * @property {boolean} [hasRows] its commands may wait for rows (durability db)
 * @property {boolean} [isUncached] certain rejections are asked of the server, too
 * @property {boolean} [needsDatabase] consumers start the embedded one if none is given
 * @property {boolean} [keepsSecret] in the database, because its ids outlive the memory of the servers
 * @property {boolean} [keepsUnread] entries of the outbox wait for consumers, also before there are any
 * @property {Demo} demo
 * @property {Page} [page]
 * @property {(settings: any, deadlineMs: number) => Promise<Findings>} [findings] of doctor, besides servers and database
 * @property {Record<string, CommandRow>} commands
 * @property {Record<string, QueryRow>} queries
 * @property {readonly StreamRow[]} streams
 * @property {(parts: GatewayParts) => Gateway} gateway what `run` of its commands gets
 * @property {(parts: ReaderParts) => Reader | Promise<Reader>} reader what `run` of its queries gets
 * @property {{ maxKeys?: number, tail?: number, rules?: Ruleset }} [memory] of a reader: keys, and events of each; `rules`: of a user
 * @property {(parts: ConsumerParts) => Handlers | Promise<Handlers>} consumers
 * @property {URL} [migrations] folder of SQL
 * @property {{ reader?: (registry: Registry) => any, consumers?: (registry: Registry) => any }} [metrics] of its own
 * @property {(letter: { consumer: string }, state: Fields) => boolean} [isLetterNeeded] whether a dead letter must not be discarded
 * @property {(key: string) => Record<string, unknown>} [logged] what the log says about a key
 *
 * @typedef {{ rows: string[][], problems: string[] }} Findings rows with a label first; sentences about what must be solved
 *
 * @typedef {{ summary: string, isOfCommands?: boolean, hasFaults?: boolean, folder?: URL }} Page at /NAME, from `folder` of a user, or
 *   from readers/page; `isOfCommands`: it sends commands to the gateway; `hasFaults`: it switches faults of other processes on this machine
 *
 * @typedef {object} Demo
 * @property {string} about what its crowd does @property {string} commands where to send what @property {string} tasks what consumers do
 * @property {'exchanges' | 'payments'} [beside] command that runs beside it @property {string[]} [settings] that no other demo takes
 * @property {() => Promise<{ runCrowd: (options: { gatewayUrl: string, readerUrl: string, mode: string, isActive: boolean,
 *   signal: AbortSignal, print: (line: string) => void }) => unknown }>} [crowd]
 *
 * @typedef {object} StreamRow server-sent events; either `event` and `snapshot`, or `source`
 * @property {string} path @property {string} summary @property {object} reply schema of an event
 * @property {QueryRow['fields']} [fields] @property {string[]} [codes]
 * @property {(current: KeyState, own: any) => unknown} [snapshot] as JSON
 * @property {(event: Fields, own: any) => { name: string, data: unknown }} [event]
 * @property {(id: string) => string} [keyOf] the id of the path
 * @property {(given: Given, own: any) => Source | Promise<Source>} [source]
 *
 * @typedef {{ commands: any, onEntry?: (entry: Entry) => void, reasons?: () => string[], close?: () => unknown }} Gateway `commands`: what
 *   `run` gets; `onEntry`: of every event of the system; `reasons`: why it decides nothing
 * @typedef {{ queries: any, current?: (id: string) => Promise<KeyState>, onEntry?: (entry: Entry) => void, close?: () => unknown }} Reader
 *   `queries`: what `run` gets; `current`: by the id of a path, without it the key of that name
 *
 * @typedef {object} GatewayParts
 * @property {Pick<Admission, 'submit' | 'agreed' | 'stateOf' | 'memberOf'>} admission
 * @property {any} settings
 * @property {AdmissionMetrics} counters of its commands
 * @property {Router} router to the primaries
 * @property {string} primaryUrl as --redis-url
 * @property {() => Promise<string>} primaryIds replication ids of the primaries of its partitions; throws while one is away
 * @property {string} systemKey
 * @property {() => { isUp: () => boolean }} watchDatabase
 * @property {AbortSignal} signal the process stops
 * @property {Logger} log
 *
 * @typedef {Target & { reading: Reading, view: KeyView, lookUp: LookUp, secret: string, now: () => number, push: Push,
 *   submit: Admission['submit'], database: ReaderDatabase, figures: () => Promise<any[]>, settings: any, isShared: () => boolean,
 *   metrics: any, signal: AbortSignal, log: Logger }} ReaderParts `lookUp`: what the primary has of a key that a replica does not have;
 *   `now`: ms since 1970; `submit` to the primary; `figures` of each process of consumers; `isShared`: whether caches between reader and
 *   client may store replies; `metrics`: its own
 *
 * @typedef {{ rows: (text: string, values: unknown[]) => Promise<any[]> }} ReaderDatabase throws DATABASE_DOWN
 *
 * @typedef {object} ConsumerParts
 * @property {string} id of the process
 * @property {OpenAdmission} admission
 * @property {string} primaryUrl as --redis-url
 * @property {(partition: number) => Connection} connectionOf the primary
 * @property {Database | null} database null: no rows are written
 * @property {Promise<void>} migrated when the database has its tables; never, if it cannot have them
 * @property {any} metrics its own
 * @property {AdmissionMetrics & ConsumerMetrics} counters of commands, entries
 * @property {(partition: number, letter: NewLetter) => Promise<void>} deadLetter writes a dead letter
 * @property {() => Promise<(partition: number) => Promise<void>>} openConfirm what is decided is as durable as the system wants
 * @property {() => number[]} owned partitions
 * @property {any} settings
 * @property {AbortSignal} signal the process stops
 * @property {(error: Error) => void} fail the process ends
 * @property {Logger} log
 *
 * @typedef {object} Handlers
 * @property {(task: Task) => Promise<unknown>} [run] a task that is due
 * @property {() => unknown} [figures] of this process, which readers show, as JSON
 * @property {(entry: Entry) => boolean} [triggers] whether tasks are looked at again at once
 * @property {SqlEffect | null} [rows] of entries, in the database
 * @property {BatchEffect | null} [batches] of entries, elsewhere
 * @property {readonly string[]} [effects] names of consumers that it runs itself
 * @property {number} [pauseMs] between batches of entries
 * @property {(partition: number) => Promise<void>} [onPrimary] when the partition is taken, and when its primary is another one
 * @property {() => unknown} [close]
 *
 * @import { Admission, Entry, Fields, KeyState, KeyView, OwnRule, Ruleset } from '../admission/index.js'
 * @import { BatchEffect, NewLetter, SqlEffect } from '../consumers/index.js'
 * @import { CommandRow, Given, QueryRow } from '../http/index.js'
 * @import { AdmissionMetrics, ConsumerMetrics } from '../metrics/index.js'
 * @import { Push, Source } from '../push/index.js'
 * @import { Task } from '../schedule/index.js'
 * @import { Database } from '../sql/index.js'
 * @import { Connection, LookUp, Router } from '../store/index.js'
 * @import { OpenAdmission } from './admission.js'
 * @import { Reading, Target } from './reading.js'
 * @import { Logger } from 'pino'
 * @import { Registry } from 'prom-client'
 */
export {}
