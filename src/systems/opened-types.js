/**
 * What a program gets that opens a system, and the options it gives: types only, which the package publishes. What authors of a system
 * write is in definition.js.
 *
 * @import { Event, Handler, ReaderParts, State } from './definition.js'
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
 * @property {number} [maxWaitMs] wait of the oldest work above which commands with `startsWork` are refused, 0 = no bound; default: 10,000
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
 * @property {string} [scope] the user who asks: the same request id of another user is another request. Default: none
 * @property {boolean} [startsWork] of the driver of the system: refused while older work waits for longer than `maxWaitMs`
 * @property {string} [requestId] the same one is accepted once: sent again, it gets the same decision. Default: none
 */

/**
 * @typedef {object} Decision
 * @property {string} code of the rule
 * @property {boolean} accepted
 * @property {number} seq of the last event of the key @property {number} version of its state
 * @property {boolean} isReplay whether the request was accepted before
 * @property {Record<string, string | number>} details
 * @property {number | null} [waitMs] of a command with `startsWork`: for how long the oldest work waits; null: no one does it
 */

/** @typedef {{ key: string, state: State, seq: number, version: number, generation: string }} Stored */

/**
 * A system that a program reads as a reader does: keys in memory, kept current by the outbox. `opened`: connects at its first call, and
 * again after a failure; `own`: what `reader(parts)` of the definition returned as `queries`. It rejects with the code `unknown` of the
 * definition while nothing of the system is stored.
 * @typedef {object} OpenedQueries
 * @property {() => Promise<{ own: any, parts: QueryParts }>} opened
 * @property {() => Promise<void>} close
 */

/** @typedef {'letters' | 'figures' | 'waitingRoom' | 'viewers' | 'database' | 'metrics' | 'isShared' | 'embedded' | 'settings'} Process */

/** @typedef {Omit<ReaderParts, Process>} QueryParts of a reader those that need no HTTP server and no database */

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
