/**
 * What a system is, as its author writes it and as every process reads it: types only, which the package publishes. A definition is checked
 * and completed by complete.js. src/systems/auctions and examples/seats are two to begin with.
 *
 *     gateway    request -> commands[...].command(given) -> rule -> replies[code], or run(given, own, parts)
 *     reader     request -> queries[...].shown(stored, kept, own), or run(given, own, reply, parts); stream -> snapshot, event, or a source
 *     consumers  scheduled tasks, rows and handlers of entries
 *
 * `own` is what `gateway(parts)` and `reader(parts)` make of a process, once. opened-types.js has what a program gets of an opened system.
 *
 * @import { Command, Decision, Stored } from './opened-types.js'
 */

/** @typedef {Record<string, string>} State fields of a key by name; numbers are texts of whole numbers */

/** @typedef {{ seq: number, type: string, ts: number, [field: string]: string | number }} Event `ts`: ms since 1970, of the server */

/**
 * What a consumer gets: an event with its rule and key.
 * @typedef {{ id: string, rule: string, key: string, seq: number, type: string, ts: number, [field: string]: string | number }} Entry
 */

/**
 * A rule with Lua of its own, or one of `rules` under its own name. docs/own-systems.md has the contract of the Lua.
 * @typedef {object} Rule
 * @property {string | URL} lua its text, or the URL of a file
 * @property {number} [version] 1 or more; a change of the text needs a higher one. Default: 1
 * @property {('members' | 'holds' | 'waiting')[]} [keeps] what it keeps of a key besides its state; docs/own-systems.md says how
 * @property {number} [keepEvents] how many events of a key are kept, about; default: all
 * @property {number} [maxArgBytes] bytes of the arguments of a command, all together, 1 to 65,536; default: 4,096
 * @property {(state: State, args: readonly string[]) => string | { code: string, details?: Record<string, string | number> } | null
 *   | undefined} [certain] the code of a rejection that stays true within a generation; such commands are answered without the server
 * @property {(state: State, event: Event) => Record<string, string | number | null | undefined>} [fold] the state after an event, without
 *   the fields that are null or undefined; it may change the state that it gets
 * @property {(args: readonly string[]) => string} [claimant] the user of a command. If an event with the fields `claim` and `user` has
 *   named that user, `certain` is not asked: the Lua answers with the claim
 */

/**
 * What clients of the routes get, by its code. One without a status is not for them: it is logged. `exitStatus` 2: a process that ends
 * with it needs other settings.
 * @typedef {{ status?: number, meaning: string, retryable?: boolean, exitStatus?: 1 | 2 }} SystemError
 */

/**
 * A field of a body: JSON Schema of a string, integer or boolean with `optional: true` or without, or what a function of `fields` returns.
 * @typedef {{ type: string, [keyword: string]: unknown } |
 *   { schema: object, read: (value: unknown) => any, [part: string]: any }} BodyField
 */

/**
 * What a request has, checked: ids of its path, fields of its query and body (null for those that are absent; of a raw body the text),
 * the header Idempotency-Key, or a new id. `mayAs`: whether its token has a scope; null: no tokens are needed.
 * @typedef {{ params: Record<string, string>, query: Record<string, any>, body: any, requestId: string, id: string,
 *   headers: Record<string, any>, mayAs?: any }} Given
 */

/** @typedef {{ status: number, body?: unknown, isReplay?: boolean }} Reply */

