/**
 * Versions of rules, as they are stored for all processes: with the system, and in each partition, where every call compares them. A
 * process with a lower version, or with another text in the same one, decides nothing.
 *
 * @typedef {import('./own-rules.js').Router} Router to the primaries
 * @typedef {readonly [name: string, version: string, digest: string]} RuleVersion
 */
import { versionsOfRules } from '../store/index.js'
import { FreshetError } from './errors.js'

/** @param {readonly string[]} names of rules @returns {RuleVersion[]} of those in lua/rules */
export function ourVersions (names) {
  const versions = versionsOfRules()
  return names.flatMap((name) => {
    const [version, digest] = versions.get(name)?.split(' ') ?? []
    return version ? [([name, version, digest])] : []
  })
}

/**
 * @param {Router} router @param {string} key where they are stored @param {readonly RuleVersion[]} own @param {string} system
 * @throws {FreshetError} RULE_DIFFERS: one is stored in a higher version, or in the same one with another text; nothing was stored then
 */
export async function agreeOnRules (router, key, own, system) {
  const [name, stored] = (await router.runScript('agree-rules', [key], own.flat())).map(String)
  if (name === undefined) return
  const [, version] = /** @type {RuleVersion} */ (own.find(([one]) => one === name))
  throw new FreshetError('RULE_DIFFERS', stored === version
    ? `rule ${name} of ${system} is stored as version ${stored} with another text; raise its version to replace it`
    : `rule ${name} of ${system} is stored as version ${stored}, and this process has version ${version}; use the newer rule`)
}
