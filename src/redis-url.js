/**
 * The forms of --redis-url, for its check and for the connections:
 *
 *     redis://[user:password@]host[:port]       rediss:// for TLS; of nodes of a cluster several, separated by commas
 *     redis+sentinel://[user:password@]host[:26379],host2/NAME[?sentinelUser=&sentinelPassword=]
 */

/** between addresses: a password may have a comma */
const BETWEEN = /,(?=\s*rediss?:\/\/)/i
const FORM = /^(rediss?)\+sentinel:\/\/(?:(.*)@)?([^/?#@]+)(?:\/([^/?#]*))?(?:\?(.*))?$/is

/** @param {string} text one or more addresses @returns {string[]} */
export const addressesIn = (text) => text.split(BETWEEN)

/**
 * @param {string} text
 * @returns {{ name: string, hosts: string[], sentinels: string[], servers: string[] } | null} `name` of the primary, empty if none is
 *   given; URLs of the `sentinels`, and of the same hosts with the user of the `servers`; null: it is no such address
 */
export function sentinelAddress (text) {
  const [, scheme, user = '', list, name = '', query = ''] = FORM.exec(text) ?? []
  if (list === undefined) return null
  const hosts = list.split(',')
  // a plus sign is one, as in other parts of an address
  const fields = new URLSearchParams(query.replaceAll('+', '%2B'))
  const [sentinelUser, sentinelPassword] = ['sentinelUser', 'sentinelPassword'].map((field) => {
    const value = encodeURIComponent(fields.get(field) ?? '')
    fields.delete(field)
    return value
  })
  const urlsWith = (/** @type {string} */ credentials) => hosts.map((host) =>
    `${scheme}://${credentials && `${credentials}@`}${host}${fields.size > 0 ? `?${fields}` : ''}`)
  const sentinels = urlsWith(sentinelUser || sentinelPassword ? `${sentinelUser}:${sentinelPassword}` : '')
  return { name: decodeURIComponent(name), hosts, sentinels, servers: urlsWith(user) }
}
