/** A system of a user, its options and what it returns: types only, which the package publishes. */

/** @typedef {Record<string, string>} State fields of a key by name; numbers are texts of whole numbers */

/** @typedef {{ seq: number, type: string, ts: number, [field: string]: string | number }} Event `ts`: ms since 1970, of the server */

/**
 * What a consumer gets: an event with its rule and key.
 * @typedef {{ id: string, rule: string, key: string, seq: number, type: string, ts: number, [field: string]: string | number }} Entry
 */

/**
 * A rule. docs/own-systems.md has the contract of its Lua.
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
 */

/** @typedef {{ status: number, meaning: string }} SystemError what clients of the routes get, by its code */

/** @typedef {{ type: string, [keyword: string]: unknown }} BodyField JSON Schema of a string, integer or boolean; `optional: true` */

/**
 * A route of the gateway: a command of a rule.
 * @typedef {object} CommandRoute
 * @property {'POST' | 'PUT' | 'DELETE'} [method] default: POST
 * @property {string} path such as `/v1/halls/:id/holds`
 * @property {'write' | 'admin' | 'public'} [access] which tokens may use it; default: write
 * @property {string} summary for OpenAPI
 * @property {Record<string, BodyField>} [body] fields by name
 * @property {(given: { params: Record<string, string>, body: any }) => Omit<Command, 'requestId'>} command its request id is the header
 *   Idempotency-Key
 * @property {Record<string, number | string>} replies by code of the rule: the status of the reply, or the code of an error
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
 * @property {string} summary
 * @property {object} [reply] JSON Schema
 * @property {(stored: Stored, read: Kept) => unknown} shown what the reply has, or a promise of it
 */

/**
 * Server-sent events of the reader: a key, then its events.
 * @typedef {object} StreamRoute
 * @property {string} path its `:id` is the key
 * @property {string} summary
 * @property {(stored: Stored) => unknown} snapshot
 * @property {(event: Event) => unknown} event its name is the type of the event
 */

/**
 * A system. Name and rules are enough for the library; the rest is for the processes of Freshet (`--systems`).
 * @typedef {object} System
 * @property {string} name a-z first, then up to 31 of a-z 0-9 -
 * @property {Record<string, Rule>} rules by name, which is like that of a system
 * @property {'memory' | 'replica' | number | 'aof'} [durability] as the option of openSystem, which overrides it
 * @property {Record<string, SystemError>} [errors] of its routes, by code
 * @property {string} [unknown] the code of the error for a key that is not there
 * @property {Record<string, CommandRoute>} [commands] by name
 * @property {Record<string, QueryRoute>} [queries] by name
 * @property {StreamRoute} [stream]
 * @property {Record<string, Handler>} [consumers] handlers by name
 * @property {URL} [migrations] folder of SQL files, such as `seats-001-tables.sql`: each is run once, in the order of their names
 * @property {(registry: any) => any} [metrics] makes metrics of the consumers in a Registry of prom-client; what it returns, they get
 * @property {URL} [page] folder with index.html, which the reader serves at /NAME
 */

/**
 * @typedef {object} SystemOptions
 * @property {string} redisUrl of the primary, redis:// or rediss://; of nodes of a cluster; or of Sentinels
 * @property {string} [keyPrefix] prefix of every key; default: `fr:`
 * @property {number} [partitions] default: 16; the first process decides
 * @property {'memory' | 'replica' | number | 'aof'} [durability] what must have a command before it counts as accepted: the primary
 *   (memory), one replica too, so many replicas, or the append-only file of the primary; default: memory
 * @property {number} [deadlineMs] time within which a command must be sent; default: 1,000
 * @property {number} [maxWaiting] commands of a partition that wait to be sent; default: 10,000
 * @property {number} [requestMs] how long the decision of an accepted request is kept; default: 10 minutes
 * @property {number} [keepMs] how long a key is kept after its rule has ended it; default: a day
 * @property {number} [maxOutbox] entries of a partition above which commands are refused while consumers are more than `requestMs` behind;
 *   default: 1,000,000
 * @property {{ debug?: (...args: any[]) => void, info: (...args: any[]) => void, warn: (...args: any[]) => void,
 *   error: (...args: any[]) => void }} [log] a logger such as pino; default: none
 */