/**
 * A setting of the processes that serve the system, as they have their own: a flag, an environment variable, a line of `--help`, a check
 * with all faults at once. Values are in `settings` of parts.
 * @typedef {object} Setting
 * @property {string} description a noun phrase
 * @property {'string' | 'integer' | 'number' | 'boolean' | 'file' | 'url'} [type] default: string; file: one that can be read; url: of HTTP
 * @property {any} [default] default: null
 * @property {string} [unit] such as ms
 * @property {number} [minimum] @property {number} [maximum] of numbers; default: 0, and none
 * @property {readonly string[]} [enum] @property {string} [pattern] of a text
 * @property {(text: string) => unknown} [read] in place of a type: the value; throws for a text that it does not take
 * @property {string} [expects] what `read` or `pattern` takes, for messages @property {string} [hint] the same in `--help`
 * @property {boolean} [secret] is not logged
 * @property {readonly string[]} [uses] gateway, reader, consumers, doctor, demo; default: all of them
 * @property {(values: any) => any} [otherwise] the default, where it depends on other settings
 * @property {(value: any, values: any) => string | null} [fits] what is expected in place of a given value, because of other settings;
 *   null: it fits
 */

/**
 * A route of the gateway: a command of a rule.
 * @typedef {object} CommandRoute
 * @property {string} [method] POST, PUT or DELETE; default: POST
 * @property {string} path such as `/v1/halls/:id/holds`; what begins with a colon is an id
 * @property {'write' | 'admin' | 'public'} [access] which tokens may use it; default: write
 * @property {string} summary for OpenAPI
 * @property {Record<string, BodyField>} [body] fields by name
 * @property {(given: Given, own: any, parts: GatewayParts) => Omit<Command, 'requestId'> | Promise<Omit<Command, 'requestId'>>} command
 *   its request id is the header Idempotency-Key; `parts.settings` has the settings
 * @property {Record<string, number | string>} replies by code of the rule: the status of the reply, or the code of an error
 * @property {undefined} [run]
 */

/**
 * A route of the gateway that makes its reply by itself.
 * @typedef {object} OwnCommand
 * @property {string} [method] @property {string} path @property {'write' | 'admin' | 'public'} [access] @property {string} summary
 * @property {Record<string, BodyField>} [body] as CommandRoute
 * @property {boolean} [isRaw] any body, as text
 * @property {(given: Given, own: any, parts: GatewayParts) => Reply | Promise<Reply>} run
 * @property {Record<number, object>} schemas JSON Schema of replies, by status
 * @property {string[]} codes of errors
 * @property {any} [command] @property {any} [replies]
 */

/**
 * What a rule keeps of a key besides its state, as queries read it: from a replica, which may be behind the state. null: it is not there.
 * @typedef {object} Kept
 * @property {(name: string) => Promise<string | null>} member
 * @property {(name: string) => Promise<number | null>} holdUntil ms since 1970
 * @property {(name: string) => Promise<number | null>} position from 1
 * @property {(most: number) => Promise<string[]>} waiting the names with the lowest places
 * @property {() => Promise<number>} waitingCount
 */

/**
 * A route of the reader: a key.
 * @typedef {object} QueryRoute
 * @property {string} path its `:id` is the key
 * @property {'read' | 'write' | 'admin'} [access] default: read
 * @property {string} summary
 * @property {object} [reply] JSON Schema
 * @property {(stored: Stored, kept: Kept, own?: any) => unknown} shown what the reply has, or a promise of it
 * @property {undefined} [run]
 */

/**
 * A route of the reader that makes its reply by itself.
 * @typedef {object} OwnQuery
 * @property {string} path @property {'read' | 'write' | 'admin'} [access] @property {string} summary as QueryRoute
 * @property {object} reply JSON Schema @property {Record<number, object>} [replies] instead, by status
 * @property {Record<string, any>} [fields] of the query, by functions of `fields.query`
 * @property {string[]} [codes] of errors
 * @property {string} [type] media type; default: application/json
 * @property {(given: any) => unknown} [none] the reply while nothing of the system is stored; without it, the error `unknown`
 * @property {boolean} [isOfDatabase] the servers are not asked: `own` is the database
 * @property {(given: any, own: any, reply: any, parts: any) => unknown} run
 * @property {any} [shown]
 */

