/**
 * Resolves `tap` to lane-tap.js for test files that a lane imports, and what tap takes from `async-hook-domain` and `tcompare` to
 * lane-domain.js and lane-compare.js.
 */

/** @type {import('node:module').ResolveHook} */
export const resolve = (specifier, context, next) => next(fileOf(specifier, context.parentURL) ?? specifier, context)

/** @param {string} specifier @param {string} [parent] @returns {string | undefined} */
function fileOf (specifier, parent = '') {
  if (specifier === 'async-hook-domain') return new URL('lane-domain.js', import.meta.url).href
  if (specifier === 'tcompare' && parent.includes('/@tapjs/asserts/')) return new URL('lane-compare.js', import.meta.url).href
  const isTestFile = !parent.includes('/node_modules/') && !parent.endsWith('/test/lane.js')
  if (specifier === 'tap' && isTestFile) return new URL('lane-tap.js', import.meta.url).href
}