/**
 * @typedef {object} Command
 * @property {string} rule
 * @property {string} key 1-64 of A-Z a-z 0-9 _ . : -
 * @property {string[]} args
 * @property {string} [requestId] the same one is accepted once: sent again, it gets the same decision. Default: none
 */

/**
 * @typedef {object} Decision
 * @property {string} code of the rule
 * @property {boolean} accepted
 * @property {number} seq of the last event of the key @property {number} version of its state
 * @property {boolean} isReplay whether the request was accepted before
 * @property {Record<string, string | number>} details
 */

/** @typedef {{ key: string, state: State, seq: number, version: number, generation: string }} Stored */

/** @typedef {{ query: (text: string, values?: unknown[]) => Promise<{ rows: any[], rowCount: number | null }> }} Client of PostgreSQL */

/** @typedef {Client & { transaction: <T>(run: (client: Client) => Promise<T>) => Promise<T> }} Database */

/**
 * @typedef {{ partition: number, token: number, signal: AbortSignal, database?: Database, metrics?: any }} Owned `token`: grows with each
 *   owner; `signal`: lease lost; `database` and `metrics`: in the consumers of Freshet
 */

/** @typedef {(entries: Entry[], owned: Owned) => unknown} Handler */

/** @typedef {{ close: () => Promise<void> }} Worker `close` waits up to 10 s for the handlers that run, then rejects: DEADLINE_PASSED */

/**
 * Commands and what became of them.
 * @typedef {object} SystemAccount
 * @property {number} accepted @property {number} rejected @property {number} replayed
 * @property {number} cached of the rejected ones, those that were answered without the server
 * @property {number} failed the rule failed @property {number} stopped the rule did not end, or was in one call with such a rule
 * @property {number} full not sent, because too many waited @property {number} late not sent within `deadlineMs`
 * @property {number} lost outcome unknown @property {number} deadLetters entries that a consumer of this process gave up
 */

/**
 * @typedef {object} OpenedSystem
 * @property {(command: Command) => Promise<Decision>} submit rejects with ARGUMENT_INVALID, RULE_FAILED, RULE_DIFFERS, REQUEST_DIFFERS;
 *   ADMISSION_FULL, ADMISSION_LATE, ADMISSION_BACKLOG: not sent; SERVER_LOST, NOT_CONFIRMED: outcome unknown
 * @property {(key: string) => Promise<Stored | null>} get asks the primary
 * @property {(key: string, options?: { after?: number, signal?: AbortSignal }) => AsyncGenerator<Event, void, void>} follow events of a key
 *   after a sequence number (0); throws EVENTS_TRIMMED, GENERATION_CHANGED
 * @property {(consumer: string, handler: Handler, options?: { attempts?: number }) => Promise<Worker>} consume entries of the partitions
 *   that this process owns, at least once; an entry whose handler fails `attempts` (3) times is a dead letter
 * @property {() => Promise<void>} runTasks runs scheduled tasks in this process, too; `consume` does so
 * @property {() => { ready: boolean, reasons: string[] }} status whether commands can be decided, and if not, why
 * @property {Readonly<SystemAccount>} account
 * @property {() => Promise<void>} close waits up to 12 s for handlers and commands, then rejects: DEADLINE_PASSED; connections are closed
 */

/**
 * @typedef {object} OwnCheckOptions
 * @property {(random: () => number) => (string | number)[]} commands arguments of the next command; `random` returns 0 <= n < 1
 * @property {number} [runs] each has a key of its own and 20 commands; default: 100
 * @property {number} [seed] of `random`; the same one gives the same commands. Default: at random; it is printed
 * @typedef {OwnCheckOptions & Omit<SystemOptions, 'partitions'>} CheckOptions
 */

/**
 * @typedef {{ seed: number, runs: number, commands: number, accepted: number, patterns?: { pattern: string, refusedFromBytes: number }[] }}
 *   Checked `patterns` of the rule that are refused on texts of so many bytes and more; without it there are none
 */
export {}