/**
 * Server-sent events of the reader: a key, then its events; or a source of its own.
 * @typedef {object} StreamRoute
 * @property {string} path without `source` its `:id` is the key
 * @property {string} summary
 * @property {string} [subject] what its key is called in `/v1/live?...=`, such as `auction`; without it the stream is not part of others
 * @property {(stored: Stored, own: any, newest: (count: number) => Event[]) => unknown} [snapshot] `newest`: events in memory, the newest
 *   first
 * @property {(event: Event, own: any) => unknown} [event] its data
 * @property {string | ((event: Event) => string)} [named] the name of an event; default: its type
 * @property {(id: string) => string} [keyOf] the id of a path
 * @property {object} [reply] JSON Schema of an event
 * @property {Record<string, any>} [fields] @property {string[]} [codes] as of queries
 * @property {(given: any, own: any) => any} [source]
 */

/**
 * Waits for facts, by name.
 * @typedef {object} Waits
 * @property {(name: string, fact?: unknown) => void} note gives a fact to those who watch the name
 * @property {(name: string, listener: (fact?: any) => void) => () => void} watch returns what ends it
 * @property {(begin: (done: () => void) => () => void, ms: number) => Promise<void>} waitFor until `done` is called, or the time is over
 * @property {<T>(name: string, read: () => Promise<T>, isDue: (one: T) => boolean, ms: number) => Promise<T>} until reads again after each
 *   fact until it is as wanted
 * @property {() => void} close
 */

/**
 * Where a person is in a queue.
 * @typedef {{ status: string, claim: string | null, position: number, etaMs: number, untilMs: number | null }} QueuePosition
 */

/**
 * What `gateway` and `run` of commands get.
 * @typedef {object} GatewayParts
 * @property {(command: Command) => Promise<Decision>} submit
 * @property {(key: string, only?: { fields?: readonly string[] }) => Promise<Record<string, string>>} stateOf a key on the primary, or
 *   these fields of it; empty if there is none
 * @property {(key: string, name: string) => Promise<string | null>} memberOf a key on the primary
 * @property {(id: string) => Promise<string>} mask a pseudonym of an id, the same in all processes
 * @property {() => Promise<{ secret: string }>} agreed the secret of the system, for `idWith`
 * @property {() => Waits} waits waits of commands, which `onEntry` ends with `note`
 * @property {{ send: (command: string, ...args: any[]) => Promise<any> }} router commands to the primary of their key
 * @property {string} systemKey what names of keys begin with that are stored with the system
 * @property {() => { isUp: () => boolean }} watchDatabase whether the database answers
 * @property {() => Promise<string>} primaryIds another text when a primary of the system is another one; rejects while one is away
 * @property {any} settings of the process, docs/settings.md @property {AbortSignal} signal the process stops @property {any} log
 */

/**
 * A key as the server keeps it.
 * @typedef {{ key: string, partition: number, fields: Record<string, string>, events: Record<string, string>[], generation: string }} Found
 */

/**
 * Services that Freshet runs for a checkout. `start`: shares a running one; `onFailure` gets why it ended. `look`: starts nothing; `url`:
 * null while it does not run.
 * @typedef {object} EmbeddedServices
 * @property {(service: 'dynamodb', options: { onFailure: (error: Error) => void }) =>
 *   Promise<{ url: string, release: () => Promise<void> }>} start
 * @property {(service: 'dynamodb') => Promise<{ program: string, url: string | null }>} look
 */

