/** One call of the script that gives leases. */

/**
 * @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key of the partition
 * @param {{ id?: string, token?: number, ms?: number, waitMs?: number | '', driver?: string }} [options] `waitMs` and `driver` as
 *   lua/lease.lua
 * @returns {Promise<number>} the token
 */
export const askLease = async (connection, key, { id = `p${Math.random()}`, token = 0, ms = 1, waitMs = '', driver = '' } = {}) =>
  Number(await connection.runScript('lease', ['owner', 'generation', 'cursors', 'outbox', 'consumers'].map(key),
    [id, token, ms, 0, waitMs, driver]))
