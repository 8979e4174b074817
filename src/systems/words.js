/** What `freshet-feed/systems` exports beside its functions: types only, which the package publishes. */

/**
 * A field of a body: its schema checks it. `read` of one value: null: it is not taken.
 * @typedef {{ schema: Record<string, unknown>, read: (value: unknown) => any, expects: string | ((value: unknown) => string),
 *   isOptional: boolean }} Field
 */

/** @typedef {(description: string) => Field} Described */

/** @typedef {{ schema: Record<string, unknown>, [part: string]: any }} QueryField */

/**
 * Fields of bodies. All but `optional` return a function of the description, or are one.
 * @typedef {object} Fields
 * @property {Described} id 1-64 of A-Z a-z 0-9 _ . : - @property {Described} time ms since 1970
 * @property {Described} money decimal with at most two places; the value is a whole number of minor units
 * @property {Described} flag true or false
 * @property {(most: number) => Described} text up to so many characters
 * @property {(low: number, high: number) => Described} whole a whole number @property {(high: number) => Described} millis from 0
 * @property {(...choices: string[]) => Described} choice one of these texts
 * @property {(read: ((value: any) => any) | null, expects: string, schema: object) => Described} own of your own: `schema` checks it, then
 *   the value that `read` returns is in `body`, null: it is not taken; without `read` the value is as it was sent
 * @property {(field: Field) => Field} optional null if it is absent
 * @property {(faults: { field: string, received: string, expected: string }[]) => Error} invalid FIELD_INVALID, to throw
 * @property {(fields: Record<string, Field>) => object} schemaOf an object with such fields
 * @property {(given: Record<string, unknown>, fields: Record<string, Field>) => Record<string, any>} read an object, in a
 *   gateway, reader or consumer; throws FIELD_INVALID
 * @property {QueryFields} query of queries
 */

/**
 * @typedef {object} QueryFields
 * @property {(description: string) => QueryField} id
 * @property {(low: number, high: number, rest: { description: string, default?: number | null }) => QueryField} integer
 * @property {(low: number, high: number, rest: { description: string, default: number }) => QueryField} number
 * @property {(words: readonly string[], rest: { description: string }) => QueryField} oneOf the first word is the default
 * @property {(read: ((text: string) => any) | null, rest: { description: string, expects: string, schema: object }) => QueryField} text
 *   `schema` checks it, then the query has what `read` returns; it throws a RangeError for one that it does not take
 * @property {(field: any) => QueryField} required
 * @property {(end?: string) => Record<string, QueryField>} since `minSeq` and `waitMs`; `end`: what it waits for without minSeq
 * @property {(what: string) => QueryField} limit of a page
 * @property {(what: string, unset?: number) => QueryField} wait how long a query may wait, ms
 * @property {(what: string, side?: 'before' | 'after') => Record<string, QueryField>} page `after` and `limit`
 */

/**
 * JSON Schema of replies.
 * @typedef {object} Schemas
 * @property {object} id @property {object} amount decimal @property {object} nullableAmount @property {object} time ms since 1970
 * @property {object} count @property {object} seq @property {object} generation
 * @property {(properties: Record<string, object>) => { type: string, properties: Record<string, object> }} objectOf
 * @property {(item: object) => { type: string, properties: Record<string, object> }} listOf `items`
 * @property {(item: object) => { type: string, properties: Record<string, object> }} pageOf `items` and `next`
 */

/**
 * Rows of queries.
 * @typedef {object} Queries
 * @property {(row: { path: string, summary: string, item: object, what: string, rule: string,
 *   shown: (all: import('./opened-types.js').Stored[], own: any) => object[] | Promise<object[]> }) => any} due keys with the task `due`
 * @property {(row: { path: string, summary: string, item: object, codes: string[],
 *   shown: (event: import('./definition.js').Event, own: any) => object }) => any} history events of a key, the newest first, in pages
 * @property {(row: { path: string, codes: string[], fields?: Record<string, any>, replyTo: (id: string,
 *   request: { userId: string, requestId: string }, own: any, parts: any) =>
 *   Promise<{ status: number, body: unknown }> }) => any} byRequest the reply of an accepted command, at `path/by-request/:key`
 * @property {(row: { path: string, what: string, item: object, sql: string, shown: (row: any) => object }) => any} ofUser rows of a user,
 *   the newest first, in pages; `sql`: $1 user, $2 the id before which rows count, $3 how many; rows have an `id`
 */