/**
 * What `reader` and `run` of queries get.
 * @typedef {object} ReaderParts
 * @property {(key: string) => Promise<Stored>} get throws the error `unknown`
 * @property {(key: string, page?: { before?: number | null, after?: number, limit?: number }) => Promise<Event[]>} events the newest first,
 *   before a number; with `after`, the oldest first
 * @property {(key: string, names: string[], isPrimary?: boolean) => Promise<(string | null)[]>} members from a replica, or the primary
 * @property {(key: string, name: string) => Promise<string | null>} memberAtPrimary one that a replica does not have
 * @property {(begin: (done: () => void) => () => void, ms: number) => Promise<void>} waitFor until `done` is called, or the time is over;
 *   `begin` returns what ends it
 * @property {(key: string) => Promise<Found | null>} find a key as the server keeps it, with its newest `events`, or null
 * @property {(key: string) => Found | undefined} peek what is in memory
 * @property {(key: string) => Promise<Found | null>} fromPrimary as `find`, of the primary
 * @property {(key: string, listener: () => void) => () => void} watch a key in memory: called after each change, and when it is no longer
 *   there; returns what ends it
 * @property {<T>(key: string, read: () => Promise<T>, isDue: (one: T) => boolean, ms: number) => Promise<T>} until reads again after each
 *   change of the key, until it is as wanted or the time is over
 * @property {(rule: string, isNext: boolean) => Promise<string[]>} names all keys with a scheduled task of the rule, sorted; `isNext`: of
 *   the pages after the first, which share its list
 * @property {(one: any) => Stored} storedOf what `find` returns
 * @property {(key: string, since: any, of?: { read?: () => Promise<any>, isEnded?: (one: any) => boolean }) => Promise<any>} since as
 *   `find`, once it has events up to `minSeq`, or has ended
 * @property {(wanted: { rule: string, name: string, limit: number }) => Promise<any[]>} due keys with a scheduled task, the next first
 * @property {any} letters dead letters of the system: `list` and `count`
 * @property {() => Promise<any[]>} figures of each process of consumers
 * @property {() => any} waitingRoom positions of people in the queue of rule `bounded`
 * @property {(options: any) => any} viewers of a stream with a source of its own: a key is read once for all of them
 * @property {string} secret of the system, for `idWith`
 * @property {(rule: string, key: string, scope: string, requestId: string) => Promise<Decision>} byRequest of an accepted command
 * @property {(command: Command) => Promise<Decision>} submit
 * @property {(id: string) => string} mask a pseudonym of an id, the same in all processes
 * @property {() => number} now ms since 1970
 * @property {{ rows: (text: string, values: unknown[]) => Promise<any[]> }} database rejects with DATABASE_DOWN
 * @property {any} metrics of the reader
 * @property {() => boolean} isShared whether caches between client and reader may store replies
 * @property {EmbeddedServices} embedded
 * @property {any} settings of the process @property {AbortSignal} signal the process stops @property {any} log
 */

/**
 * Resolves when all that was decided in a partition is as durable as the system wants; with the `generation` of a decision, only if the
 * present primary has that decision. With `entry` of the outbox, to the lineage of the primary; empty if it has no such entry.
 * @typedef {(partition: number, generation?: string, entry?: string) => Promise<string | undefined>} Confirm
 */

/**
 * What `consumers` gets, if it is a function.
 * @typedef {object} ConsumerParts
 * @property {(command: Command) => Promise<Decision>} submit
 * @property {(commands: Command[]) => Promise<(Decision & { generation: string })[]>} submitAll commands of one key, in one call
 * @property {(key: string, only?: { fields?: readonly string[] }) => Promise<Record<string, string>>} stateOf a key on the primary, or
 *   these fields of it
 * @property {(key: string) => number} partitionOf
 * @property {string} id of the process
 * @property {(task: { rule: string, key: string, name: string }, args?: readonly string[]) => Promise<Decision>} decideTask the command of
 *   a task, with further arguments behind its name
 * @property {(partition: number) => any} connectionOf the primary
 * @property {(partition: number) => (part: string) => string} keyOf keys of a partition
 * @property {() => number[]} owned partitions
 * @property {(partition: number, letter: any) => Promise<void>} deadLetter writes a dead letter
 * @property {(owned: { partition: number }, entry: string) => Error} entryLost an entry that the primary does not have, to throw
 * @property {() => Promise<Confirm>} openConfirm opens what confirms decisions
 * @property {Database | null} database null: there is none, and no rows are written
 * @property {any} metrics of the consumers
 * @property {EmbeddedServices} embedded
 * @property {(path: string) => Promise<Record<string, any>>} importModule what a module exports whose path a setting names; rejects with
 *   why it cannot be loaded, and where
 * @property {(error: Error) => void} fail ends the process
 * @property {any} settings of the process @property {AbortSignal} signal the process stops @property {any} log
 */

