/**
 * What other folders use of src/http.
 *
 *     server.js          the instance, which refuses malformed heads and unknown paths; request-metrics.js
 *     security/          who may do what: tokens, JSON Web Tokens, HTTPS, rates
 *     body.js            bodies within a budget; input.js has what checks the input of all routes
 *     system-routes.js   routes from the tables of a system; route-schemas.js has the schemas of all routes, openapi.js the document
 *     reply-budget.js    bytes of replies in progress; limits.js bounds requests, turns.js those of a connection
 *     problem.js         errors as problem+json; parser-errors.js has those of the parser; health.js, listen.js
 *
 * @typedef {import('./body.js').BodyBudget} BodyBudget
 * @typedef {import('./body.js').Body} Body
 * @typedef {import('./body.js').Request} Request
 * @typedef {import('./reply-budget.js').ReplyBudget} ReplyBudget
 * @typedef {import('./security/index.js').Access} Access
 * @typedef {import('./security/index.js').Grant} Grant
 * @typedef {import('./security/index.js').Security} Security
 * @typedef {import('./system-routes.js').CommandRow} CommandRow
 * @typedef {import('./system-routes.js').RequestInput} RequestInput
 * @typedef {import('./system-routes.js').QueryRow} QueryRow
 * @typedef {import('./system-routes.js').Reply} Reply
 */
export { bodyOf, createBodyBudget, takeBodies } from './body.js'
export { whenClosed } from './closed.js'
export { createLimit } from './limits.js'
export { healthRoutes } from './health.js'
export { expectFreePort, holdPort, listen } from './listen.js'
export { describeRoutes } from './openapi.js'
export { commandRoute, feedRoute, processRoute } from './route-schemas.js'
export { problemOf, problemText } from './problem.js'
export { clientGone, createReplyBudget } from './reply-budget.js'
export { readObject } from './input.js'
export { createServer } from './server.js'
export { commandRoutes, inputOfQuery, queryRoutes, querySchemaOf, requestIdOf } from './system-routes.js'
export { ALL_FEEDS, FILTERS_IDS, idsOf, missing, openSecurity, permits, readableFeeds } from './security/index.js'