/**
 * Rules of Freshet, for `rules` of a definition under the same name: `max` auctions, `bounded` stocks, `latest` prices, `step` sagas,
 * `once` keys that exist once.
 * @typedef {Readonly<Record<'bounded' | 'latest' | 'max' | 'once' | 'step', any>>} Rules
 */

/** Rows as arrays of columns, for unnest. @typedef {<T>(rows: T[], cells: (row: T) => unknown[]) => unknown[][]} ColumnsOf */

/** Minor units as decimal text, such as 12.50. @typedef {(minor: number | string) => string} MoneyText */

/** An id by a keyed hash, which no one else can guess; the first part says what it is of. @typedef {(secret: string, ...parts: string[]) =>
 *   string} IdWith */

/**
 * By code of the rule, the code of an error, with a message of its own or one made of the details.
 * @typedef {string | readonly [code: string, message: string | ((details: Record<string, any>) => string)]} Refusal
 * @typedef {Readonly<Record<string, Refusal>>} Refusals
 */

/**
 * From decisions to replies. `taken`: the decision, unless it is an error for the client (`factsOf`: members of its problem); `numbers` of
 * its details as JSON, by their names there; `units` of a stock after a command of rule `bounded`;
 * `otherBody`: IDEMPOTENCY_KEY_REUSED, to throw.
 * @typedef {{ taken: <D extends { code: string, details: Record<string, any> }>(decision: D, refusals: Refusals,
 *   factsOf?: (decision: D) => Record<string, unknown>) => D,
 *   numbers: (details: Record<string, any>, names: Record<string, string>) => Record<string, number>,
 *   units: (decision: { seq: number, details: Record<string, any> }) => { seq: number, available: number, held: number, sold: number },
 *   otherBody: (what: string) => Error
 * }} Decisions
 */

/**
 * A client for the crowd of a demo, with people and products to act with.
 * @typedef {(options: { gatewayUrl: string, readerUrl: string, signal: AbortSignal }) => {
 *   send: (method: string, path: string, options?: { body?: object, ticket?: string, until?: AbortSignal, tries?: number }) =>
 *     Promise<{ status: number, retryMs: number, reply: any }>,
 *   pause: (ms: number) => Promise<unknown>,
 *   repeat: (perSecond: number, act: () => Promise<unknown>) => Promise<void>,
 *   personOf: (i: number) => string, userOf: (i: number) => string, productOf: (i: number) => { sku: string, name: string }
 * }} CreateCrowdClient
 */
/**
 * `path`: below `url`, null = `url` itself; `readsBody`: false = the reply ends with its headers
 * @typedef {(options: { url: string, headers?: Record<string, string>, timeoutMs?: number, maxBytes?: number, maxSockets?: number,
 *   maxFreeSockets?: number }) => {
 *   call: (method: string, path: string | null, options?: { body?: string, headers?: Record<string, string>, signal?: AbortSignal,
 *     readsBody?: (status: number) => boolean }) => Promise<{ status: number, headers: Record<string, any>, text: string }>,
 *   close: () => void
 * }} CreateHttpClient
 */
/**
 * Calls of other services. `createBreaker`: a circuit breaker, whose states are `states`, the best first, and which opens after
 * `minFailures` at the earliest; `createHttpClient`: kept connections, a deadline, a bound on bodies; `localUrl`: the URL of what runs
 * on this machine, whose faults a page may switch, else null; `asError`: what code of others has thrown, with a short message.
 * @typedef {{ createBreaker: (options: { limit: number, resetMs?: number, now?: () => number }) => any, states: readonly string[],
 *   minFailures: number, createHttpClient: CreateHttpClient, localUrl: (url: string) => string | null,
 *   asError: (thrown: unknown) => Error }} Calls
 */

/**
 * Defines the errors of a system at once, so that its functions may throw them without a process that has loaded it.
 * @typedef {<T extends Record<string, import('./definition.js').SystemError>>(name: string, errors: T) => T} DefineErrors
 */
export {}