/**
 * Rows of entries, in one transaction with the cursor: each entry counts once.
 * @typedef {object} Rows
 * @property {(client: Client, entries: RawEntry[], prepared?: any) => Promise<unknown>} write
 * @property {(client: Client, batches: { partition: number, entries: RawEntry[] }[], prepared?: any) => Promise<unknown>} [writeAll] the
 *   same, of several partitions in one transaction; after a failure each is written by itself
 * @property {(batches: { partition: number, entries: RawEntry[] }[]) => Promise<unknown>} [prepare] before the transaction, which gets what
 *   it resolves with
 * @property {(entries: RawEntry[]) => unknown} [after] the transaction
 * @property {(entry: RawEntry) => boolean | Promise<boolean>} [rejected] by the database; true: it is dealt with, and no dead letter
 */

/** @typedef {{ id: string, rule: string, key: string, seq: number, fields: Record<string, string> }} RawEntry as the server keeps it */

/**
 * What consumers do.
 * @typedef {object} Handlers
 * @property {Record<string, Handler>} [handlers] of entries, by name
 * @property {Record<string, Rows | Rows['write']>} [rows] in the database, by name; at most one
 * @property {(task: { rule: string, key: string, name: string }, entry?: RawEntry) => Promise<unknown>} [run] a task that is due; default:
 *   `decideTask`. `entry`: that it came with; true: it is over, and set no other task
 * @property {(entry: RawEntry) => boolean | null | { rule: string, key: string, name: string, nextMs?: number }} [triggers] whether tasks
 *   are looked at again at once; false: in a moment; null: the entry set none; a task that it set, which is due, and when its next one is
 * @property {{ name: string, write: (entries: RawEntry[]) => Promise<void> } | null} [batches] of entries, elsewhere
 * @property {() => unknown} [figures] of this process, which readers show, as JSON
 * @property {number} [rowsEveryMs] rows are written so often, those of all partitions together; default: as entries come
 * @property {(partition: number) => Promise<void>} [onPrimary] when a partition is taken, and when its primary is another one
 * @property {() => unknown} [close]
 */

/**
 * The page at /NAME: of a folder with index.html, or, for the routes of one of our systems, a page of Freshet.
 * @typedef {object} Page
 * @property {URL} [folder] @property {string} [file] of Freshet, such as auctions.html
 * @property {string} [summary]
 * @property {boolean} [isOfCommands] it sends commands to the gateway @property {boolean} [hasFaults] it switches faults of other processes
 *   on this machine
 */

/**
 * What `npx freshet demo` runs and prints.
 * @typedef {object} Demo
 * @property {string} about what the crowd does @property {string} commands where to send what @property {string} tasks what consumers do
 * @property {string} [beside] a command of Freshet that runs beside it
 * @property {string[]} [settings] that no other demo takes
 * @property {() => Promise<{ runCrowd: (options: any) => unknown }>} [crowd] loads it; `settings` of its options: those of the system
 */

/**
 * A system. Name and rules are enough for the library; the rest is for the processes of Freshet (`--systems`).
 * @typedef {object} SystemData
 * @property {string} name a-z first, then up to 31 of a-z 0-9 -
 * @property {Record<string, Rule>} rules by name, which is like that of a system
 * @property {'memory' | 'replica' | number | 'aof'} [durability] as the option of openSystem, which overrides it
 * @property {string} [withoutReplica] durability where the primary has no replica; default: the same
 * @property {Record<string, SystemError>} [errors] of its routes, by code
 * @property {Record<string, Setting>} [settings] of the processes that serve it, by name: `holdMs` is `--hold-ms`, and of the system seats
 *   the variable `SEATS_HOLD_MS`
 * @property {string} [unknown] the code of the error for a key that is not there
 * @property {Record<string, CommandRoute | OwnCommand>} [commands] by name
 * @property {Record<string, QueryRoute | OwnQuery>} [queries] by name
 * @property {StreamRoute | readonly StreamRoute[]} [stream]
 * @property {Record<string, Rows | Rows['write']>} [rows] in PostgreSQL, by name; at most one
 * @property {URL} [migrations] folder of SQL files, such as `seats-001-tables.sql`: each is run once, in the order of their names
 * @property {((registry: any) => any) | { reader?: (registry: any) => any, consumers?: (registry: any) => any }} [metrics] makes metrics of
 *   the consumers, or also of readers, in a Registry of prom-client; what it returns, they get
 * @property {URL | Page} [page]
 * @property {Demo} [demo]
 * @property {{ maxKeys?: number, tail?: number }} [memory] of a reader: keys, and events of each
 * @property {string} [driver] what finishes the work that commands with `startsWork` start: the name of its rows, or `tasks`
 * @property {boolean} [isUncached] certain rejections are asked of the server, too; default: no rule has any
 * @property {boolean} [hasRows] commands may wait for rows (durability db)
 * @property {boolean} [needsDatabase] consumers start an embedded one if none is given; default: whether it has migrations
 * @property {boolean} [keepsSecret] in the database, for ids that outlive the memory of the servers
 * @property {boolean} [keepsUnread] entries of the outbox wait for consumers, also before there are any
 * @property {(settings: any, deadlineMs: number, embedded: EmbeddedServices) => Promise<Findings>} [findings] of doctor; default:
 *   whether the server takes its rules
 * @property {(letter: { consumer: string }, state: Record<string, string>) => boolean} [isLetterNeeded] whether a dead letter must not be
 *   discarded
 * @property {(key: string) => Record<string, unknown>} [logged] what the log says about a key
 */

/** @typedef {{ rows: string[][], problems: string[] }} Findings rows with a label first; sentences about what must be solved */

/**
 * What it makes in each process. `consumers` is a function, or handlers by name.
 * @typedef {SystemData & {
 *   gateway?(parts: any): Gateway,
 *   reader?(parts: any): Reader | Promise<Reader>,
 *   consumers?: Record<string, Handler> | ((parts: any) => Handlers | Promise<Handlers>)
 * }} System
 */

/**
 * `commands`: `own` of commands; `onEntry`: gets every event of the system; `reasons`: why it decides nothing.
 * @typedef {{ commands?: any, onEntry?: (entry: RawEntry) => void, reasons?: () => string[], close?: () => unknown }} Gateway
 */

/**
 * `queries`: `own` of queries and streams; `current`: what a stream reads by the id of its path, in place of the key.
 * @typedef {{ queries?: any, current?: (id: string) => Promise<any>, onEntry?: (entry: RawEntry) => void, close?: () => unknown }} Reader
 */

/** @typedef {{ query: (text: string, values?: unknown[]) => Promise<{ rows: any[], rowCount: number | null }> }} Client of PostgreSQL */

/** @typedef {Client & { transaction: <T>(run: (client: Client) => Promise<T>) => Promise<T> }} Database */

/**
 * @typedef {{ partition: number, token: number, signal: AbortSignal, database?: Database, metrics?: any, settings?: any }} Owned `token`:
 *   grows with each owner; `signal`: lease lost; `database`, `metrics` and `settings`: in the consumers of Freshet
 */

/** @typedef {(entries: Entry[], owned: Owned) => unknown} Handler */
export {}
